import { isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap, type YAMLSeq } from 'yaml'
import { isObject } from '../provider/fits.ts'
import type { Path, Position, Problem } from './problem.ts'
import { type Environment, type Source, substitute } from './syntax.ts'

/** What a configuration file says, as plain data, and where it says it. */
export type Tree = ReturnType<typeof readTree>

const maxDepth = 32
/** Aliases of aliases grow without bound from a few lines. */
const maxAliased = 500_000

/** Turns parsed YAML into plain data: resolves aliases and merge keys, and substitutes the environment. */
export function readTree(source: Source, env: Environment) {
  const walk = new Walk(source, env)
  const value = source.document.contents === null ? null : walk.visit(source.document.contents, [], false)
  const keyOf = (path: Path): Position | undefined =>
    walk.keys.get(name(path)) ??
    walk.values.get(name(path)) ??
    (path.length > 0 ? keyOf(path.slice(0, -1)) : undefined)
  return {
    /** Mappings, lists and texts; null where a key has no value. */
    value,
    problems: walk.problems,
    /** Where a value stands. */
    placeOf: (path: Path): Position | undefined => walk.values.get(name(path)) ?? keyOf(path),
    /** Where the key of a value or its list item begins; for what is not in the file, its nearest ancestor's. */
    keyOf,
    holds: (path: Path): boolean => walk.values.has(name(path)),
    /** Variables that a value was made of. */
    variablesOf: (path: Path): readonly string[] => walk.variables.get(name(path)) ?? [],
    /** True where a value could not be made, so that nothing more need be said about it. */
    isBroken: (path: Path): boolean => path.some((_, i) => walk.broken.has(name(path.slice(0, i + 1)))),
  }
}

export function valueAt(tree: Tree, path: Path): unknown {
  return path.reduce<unknown>((value, step) => {
    if (Array.isArray(value)) return typeof step === 'number' ? value[step] : undefined
    return isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined
  }, tree.value)
}

function name(path: Path): string {
  return JSON.stringify(path)
}

/** Keys are texts: the parser was told to refuse all others. */
function pairs(node: YAMLMap): readonly { readonly key: Scalar<string>; readonly value: Node | null }[] {
  return node.items as { key: Scalar<string>; value: Node | null }[]
}

class Walk {
  readonly problems: Problem[] = []
  readonly values = new Map<string, Position>()
  readonly keys = new Map<string, Position>()
  readonly variables = new Map<string, readonly string[]>()
  readonly broken = new Set<string>()
  private readonly anchors = new Map<string, Node>()
  private aliased = 0
  private readonly source: Source
  private readonly env: Environment

  constructor(source: Source, env: Environment) {
    this.source = source
    this.env = env
  }

  visit(node: Node, path: Path, aliased: boolean): unknown {
    if (isAlias(node)) return this.follow(node.source, node, path)
    if (!isScalar(node) && !isMap(node) && !isSeq(node)) return null
    if (path.length > maxDepth) return this.refuse(node, path.slice(0, 2), 'is nested too deeply')
    if (aliased && this.aliased >= maxAliased) return null
    if (aliased && ++this.aliased === maxAliased) {
      return this.refuse(node, path.slice(0, 1), `its aliases expand to more than ${maxAliased} values`)
    }
    if (node.anchor && !aliased) this.anchors.set(node.anchor, node)
    this.values.set(name(path), this.start(node))
    if (isMap(node)) return this.mapping(node, path, aliased)
    if (isSeq(node)) return this.list(node, path, aliased)
    return this.scalar(node, path)
  }

  private follow(anchor: string, node: Node, path: Path): unknown {
    const target = this.anchors.get(anchor)
    if (target) return this.visit(target, path, true)
    return this.refuse(node, path, `there is no anchor &${anchor} before this alias`)
  }

  private mapping(node: YAMLMap, path: Path, aliased: boolean): unknown {
    const result: Record<string, unknown> = Object.create(null)
    const merged: Node[] = []
    for (const { key, value } of pairs(node)) {
      if (key.value === '<<' && value) {
        merged.push(value)
        continue
      }
      const under = [...path, key.value]
      if (key.value in result) {
        const first = this.keys.get(name(under))
        this.problems.push({
          path: under,
          at: this.start(key),
          text: first ? `written twice; it is already at line ${first.line}` : 'written twice',
        })
        continue
      }
      this.keys.set(name(under), this.start(key))
      result[key.value] = value ? this.visit(value, under, aliased) : null
    }
    for (const node of merged) this.merge(result, node, path, 1)
    return result
  }

  /** `<<: *anchor` adds what the mapping does not say itself. */
  private merge(into: Record<string, unknown>, node: Node, path: Path, depth: number): void {
    for (const part of isSeq(node) ? (node.items as Node[]) : [node]) {
      const target = isAlias(part) ? this.anchors.get(part.source) : part
      if (!isMap(target) || depth > maxDepth) {
        this.refuse(
          node,
          [...path, '<<'],
          'must be an alias of a mapping that stands before it, as in <<: *name',
        )
        continue
      }
      for (const { key, value } of pairs(target)) {
        if (key.value === '<<' && value) this.merge(into, value, path, depth + 1)
        if (key.value === '<<' || key.value in into) continue
        const under = [...path, key.value]
        this.keys.set(name(under), this.start(key))
        into[key.value] = value ? this.visit(value, under, true) : null
      }
    }
  }

  private list(node: YAMLSeq, path: Path, aliased: boolean): unknown {
    return (node.items as Node[]).map((item, i) => this.visit(item, [...path, i], aliased))
  }

  private scalar(node: Scalar, path: Path): unknown {
    const written = String(node.value)
    if (node.type === 'PLAIN' && /^(~|null|)$/i.test(written)) return null
    const substituted = substitute(written, this.env)
    if (!substituted.ok) return this.refuse(node, path, substituted.problem)
    if (substituted.variables.length > 0) this.variables.set(name(path), substituted.variables)
    return substituted.text
  }

  private refuse(node: Node, path: Path, text: string): null {
    this.problems.push({ path, at: this.start(node), text })
    this.broken.add(name(path))
    return null
  }

  private start(node: Node): Position {
    return this.source.position(node.range?.[0] ?? 0)
  }
}

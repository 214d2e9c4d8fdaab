import { z } from 'zod'
import { boundsOf, leafOf, sectionOf } from '../settings/leaf.ts'
import { bare, keysOf, mappingOf, schemaAt } from '../settings/walk.ts'
import { type Path, type Problem, shorten } from './problem.ts'
import { nearest } from './suggest.ts'
import { isMapping, type Tree, valueAt } from './tree.ts'

type Schema = z.core.$ZodType
type Issue = z.core.$ZodIssue

/** Says in people's words what a schema refused: what is wrong and what is allowed. Never shows a secret. */
export function explain(schema: Schema, tree: Tree, issues: readonly Issue[]): readonly Problem[] {
  return issues
    .flatMap(issue => flatten(issue, tree))
    .filter(({ path }) => !tree.isBroken(path))
    .flatMap(({ issue, path }) => {
      if (issue.code !== 'unrecognized_keys') return [refusal(schema, tree, path)]
      return issue.keys.map(key => unknownKey(schema, tree, [...path, key]))
    })
}

/** A mapping or list where a word may stand as well was meant to be the mapping or list. */
function flatten(
  issue: Issue,
  tree: Tree,
  base: Path = [],
): readonly { readonly issue: Issue; readonly path: Path }[] {
  const path = [...base, ...issue.path.filter(step => typeof step !== 'symbol')]
  const value = valueAt(tree, path)
  if (issue.code !== 'invalid_union' || !(isMapping(value) || Array.isArray(value))) return [{ issue, path }]
  const inside = issue.errors.find(branch =>
    branch.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'),
  )
  return inside ? inside.flatMap(each => flatten(each, tree, path)) : [{ issue, path }]
}

function unknownKey(root: Schema, tree: Tree, path: Path): Problem {
  const key = String(path.at(-1))
  const mapping = schemaAt(root, path.slice(0, -1))
  const shape = (mapping && mappingOf(mapping)) ?? z.strictObject({})
  const { noun } = sectionOf(shape)
  const allowed = Object.keys(shape.shape)
  const near = nearest(key, allowed)
  const meant = near ?? placeFor(root, key)
  const hint = meant ? `; did you mean ${meant}?` : '.'
  return { path, at: tree.keyOf(path), text: `unknown ${noun}${hint} Allowed: ${allowed.join(', ')}` }
}

/** A key that is right but stands in the wrong place, mostly for its indentation. */
function placeFor(root: Schema, key: string): string | undefined {
  const places = keysOf(root).filter(({ path }) => path.at(-1) === key)
  return places.length === 1 ? places[0]?.path.join('.').replaceAll('.[]', '[]') : undefined
}

function refusal(root: Schema, tree: Tree, path: Path): Problem {
  const schema = schemaAt(root, path)
  const expected = schema ? allowedBy(schema) : 'left out'
  const value = valueAt(tree, path)
  if (value === undefined || (value === null && schema && !isScalar(schema))) {
    return { path, at: tree.keyOf(path), text: `is missing; it must be ${expected}` }
  }
  if (value === null) return { path, at: tree.keyOf(path), text: `has no value; it must be ${expected}` }
  const got = shown(schema, tree, path, value)
  const near =
    typeof value === 'string' && schema && isShown(schema) ? nearest(value, wordsOf(schema)) : undefined
  const hint = near ? ` (did you mean ${near}?)` : ''
  return { path, at: tree.placeOf(path), text: `must be ${expected}; got ${got}${hint}` }
}

/** Completes "must be ..." for any schema. */
function allowedBy(schema: Schema): string {
  const inner = bare(schema)
  const leaf = leafOf(inner)
  if (leaf) return leaf.allowed
  if (inner instanceof z.ZodArray) return allowedList(inner)
  if (inner instanceof z.ZodUnion) return inner.options.map(option => allowedBy(option)).join(', or ')
  const keys = Object.keys(mappingOf(inner)?.shape ?? {})
  if (keys.length === 0) return 'an empty mapping'
  return `a mapping with the ${keys.length === 1 ? 'key' : 'keys'} ${keys.join(', ')}`
}

function allowedList(list: z.ZodArray): string {
  const { min, max } = boundsOf(list)
  if (max !== undefined) return `a list of at most ${max}`
  return min > 0 ? 'a list with at least one item' : 'a list'
}

function isScalar(schema: Schema): boolean {
  return leafOf(bare(schema)) !== undefined
}

function wordsOf(schema: Schema): readonly string[] {
  const inner = bare(schema)
  if (inner instanceof z.ZodUnion) return inner.options.flatMap(option => wordsOf(option))
  return leafOf(inner)?.words ?? []
}

/** Only a value whose own key is no secret is shown; what stands in place of a mapping could be one. */
function isShown(schema: Schema): boolean {
  const leaf = leafOf(bare(schema))
  return leaf ? !leaf.secret : wordsOf(schema).length > 0
}

function shown(schema: Schema | undefined, tree: Tree, path: Path, value: unknown): string {
  if (Array.isArray(value)) return shownList(schema, value)
  if (isMapping(value)) return 'a mapping'
  if (typeof value !== 'string') return 'something else'
  const variables = tree.variablesOf(path)
  const empty = value === ''
  if (variables.length > 0) {
    return `what ${variables.map(name => `\${${name}}`).join(' and ')} holds${empty ? ', which is empty' : ''}`
  }
  if (empty) return 'an empty text'
  if (!schema || !isShown(schema)) return 'a text that is not shown here'
  return value.includes('@')
    ? 'a text that is not shown here, for it may hold a password'
    : JSON.stringify(shorten(value))
}

function shownList(schema: Schema | undefined, value: readonly unknown[]): string {
  if (value.length === 0) return 'an empty list'
  return schema && bare(schema) instanceof z.ZodArray ? `a list of ${value.length}` : 'a list'
}

import type { z } from 'zod'
import { isObject } from '../provider/fits.ts'
import { aboutOf, leafOf } from '../settings/leaf.ts'
import { keysOf, mappingOf, schemaAt } from '../settings/walk.ts'
import { type Path, type Problem, shorten } from './problem.ts'
import { nearest } from './suggest.ts'
import { type Tree, valueAt } from './tree.ts'

type Schema = z.core.$ZodType
type Issue = z.core.$ZodIssue

/** Says in people's words what a schema refused: what is wrong and what is allowed. Never shows a secret. */
export function explain(schema: Schema, tree: Tree, issues: readonly Issue[]): readonly Problem[] {
  return issues
    .flatMap(issue => flatten(issue, tree))
    .filter(({ path }) => !tree.isBroken(path))
    .flatMap(({ issue, path }) => {
      if (issue.code === 'unrecognized_keys')
        return issue.keys.map(key => unknownKey(schema, tree, [...path, key]))
      const isRule = issue.code === 'custom' && issue.params?.isRule
      return [isRule ? { path, at: tree.keyOf(path), text: issue.message } : refusal(schema, tree, path)]
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
  if (issue.code !== 'invalid_union' || !(isObject(value) || Array.isArray(value))) return [{ issue, path }]
  const inside = issue.errors.find(branch =>
    branch.every(({ path, code }) => path.length > 0 || code === 'unrecognized_keys'),
  )
  return inside ? inside.flatMap(each => flatten(each, tree, path)) : [{ issue, path }]
}

function unknownKey(root: Schema, tree: Tree, path: Path): Problem {
  const key = String(path.at(-1))
  const whole = schemaAt(root, path.slice(0, -1)) ?? root
  const mapping = mappingOf(whole)!
  const { noun } = aboutOf(mapping)
  const allowed = Object.keys(mapping.shape)
  const meant = nearest(key, allowed) ?? placeFor(root, key)
  const hint = meant ? `; did you mean ${meant}?` : '.'
  const [word] = aboutOf(whole).words ?? []
  const instead = word ? `; or ${word} in place of the ${noun}s` : ''
  const text = `unknown ${noun}${hint} Allowed: ${allowed.join(', ')}${instead}`
  return { path, at: tree.keyOf(path), text }
}

/** A key that is right but stands in the wrong place, mostly for its indentation. */
function placeFor(root: Schema, key: string): string | undefined {
  const places = keysOf(root).filter(({ path }) => path.at(-1) === key)
  return places.length === 1 ? places[0]?.path.join('.').replaceAll('.[]', '[]') : undefined
}

function refusal(root: Schema, tree: Tree, path: Path): Problem {
  const schema = schemaAt(root, path) ?? schemaAt(root, path.slice(0, -1)) ?? root
  const { allowed, words = [] } = aboutOf(schema)
  const value = valueAt(tree, path)
  if (value === undefined || value === null) {
    const isBlank = value === null && leafOf(schema)
    const text = `${isBlank ? 'has no value' : 'is missing'}; it must be ${allowed}`
    return { path, at: tree.keyOf(path), text }
  }
  const near = typeof value === 'string' && isShown(schema) ? nearest(value, words) : undefined
  const hint = near ? ` (did you mean ${near}?)` : ''
  return {
    path,
    at: tree.placeOf(path),
    text: `must be ${allowed}; got ${shown(schema, value, tree.variablesOf(path))}${hint}`,
  }
}

/** Only a value whose own key is no secret is shown; what stands in place of a mapping could be one. */
function isShown(schema: Schema): boolean {
  const { json, words, secret } = aboutOf(schema)
  return !secret && (json ?? words) !== undefined
}

function shown(schema: Schema, value: unknown, variables: readonly string[]): string {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value !== 'string') return 'a mapping'
  const isEmpty = value === ''
  if (variables.length > 0) {
    const names = variables.map(name => `\${${name}}`).join(' and ')
    return `what ${names} holds${isEmpty ? ', which is empty' : ''}`
  }
  if (isEmpty) return 'an empty text'
  if (!isShown(schema)) return 'a text that is not shown here'
  return value.includes('@')
    ? 'a text that is not shown here, for it may hold a password'
    : JSON.stringify(shorten(value))
}

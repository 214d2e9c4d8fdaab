import { z } from 'zod'

type Schema = z.core.$ZodType
export type JsonSchema = { readonly [key: string]: unknown }

/** What the messages, the JSON schema and the reference tell of a value, a list or a mapping. */
interface About {
  /** Completes the sentence "must be ...". */
  readonly allowed: string
  /** Words of a closed set, to suggest from. */
  readonly words?: readonly string[]
}

/** What they tell of one value besides. */
export interface Leaf extends About {
  /** A secret, or the way to one: never shown in a message. */
  readonly secret?: true
  /** The same value for an editor. The environment's references are allowed besides. */
  readonly json: JsonSchema
}

/** Several ways to say one thing: a secret itself, its file, its command. At most one may be used, or `some` of them. */
export interface Alternatives {
  readonly keys: readonly string[]
  readonly need: 'required' | 'optional' | 'some'
}

/** What they tell of a mapping besides. */
interface Section extends About {
  /** What a key of it is called. */
  readonly noun: string
  readonly alternatives: readonly Alternatives[]
}

/** A registry of zod, because a description clones its schema and only a registry follows clones. */
const known = z.registry<Known>()
type Known = About & Partial<Leaf> & Partial<Section>

function tell<S extends Schema>(schema: S, about: Known): S {
  known.add(schema, about)
  return schema
}

/** What is inside `optional` and `prefault`. */
export function bare(schema: Schema): Schema {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodPrefault) return bare(schema.unwrap())
  return schema
}

/** What is known of a schema, whether or not it may be left out. */
export function aboutOf(schema: Schema): Known {
  return known.get(bare(schema)) ?? { allowed: '' }
}

/** What is known of a schema that stands for one value; undefined for mappings, lists and unions. */
export function leafOf(schema: Schema): Leaf | undefined {
  const { json, ...about } = aboutOf(schema)
  return json && { ...about, json }
}

/** Answer of a reader that cannot use a text. */
export const unfit = Symbol('unfit')

/** Makes a value that is written as one scalar; `read` turns its text into what the program uses. */
export function leaf<T>(info: Leaf, read: (text: string) => T | typeof unfit) {
  return tell(
    z.string().transform((text, context) => accept(read(text), context)),
    info,
  )
}

/** Makes a value that is written as one scalar or as a list of them. */
export function leafOrList<T>(info: Leaf, read: (text: string | readonly string[]) => T | typeof unfit) {
  const input = z.union([z.string(), z.array(z.string())])
  return tell(
    input.transform((text, context) => accept(read(text), context)),
    info,
  )
}

function accept<T>(value: T | typeof unfit, context: z.core.$RefinementCtx): T {
  if (value !== unfit) return value
  context.addIssue({ code: 'custom', message: 'unfit' })
  return z.NEVER
}

/** Makes a list of values that are written as one scalar each, of which none may stand in a `unique` one twice. */
export function listOf<S extends Schema>(item: S, { min = 0, unique = false } = {}) {
  const list = z.array(item).min(min)
  const { json, allowed } = aboutOf(item)
  const size = min > 0 ? 'a list with at least one item' : 'a list'
  return tell(unique ? list.superRefine(refuseRepeated, always) : list, {
    allowed: json ? `${size}; each ${allowed}` : size,
  })
}

/** Makes a list or mapping that a word may stand for. */
export function wordOr<W extends z.ZodType, S extends Schema>(word: W, schema: S) {
  const { allowed, words = [] } = aboutOf(word)
  return tell(z.union([word, schema]), { allowed: `${allowed}, or ${aboutOf(schema).allowed}`, words })
}

/** A mapping that refuses unknown keys. */
export function section<S extends z.core.$ZodLooseShape>(
  shape: S,
  { noun = 'key', alternatives = [] }: Partial<Section> = {},
) {
  const schema = z.strictObject(shape).superRefine((value, context) => {
    for (const each of alternatives) checkAlternatives(value, each, context)
  }, always)
  const keys = Object.keys(shape)
  const allowed = `a mapping with the ${keys.length === 1 ? 'key' : 'keys'} ${keys.join(', ')}`
  return tell(schema, { allowed, noun, alternatives })
}

/** A rule of several values is told beside whatever else is wrong with them. */
const always = { when: () => true }

function refuse(context: z.core.$RefinementCtx, key: string | number, message: string): void {
  context.addIssue({ code: 'custom', path: [key], message, params: { isRule: true } })
}

function refuseRepeated(items: unknown, context: z.core.$RefinementCtx): void {
  if (!Array.isArray(items)) return
  for (const [i, item] of items.entries()) {
    if (items.indexOf(item) < i) refuse(context, i, 'stands in this list twice')
  }
}

function checkAlternatives(
  value: unknown,
  { keys, need }: Alternatives,
  context: z.core.$RefinementCtx,
): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return
  const [first, second] = keys.filter(key => Object.hasOwn(value, key))
  if (second && need !== 'some') refuse(context, second, `give only one of ${keys.join(', ')}`)
  if (first || need === 'optional') return
  const least = need === 'some' ? 'at least ' : ''
  refuse(context, keys[0]!, `is missing; give ${least}one of ${keys.join(', ')}`)
}

/** A mapping of the same keys. */
export function mapValues<K extends string, V, R>(of: Readonly<Record<K, V>>, make: (value: V, key: K) => R) {
  return Object.fromEntries(
    Object.entries<V>(of).map(([key, value]) => [key, make(value, key as K)]),
  ) as Record<K, R>
}

/** A mapping with these keys. */
export function mapKeys<K extends string, R>(keys: readonly K[], make: (key: K) => R) {
  return Object.fromEntries(keys.map(key => [key, make(key)])) as Record<K, R>
}

import { z } from 'zod'

/** What the loader, its messages, the JSON schema and the reference table know about one value. */
export interface Leaf {
  /** Completes the sentence "must be ...". */
  readonly allowed: string
  /** Words of a closed set, to suggest from. */
  readonly words?: readonly string[]
  /** A secret, or the way to one: never shown in a message. */
  readonly secret?: true
  /** The same value for an editor. The environment's references are allowed besides. */
  readonly json: JsonSchema
}

export type JsonSchema = { readonly [key: string]: unknown }

/** Answer of a reader that cannot use a text. */
export const unfit = Symbol('unfit')

/** A registry of zod, because a description clones its schema and only a registry follows clones. */
const leaves = z.registry<Leaf>()

/** Makes a value that is written as one scalar; `read` turns its text into what the program uses. */
export function leaf<T>(info: Leaf, read: (text: string) => T | typeof unfit) {
  return known(
    info,
    z.string().transform((text, context) => accept(read(text), context)),
  )
}

/** Makes a value that is written as one scalar or as a list of them. */
export function leafOrList<T>(info: Leaf, read: (text: string | readonly string[]) => T | typeof unfit) {
  const input = z.union([z.string(), z.array(z.string())])
  return known(
    info,
    input.transform((text, context) => accept(read(text), context)),
  )
}

/** What is known of a schema that stands for one value; undefined for mappings, lists and unions. */
export function leafOf(schema: z.core.$ZodType): Leaf | undefined {
  return leaves.get(schema)
}

function accept<T>(value: T | typeof unfit, context: z.core.$RefinementCtx): T {
  if (value !== unfit) return value
  context.addIssue({ code: 'custom', message: 'unfit' })
  return z.NEVER
}

function known<S extends z.core.$ZodType>(info: Leaf, schema: S): S {
  leaves.add(schema, info)
  return schema
}

/** How many items a list may have. */
interface Bounds {
  readonly min: number
  readonly max: number | undefined
}

const lists = z.registry<Bounds>()

/** Makes a list of values that are written as one scalar each. */
export function listOf<S extends z.core.$ZodType>(item: S, { min = 0, max }: Partial<Bounds> = {}) {
  const list = z.array(item).min(min)
  const bounded = max === undefined ? list : list.max(max)
  lists.add(bounded, { min, max })
  return bounded
}

export function boundsOf(list: z.core.$ZodType): Bounds {
  return lists.get(list) ?? { min: 0, max: undefined }
}

/** Several ways to say one thing: a secret itself, its file, its command. At most one may be used, or `some` of them. */
export interface Alternatives {
  readonly keys: readonly string[]
  readonly need: 'required' | 'optional' | 'some'
}

interface Section {
  /** What a key of this mapping is called in a message. */
  readonly noun: string
  readonly alternatives: readonly Alternatives[]
}

const sections = z.registry<Section>()

/** A mapping that refuses unknown keys. */
export function section<S extends z.core.$ZodLooseShape>(shape: S, about: Partial<Section> = {}) {
  const schema = z.strictObject(shape)
  sections.add(schema, { noun: about.noun ?? 'key', alternatives: about.alternatives ?? [] })
  return schema
}

export function sectionOf(schema: z.core.$ZodType): Section {
  return sections.get(schema) ?? { noun: 'key', alternatives: [] }
}

/** A mapping of the same keys. */
export function mapValues<K extends string, V, R>(of: Readonly<Record<K, V>>, make: (value: V, key: K) => R) {
  return Object.fromEntries(
    Object.entries<V>(of).map(([key, value]) => [key, make(value, key as K)]),
  ) as Record<K, R>
}

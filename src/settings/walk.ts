import { z } from 'zod'
import { aboutOf, bare, leafOf, mapValues, section } from './leaf.ts'

type Schema = z.core.$ZodType

/** One key of the configuration. */
export interface Key {
  /** Keys from the root; `[]` stands for every item of a list. */
  readonly path: readonly string[]
  readonly schema: Schema
}

/** The mapping that a schema is, or allows besides a word. */
export function mappingOf(schema: Schema): z.ZodObject | undefined {
  const inner = bare(schema)
  if (inner instanceof z.ZodObject) return inner
  if (!(inner instanceof z.ZodUnion) || leafOf(inner)) return undefined
  return inner.options.map(mappingOf).find(option => option !== undefined)
}

/** The list that a schema is, or allows besides a word. */
export function listIn(schema: Schema): z.ZodArray | undefined {
  const inner = bare(schema)
  if (inner instanceof z.ZodArray) return inner
  if (!(inner instanceof z.ZodUnion) || leafOf(inner)) return undefined
  return inner.options.map(listIn).find(option => option !== undefined)
}

export function childOf(schema: Schema, step: string | number): Schema | undefined {
  const inner = bare(schema)
  const list = listIn(inner)
  if (list) return typeof step === 'number' ? list.element : undefined
  const shape = mappingOf(inner)?.shape
  return shape && typeof step === 'string' && Object.hasOwn(shape, step) ? shape[step] : undefined
}

/** A mapping as one of several layers says it: every key, a `noun`, may be left out, and its default is only told. */
export function layerOf<S extends z.ZodObject>(whole: S, noun: string) {
  const shape = mapValues<string, Schema, Schema>(whole.shape, schema =>
    schema instanceof z.ZodPrefault ? told(schema) : schema,
  )
  return section(shape as { [K in keyof S['shape']]: z.ZodType<z.output<S['shape'][K]> | undefined> }, {
    ...aboutOf(whole),
    noun,
  })
}

function told(schema: z.ZodPrefault): Schema {
  const { description } = schema
  const isPlain = mappingOf(schema) === undefined
  return z
    .optional(schema.unwrap())
    .meta({ ...(description && { description }), ...(isPlain && { default: schema.def.defaultValue }) })
}

/** The schema at a path of the configuration; undefined where nothing may stand. */
export function schemaAt(root: Schema, path: readonly (string | number)[]): Schema | undefined {
  return path.reduce<Schema | undefined>((schema, step) => schema && childOf(schema, step), root)
}

/** Every key that may be written, in the order of the schema. */
export function keysOf(root: Schema, path: readonly string[] = []): readonly Key[] {
  const inner = bare(root)
  if (inner instanceof z.ZodArray) return keysOf(inner.element, [...path, '[]'])
  return Object.entries(mappingOf(inner)?.shape ?? {}).flatMap(([key, schema]) => {
    const under = [...path, key]
    return [{ path: under, schema }, ...keysOf(schema, under)]
  })
}

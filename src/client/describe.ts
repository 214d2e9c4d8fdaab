import { z } from 'zod'
import type { Operation } from '../provider/operation.ts'
import { createPlayer, secretPlayerFields } from '../provider/players/index.ts'

/** What the contract says of one argument of an operation. */
export interface ParameterFacts extends FieldFacts {
  readonly place: 'path' | 'query' | 'body'
  /** Its value must never be seen. */
  readonly secret: boolean
}

export interface FieldFacts {
  readonly name: string
  readonly required: boolean
  /** How a value is written on a command line. */
  readonly kind: 'text' | 'number' | 'boolean' | 'json'
  /** The type in words: `integer`, `fit or fill`. */
  readonly type: string
  /** What it is and which values are allowed. */
  readonly rule: string
  /** Fields of an object whose fields the contract names. */
  readonly fields: readonly FieldFacts[]
}

/** More values than these do not stand in for the type. */
const fewWords = 4

type Schema = z.core.JSONSchema.BaseSchema

/** Every argument of an operation in the order of the contract: path, query, body. */
export function describeOperation(operation: Operation): readonly ParameterFacts[] {
  const { pathParams, queryParams, body } = operation
  const secret = (name: string) => operation.name === createPlayer.name && secretPlayerFields.has(name)
  const of = (rules: Readonly<Record<string, z.ZodType>>, place: 'path' | 'query') =>
    Object.entries(rules).map(([name, rule]): ParameterFacts => {
      const required = !rule.safeParse(undefined).success
      return { ...fieldFacts(name, schemaOf(rule), required), place, secret: false }
    })
  const inBody = body ? fieldsOf(schemaOf(body)) : []
  return [
    ...of(pathParams, 'path'),
    ...of(queryParams, 'query'),
    ...inBody.map((field): ParameterFacts => ({ ...field, place: 'body', secret: secret(field.name) })),
  ]
}

/** Names of the fields of an operation's body. */
export function bodyNames({ body }: Operation): readonly string[] {
  return body ? Object.keys(schemaOf(body).properties ?? {}) : []
}

const known = new WeakMap<z.ZodType, Schema>()

/** As callers see it: defaults make a field optional. */
function schemaOf(rule: z.ZodType): Schema {
  const made = known.get(rule) ?? z.toJSONSchema(rule, { io: 'input', unrepresentable: 'any' })
  known.set(rule, made)
  return made
}

function fieldsOf(schema: Schema): readonly FieldFacts[] {
  const required = schema.required ?? []
  return Object.entries(schema.properties ?? {}).map(([name, field]) =>
    fieldFacts(name, field as Schema, required.includes(name)),
  )
}

function fieldFacts(name: string, schema: Schema, required: boolean): FieldFacts {
  const kind = kindOf(schema)
  const { enum: words = [], description: rule = '' } = schema
  const facts = { name, required, kind, fields: fieldsOf(schema) }
  if (words.length === 0) return { ...facts, type: typeOf(schema), rule }
  if (words.length <= fewWords) return { ...facts, type: words.join(' or '), rule }
  return { ...facts, type: typeOf(schema), rule: `${rule}; one of ${words.join(', ')}` }
}

function kindOf(schema: Schema): FieldFacts['kind'] {
  switch (typeOf(schema)) {
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'object':
    case 'list':
      return 'json'
    default:
      return 'text'
  }
}

function typeOf({ type }: Schema): string {
  const [first] = [type as unknown].flat().filter(each => each !== 'null')
  if (first === 'array') return 'list'
  return typeof first === 'string' && first !== 'string' ? first : 'text'
}

import { breaksRule } from '../refusal.ts'
import type { Sent } from '../request-context.ts'

export type Fields = Readonly<Record<string, unknown>>

/** What a field of a body may have to be, in the words of the document. */
interface Kinds {
  readonly Object: Fields
  readonly String: string
  readonly Number: number
  readonly 'String array': readonly string[]
}

const judges: { readonly [Kind in keyof Kinds]: (value: unknown) => value is Kinds[Kind] } = {
  Object: isObject,
  String: isText,
  Number: value => typeof value === 'number',
  'String array': (value): value is readonly string[] => Array.isArray(value) && value.every(isText),
}

/** The fields of a JSON body; no body has none. Throws Refusal where it is no JSON object or not called JSON. */
export function readBody({ text, contentType }: Sent): Fields {
  if (text === '') return {}
  if (!/^application\/json\b/i.test(contentType ?? '')) {
    throw breaksRule('the Content-Type must be application/json')
  }
  const body = parse(text)
  if (!isObject(body)) throw breaksRule('the body must be a JSON object')
  return body
}

/** A field that may be absent. Throws Refusal where it is there and not of its kind. */
export function optional<Kind extends keyof Kinds>(
  fields: Fields,
  name: string,
  kind: Kind,
): Kinds[Kind] | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (value === undefined) return undefined
  if (judges[kind](value)) return value
  throw breaksRule(`${name} must be of type ${kind}`)
}

export function required<Kind extends keyof Kinds>(fields: Fields, name: string, kind: Kind): Kinds[Kind] {
  const value = optional(fields, name, kind)
  if (value === undefined) throw breaksRule(`${name} is required`)
  return value
}

/** A number out of several, which a path holds as a text. Throws Refusal where it is none of them. */
export function oneOf(allowed: readonly number[], value: number | string | undefined, name: string): number {
  const found = allowed.find(number => String(number) === String(value))
  if (found === undefined) throw breaksRule(`${name} must be one of ${allowed.join(', ')}`)
  return found
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw breaksRule('the body is not JSON')
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

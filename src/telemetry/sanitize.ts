import { redacted } from '../provider/redaction.ts'

/** Longest text of one field, in UTF-16 units. */
const longestField = 2_048

const deepest = 4
const mostFields = 50
const mostItems = 20

export interface SanitizeOptions {
  readonly filter: SecretFilter
  /** Whether an error shows where it was thrown. */
  readonly stacks: 'shown' | 'hidden'
}

/** What JSON can write. */
type Sanitized =
  | string
  | number
  | boolean
  | null
  | readonly Sanitized[]
  | { readonly [name: string]: Sanitized }

/**
 * Any value as a small plain one that is fit for a log: secrets replaced by name and by value, long texts cut
 * after that (never before, or half a secret could stay), errors reduced to what cannot hold a payload, bytes
 * to their number. Calls no toJSON and no getter of a prototype.
 */
function sanitize(value: unknown, options: SanitizeOptions, depth = 0): Sanitized {
  switch (typeof value) {
    case 'string':
      return text(value, options)
    case 'number':
    case 'bigint':
      return number(value, options)
    case 'boolean':
      return value
    case 'object':
      return value === null ? null : object(value, options, depth)
    default:
      return typeof value
  }
}

function text(value: string, { filter }: SanitizeOptions): string {
  const clean = filter(value)
  return clean.length <= longestField
    ? clean
    : `${clean.slice(0, longestField)}... (${clean.length} characters)`
}

function number(value: number | bigint, { filter }: SanitizeOptions): Sanitized {
  const digits = String(value)
  if (filter(digits) !== digits) return redacted
  return typeof value === 'bigint' || !Number.isFinite(value) ? digits.slice(0, longestField) : value
}

function object(value: object, options: SanitizeOptions, depth: number): Sanitized {
  if (value instanceof Error) return error(value, options, depth)
  if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'no date' : value.toISOString()
  if (depth >= deepest) return '...'
  if (Array.isArray(value)) return value.slice(0, mostItems).map(item => sanitize(item, options, depth + 1))
  return fields(value, options, depth)
}

/** The fields of an object, without those that JSON leaves out. */
export function fields(
  value: object,
  options: SanitizeOptions,
  depth = 0,
): { readonly [name: string]: Sanitized } {
  const entries = Object.entries(value).filter(([, one]) => one !== undefined && typeof one !== 'function')
  return Object.fromEntries(
    entries.slice(0, mostFields).map(([name, one]) => {
      return [text(name, options), isSecretName(name) ? redacted : sanitize(one, options, depth + 1)]
    }),
  )
}

function error(value: Error, options: SanitizeOptions, depth: number): Sanitized {
  const { code, constraint, table, statement, fault } = value as Error & Readonly<Record<string, unknown>>
  const names = { code, constraint, table, statement, ...(typeof fault === 'object' ? fault : {}) }
  const silent = quotesInput(value, code)
  return {
    name: text(value.name, options),
    ...(silent ? {} : { message: text(value.message, options) }),
    ...Object.fromEntries(
      Object.entries(names).flatMap(([name, one]) => {
        return typeof one === 'string' || typeof one === 'number' ? [[name, sanitize(one, options)]] : []
      }),
    ),
    ...(options.stacks === 'shown' && !silent && value.stack ? { stack: text(value.stack, options) } : {}),
    ...(value.cause instanceof Error && depth < deepest
      ? { cause: error(value.cause, options, depth + 1) }
      : {}),
  }
}

/**
 * The messages of JSON.parse and of Postgres' data and integrity errors (SQLSTATE classes 22 and 23) quote what
 * was read; the detail, where and parameters of a Postgres error hold whole rows and are never looked at.
 */
function quotesInput(error: Error, code: unknown): boolean {
  return error instanceof SyntaxError || (typeof code === 'string' && /^2[23][0-9A-Z]{3}$/.test(code))
}

/** A shorter word would also be found where it is no secret. */
const shortestSecret = 4

/** Replaces every known secret in a text, in each form in which it may have been written. */
export type SecretFilter = (text: string) => string

/**
 * A filter for these secrets as they are, URL-encoded, as base64 and as JSON writes them. The longest form goes
 * first, so that no piece of a secret stays behind where one secret is part of another.
 */
export function secretFilter(secrets: readonly string[]): SecretFilter {
  const forms = [...new Set(secrets.filter(secret => secret.length >= shortestSecret).flatMap(formsOf))]
  const longestFirst = forms.toSorted((a, b) => b.length - a.length)
  return text => longestFirst.reduce((rest, form) => rest.replaceAll(form, redacted), text)
}

function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const wellFormed = secret.toWellFormed()
  return [
    secret,
    encodeURIComponent(wellFormed),
    new URLSearchParams([['', wellFormed]]).toString().slice(1),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ]
}

const secretWords = /token|secret|authori[sz]ation|password|passwd|passphrase|cookie|credential|signature/i
const secretKey = /^key$|[_-]key$|[a-z]Key$/

/** Whether a field of this name may hold a secret. */
function isSecretName(name: string): boolean {
  return secretWords.test(name) || secretKey.test(name)
}

import { z } from 'zod'
import type { FailureKind } from './errors.ts'
import { fits } from './fits.ts'
import type { LimitsByPlan } from './limits.ts'

/**
 * One operation of the provider's contract as data: everything that is needed to build a request, check it
 * before it is sent, and read the answer. Nothing here sends anything.
 */
export const families = ['classroom', 'analytics', 'players'] as const
export type Family = (typeof families)[number]
export type Method = 'GET' | 'PUT' | 'POST' | 'DELETE'

export interface BusinessError {
  /** HTTP status that carries the error. */
  readonly status: number
  /** `code` of the body; absent where the contract names none. */
  readonly code?: number
  readonly meaning: string
  /** What it is met as, where the status alone would mean another. */
  readonly kind?: FailureKind
}

export interface Operation<Body extends z.ZodType = z.ZodType, Answer extends z.ZodType = z.ZodType> {
  /** camelCase, unique within the family; `family.name` is how people call it. */
  readonly name: string
  readonly family: Family
  readonly summary: string
  readonly method: Method
  /** Path with `{name}` where a path parameter goes. */
  readonly path: string
  readonly pathParams: Readonly<Record<string, z.ZodType>>
  readonly queryParams: Readonly<Record<string, z.ZodType>>
  readonly body?: Body
  /** Shape of the whole successful body; unknown fields pass. */
  readonly answer: Answer
  /** The same, more strictly, where no nextId is asked with. */
  readonly firstAnswer?: z.ZodType
  /** Lists of the answer by their field, and the shape of one item: each is parsed alone, so that a bad one does not spoil its page. */
  readonly items?: Readonly<Record<string, z.ZodType>>
  readonly errors: readonly BusinessError[]
  /** Operations that may share a counter of the provider share a group. */
  readonly limitGroup: string
  /** The counter of this operation alone, where a deployment counts each of its group by itself. */
  readonly ownLimitGroup?: string
  /** The document's table of limits of the group, where they follow from the pricing plan. */
  readonly limits?: LimitsByPlan
}

/** Answer of an operation whose success has an empty body; bytes that come all the same are not looked at. */
export const emptyAnswer = z.undefined()

/** What is to be sent, relative to the base URL of its family. */
export interface RequestLine {
  readonly operation: Operation
  readonly method: Method
  /** Percent-encoded path and query, beginning with a slash. */
  readonly target: string
  readonly body?: unknown
  /** Shape of the answer to this question, where it is stricter than that of the operation. */
  readonly answer?: z.ZodType
  /** X-Request-ID, a UUID; each attempt has one of its own where none is given. */
  readonly requestId?: string
}

export type Parameters = Readonly<Record<string, unknown>>

/** A parameter that breaks a rule of the contract: found before anything is sent. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError'
}

/**
 * Checks parameters against the contract and writes the request line. A path parameter always fills exactly
 * one segment, whatever characters it holds. Throws ParameterError naming the operation, the parameter and
 * the rule; never the value, which may be a secret.
 */
export function requestLine(operation: Operation, parameters: Parameters, body?: unknown): RequestLine {
  const { method } = operation
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    segment(operation, name, checked(operation, operation.pathParams[name]!, name, parameters[name])),
  )
  const query = Object.entries(operation.queryParams).flatMap(([name, schema]) => {
    const value = checked(operation, schema, name, parameters[name])
    return value === undefined || value === null ? [] : [`${name}=${encoded(operation, name, String(value))}`]
  })
  const unknown = Object.keys(parameters).find(
    name => !(name in operation.pathParams) && !(name in operation.queryParams),
  )
  if (unknown) throw new ParameterError(`${called(operation)} has no parameter ${unknown}`)
  const target = query.length > 0 ? `${path}?${query.join('&')}` : path
  const isFirst = operation.firstAnswer && 'nextId' in operation.queryParams && !parameters.nextId
  const answer = isFirst ? { answer: operation.firstAnswer } : {}
  if (!operation.body) return { operation, method, target, ...answer }
  return { operation, method, target, body: checked(operation, operation.body, 'body', body) }
}

/** The name by which people call an operation, for example `classroom.kickUser`. */
export function called(operation: Operation): string {
  return `${operation.family}.${operation.name}`
}

function checked(operation: Operation, schema: z.ZodType, name: string, value: unknown): unknown {
  if (fits(schema, value)) return value
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const where = [name, ...(issue?.path ?? [])].join('.')
  throw new ParameterError(`${called(operation)}: parameter ${where}: ${issue?.message ?? 'not allowed'}`)
}

/** `.` and `..` are the two segments that encoding leaves alone and that a path normaliser would swallow. */
function segment(operation: Operation, name: string, value: unknown): string {
  const text = String(value)
  if (text === '.' || text === '..') {
    throw new ParameterError(`${called(operation)}: parameter ${name}: a path segment cannot be "${text}"`)
  }
  return encoded(operation, name, text)
}

function encoded(operation: Operation, name: string, text: string): string {
  try {
    return encodeURIComponent(text)
  } catch {
    throw new ParameterError(`${called(operation)}: parameter ${name}: a lone surrogate cannot be sent`)
  }
}

/** Whether a host is this machine itself; URL.hostname has written every spelling of an IPv4 address as four numbers. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

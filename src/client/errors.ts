import type { Failure, FailureKind, Trace } from '../provider/errors.ts'
import { called, type Operation } from '../provider/operation.ts'
import type { PlayerItem } from '../provider/players/index.ts'
import type { Named } from './types.ts'

/** Why a call failed where no answer of the provider says it, or says it only in words. */
export const clientKinds = [
  'budget', // nothing was sent: the limit leaves no room for as long as the caller would wait
  'busy', // nothing was sent: the app changes hands between processes
  'off', // nothing was sent: the service is not configured, or the plan does not include it
  'closed', // nothing was sent: the client was closed
  'unsettled', // after several attempts nobody knows whether it was done
] as const

export type CallErrorKind = FailureKind | (typeof clientKinds)[number]

interface CallErrorFacts {
  readonly kind: CallErrorKind
  /** A clause for people; no secret, nothing of a payload. */
  readonly text: string
  readonly status?: number | undefined
  readonly code?: number | undefined
  /** Seconds until another try makes sense, where that is known. */
  readonly retryAfter?: number | undefined
  readonly trace?: Trace | undefined
  /** The player that stands in the way of a new one. */
  readonly existing?: PlayerItem | undefined
}

/** A call that did not end well. Nothing retries it: what could be done within the caller's patience has been done. */
export class CallError extends Error {
  override readonly name = 'CallError'
  readonly operation: string
  readonly kind: CallErrorKind
  readonly status: number | undefined
  readonly code: number | undefined
  readonly retryAfter: number | undefined
  readonly trace: Trace | undefined
  readonly existing: Named<PlayerItem> | undefined
  constructor(operation: Operation, facts: CallErrorFacts, options?: ErrorOptions) {
    super(`${called(operation)}: ${facts.text}`, options)
    this.operation = called(operation)
    this.kind = facts.kind
    this.status = facts.status
    this.code = facts.code
    this.retryAfter = facts.retryAfter
    this.trace = facts.trace
    this.existing = facts.existing
  }
}

/** Of a client that was closed. */
export function closed(operation: Operation): CallError {
  return new CallError(operation, { kind: 'closed', text: 'nothing was sent: the client was closed' })
}

/** The error that a failure becomes, with what the contract says of it. */
export function callError(operation: Operation, failure: Failure): CallError {
  const { kind, status, code, retryAfter, trace } = failure
  return new CallError(operation, { kind, text: worded(operation, failure), status, code, retryAfter, trace })
}

function worded(operation: Operation, { kind, text, status, code }: Failure): string {
  if (kind === 'quota') return `${text}: the project has as many players as it may have; delete one first`
  const { errors } = operation
  const coded = errors.filter(each => each.code !== undefined && each.code === code)
  // A code means the same beside another status, be it that of a success.
  const exact =
    coded.find(each => each.status === status) ??
    coded[0] ??
    errors.find(each => each.status === status && each.code === undefined)
  return exact ? `${text}: ${exact.meaning}` : text
}

/** Whether the provider may have done what it was asked, although no answer says so. */
export function isUncertain(kind: CallErrorKind): boolean {
  return uncertain.has(kind)
}

const uncertain: ReadonlySet<CallErrorKind> = new Set<CallErrorKind>([
  ...(['network', 'timeout', 'gateway_timeout', 'server_error', 'unavailable'] as const),
  // It answered, with something that cannot be read.
  ...(['malformed', 'too_large'] as const),
])

/** The IDs by which the provider finds a request, in brackets; empty where nothing was sent. */
export function formatTrace(trace: Trace | undefined): string {
  if (!trace) return ''
  const { requestId, answeredId, resourceId } = trace
  const parts = [
    `request ${requestId}`,
    ...(answeredId ? [`answered as ${answeredId}`] : []),
    ...(resourceId ? [`resource ${resourceId}`] : []),
  ]
  return ` (${parts.join(', ')})`
}

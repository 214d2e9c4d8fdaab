import type { FailureKind } from '../errors.ts'
import type { BusinessError } from '../operation.ts'

/** Body code of a request that went beyond a limit of the plan. */
export const limitCode = 300

/** The documented body codes. The HTTP status beside a code is not documented. */
export const analyticsErrors: readonly BusinessError[] = [
  { status: 400, code: 400, meaning: 'Invalid parameters' },
  { status: 401, code: 401, meaning: 'Unauthorized' },
  { status: 403, code: 403, meaning: 'Wrong authorization information; the request is forbidden' },
  { status: 404, code: 404, meaning: 'Wrong API invoked' },
  { status: 500, code: 500, meaning: 'Unknown error' },
]

/** Messages beside code 300 as the document writes them, and what each stands for. */
export const limitMessages = {
  'qps limit error': 'qps_limit',
  'qpd limit error': 'qpd_limit',
  'query latency limit error': 'latency_limit',
  'query time range limit error': 'time_range_limit',
  'query time length limit error': 'time_length_limit',
  'you have no auth to access this service, please buy or upgrade your service package': 'no_access',
} as const satisfies Readonly<Record<string, FailureKind>>

export type LimitMessage = keyof typeof limitMessages

/** The kind that a message beside code 300 stands for, whatever its case and the blanks around it. */
export function kindOfLimitMessage(message: unknown): FailureKind {
  const text = typeof message === 'string' ? message.trim().toLowerCase() : ''
  return Object.hasOwn(limitMessages, text) ? limitMessages[text as LimitMessage] : 'limit_exceeded'
}

import { z } from 'zod'
import type { FailureKind } from '../errors.ts'
import type { BusinessError } from '../operation.ts'
import { maxima } from './parameters.ts'

/** Whether a class succeeded stands in `code`; 200 is documented and 0 has been seen. */
export const successCodes: readonly number[] = [200, 0]

/** What every answer begins with; what else it says beside its list is for people, and may have any type. */
export const Envelope = z.looseObject({ code: z.number() })

/** A list as it came: what reads its items judges them, and another copy of a long one takes its memory. */
export const list = z.unknown().transform((value, context): unknown[] => {
  if (Array.isArray(value)) return value
  context.addIssue({ code: 'invalid_type', expected: 'array' })
  return z.NEVER
})

type Counts = Readonly<Record<string, unknown>>

/**
 * The list of one page. null stands for an empty list as long as the answer does not count something in it. An answer
 * without the list is another one than the document shows, so only the count itself can say that there is nothing. A first
 * page that lists nothing and counts something contradicts itself.
 */
export function listOfPage(value: unknown[] | null | undefined, said: Counts): unknown[] | undefined {
  const { total_size: total, page_no: number } = said
  const countsSome = number === 1 && typeof total === 'number' && total > 0
  if (value) return value.length === 0 && countsSome ? undefined : value
  const isEmpty = value === undefined ? total === 0 : isNoMoreThan(total, before(said))
  return isEmpty ? [] : undefined
}

/** Whether the total is of this page or of all pages is not said: what the pages before held may be in it. */
function before({ page_no: number, page_size: size }: Counts): number {
  return typeof number === 'number' && typeof size === 'number' ? (number - 1) * size : 0
}

function isNoMoreThan(total: unknown, most: number): boolean {
  return total === undefined || total === null || (typeof total === 'number' && total <= most)
}

export function notEmpty(context: z.RefinementCtx, name: string): never {
  context.addIssue({
    code: 'custom',
    path: [name],
    message: 'must be there, for the answer may hold something',
  })
  return z.NEVER
}

/** Whether a page holds as many items as fit: as many as were asked for, or fewer where it says that it takes fewer. */
export function isFullPage(items: readonly unknown[], { page_size: size }: Counts): boolean {
  const takesFewer = typeof size === 'number' && size >= 1 && size < maxima.pageSize
  return items.length >= (takesFewer ? size : maxima.pageSize)
}

/** Whether a page counts more than it and those before it hold: a short page that does is not the last. */
export function countsMore(items: readonly unknown[], said: Counts): boolean {
  const { total_size: total } = said
  return items.length > 0 && typeof total === 'number' && total > before(said) + items.length
}

/** Answer of the insights and of the real-time endpoints. null says that it is empty, without it the answer is another one. */
export const SeriesAnswer = Envelope.extend({ data: list.nullable().transform(items => items ?? []) })

/** Body code of a request that went beyond a limit of the plan. */
export const limitCode = 300

/** The documented body codes. The HTTP status beside a code is not documented. */
const analyticsErrors: readonly BusinessError[] = [
  { status: 400, code: 400, meaning: 'Invalid parameters' },
  { status: 401, code: 401, meaning: 'Unauthorized' },
  { status: 403, code: 403, meaning: 'Wrong authorization information; the request is forbidden' },
  { status: 404, code: 404, meaning: 'Wrong API invoked' },
  { status: 500, code: 500, meaning: 'Unknown error' },
]

/** What all operations have in common. */
export const ofAnalytics = {
  family: 'analytics',
  method: 'GET',
  pathParams: {},
  errors: analyticsErrors,
} as const

/** Messages beside code 300 as the document writes them, and what each stands for. */
const limitMessages = {
  'qps limit error': 'qps_limit',
  'qpd limit error': 'qpd_limit',
  'query latency limit error': 'latency_limit',
  'query time range limit error': 'time_range_limit',
  'query time length limit error': 'time_length_limit',
  'you have no auth to access this service, please buy or upgrade your service package': 'no_access',
} as const satisfies Readonly<Record<string, FailureKind>>

export type LimitMessage = keyof typeof limitMessages

/** The kind that a documented message stands for, whatever its case and the blanks around it; undefined for any other. */
export function kindOfLimitMessage(message: unknown): FailureKind | undefined {
  const text = typeof message === 'string' ? message.trim().toLowerCase() : ''
  return Object.hasOwn(limitMessages, text) ? limitMessages[text as LimitMessage] : undefined
}

/** Item of `data`: when its time begins, and a value under the name of the metric that was asked for. */
export function seriesValue<M extends string>(metrics: readonly M[]) {
  const value = z.number().nullish()
  const values = Object.fromEntries(metrics.map(metric => [metric, value])) as Record<M, typeof value>
  return z.looseObject({ ts: z.number(), ...values })
}

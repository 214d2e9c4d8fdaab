import { z } from 'zod'
import { days, hours, type LimitsByPlan, perDay, perSecond, seconds } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { analyticsErrors, CallListAnswer } from './answers.ts'
import { appid, callRange, paging } from './parameters.ts'

/** The document's table of limits of this endpoint. */
export const callSearchLimits: LimitsByPlan = {
  standard: {
    rates: [perSecond(1), perDay(1_000)],
    availableData: days(3),
    timeFrame: hours(8),
    dataDelay: seconds(60),
  },
  premium: {
    rates: [perSecond(3), perDay(2_000)],
    availableData: days(7),
    timeFrame: hours(16),
    dataDelay: seconds(60),
  },
  enterprise: {
    rates: [perSecond(10), perDay(10_000)],
    availableData: days(15),
    timeFrame: hours(24),
    dataDelay: seconds(60),
  },
}

export const callSearch = {
  name: 'callSearch',
  family: 'analytics',
  summary: 'Searches calls in a range of time, newest first',
  method: 'GET',
  path: '/beta/analytics/call/lists',
  pathParams: {},
  queryParams: {
    ...callRange,
    appid,
    cname: z.string().optional().describe('Only calls of this channel'),
    ...paging,
  },
  answer: CallListAnswer,
  errors: analyticsErrors,
  limitGroup: 'call-search',
} as const satisfies Operation

/** Item of `call_lists`. */
export const CallItem = z.looseObject({
  call_id: z.string().min(1),
  cname: z.string().nullish(),
  created_ts: z.int(),
  destroyed_ts: z.int().nullish(),
  finished: z.boolean().nullish(),
})
export type CallItem = z.infer<typeof CallItem>

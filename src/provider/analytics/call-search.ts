import { z } from 'zod'
import { orNumber, second } from '../fits.ts'
import { allows, days, hours, perDay, perSecond, seconds } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { Envelope, list, listOfPage, notEmpty, ofAnalytics } from './answers.ts'
import { appid, callRange, channel, paging } from './parameters.ts'

/** Answer of the call search. Items are read one by one, so that a bad one does not spoil its page. */
export const CallListAnswer = Envelope.extend({
  /** Some matching calls are not listed, so the search should be narrowed. */
  has_more: z.boolean().nullish(),
  total_size: z.unknown().optional(),
  call_lists: list.nullish(),
}).transform((answer, context) => {
  const call_lists = listOfPage(answer.call_lists, answer) ?? notEmpty(context, 'call_lists')
  return { ...answer, call_lists }
})

export const CallItem = z.looseObject({
  call_id: orNumber(z.string().min(1)),
  cname: orNumber(z.string()).nullish(),
  created_ts: second,
  destroyed_ts: second.nullish(),
  finished: z.boolean().nullish(),
})
export type CallItem = z.infer<typeof CallItem>

export const callSearch = {
  ...ofAnalytics,
  name: 'callSearch',
  summary: 'Searches calls in a range of time, newest first',
  path: '/beta/analytics/call/lists',
  queryParams: {
    ...callRange,
    appid,
    cname: channel.optional().describe('Only calls of this channel'),
    ...paging,
  },
  answer: CallListAnswer,
  items: { call_lists: CallItem },
  limitGroup: 'call-search',
  limits: {
    standard: allows([perSecond(1), perDay(1_000)], days(3), hours(8), seconds(60)),
    premium: allows([perSecond(3), perDay(2_000)], days(7), hours(16), seconds(60)),
    enterprise: allows([perSecond(10), perDay(10_000)], days(15), hours(24), seconds(60)),
  },
} as const satisfies Operation

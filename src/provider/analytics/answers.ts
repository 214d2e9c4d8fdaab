import { z } from 'zod'

/** Whether a class succeeded stands in `code`; 200 is documented and 0 has been seen. */
export const successCodes: readonly number[] = [200, 0]

/** What every answer begins with. */
export const Envelope = z.looseObject({
  code: z.number(),
  message: z.string().nullish(),
  requestId: z.string().nullish(),
})

const total = {
  total_size: z.number().nullish(),
  page_no: z.number().nullish(),
  page_size: z.number().nullish(),
}

/** Answer of the call search. Items are read one by one, so that a bad one does not spoil its page. */
export const CallListAnswer = Envelope.extend({
  ...total,
  /** Some matching calls are not listed, so the search should be narrowed. */
  has_more: z.boolean().nullish(),
  call_lists: z.array(z.unknown()),
})

export const CallSessionsAnswer = Envelope.extend({ ...total, call_info: z.array(z.unknown()) })

export const CallMetricsAnswer = Envelope.extend({ metrics: z.array(z.unknown()) })

/** Answer of the insights and of the real-time endpoints. */
export const SeriesAnswer = Envelope.extend({ data: z.array(z.unknown()) })

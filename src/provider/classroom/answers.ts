import { z } from 'zod'

/** Most items in one batch of recordings, room events or (by default) widget data. */
export const batchSize = 100

/** Fields of every answer. */
export const envelope = { code: z.int(), msg: z.string().nullish(), ts: z.number().nullish() }

/** What every answer has, refusals included: business code, details, server time in ms. */
export const Envelope = z.looseObject(envelope)
export type Envelope = z.infer<typeof Envelope>

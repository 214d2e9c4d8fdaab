import { z } from 'zod'

/** Kinds of notifications that are known from elsewhere; the document shows none. */
export const notificationTypes = { created: 1, destroyed: 3, statusChanged: 4 } as const

/** What the provider tells of a player: may be lost, repeated and late, so it is a hint and never the truth. */
export const Notification = z.looseObject({
  noticeId: z.union([z.string().min(1).max(200), z.number(), z.bigint()]).transform(String),
  productId: z.unknown().optional(),
  eventType: z.int(),
  /** Unix ms. */
  notifyMs: z.number().min(0).max(253_402_300_799_999).nullish(),
  payload: z.looseObject({}).nullish(),
})
export type Notification = z.infer<typeof Notification>

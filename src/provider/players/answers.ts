import { z } from 'zod'
import type { BusinessError } from '../operation.ts'

const id = z.string().min(1)
const user = z.union([z.number(), z.bigint(), z.string()])

/** A player as Create answers it; unknown fields pass. */
const CreatedPlayer = z.looseObject({
  id,
  uid: user.nullish(),
  account: z.string().nullish(),
  /** Unix seconds. */
  createTs: z.number().nullish(),
  status: z.string().nullish(),
})

export const CreateAnswer = z.looseObject({
  player: CreatedPlayer,
  /** Names the fields that the player carries, with commas between. */
  fields: z.string().nullish(),
})
export type CreateAnswer = z.infer<typeof CreateAnswer>

/** An entry of a list. It may hold the ID, the name and the time of creation alone. */
export const PlayerItem = z.looseObject({
  id,
  name: z.string().nullish(),
  streamUrl: z.string().nullish(),
  channelName: z.string().nullish(),
  uid: user.nullish(),
  account: z.string().nullish(),
  /** Unix seconds. */
  createTs: z.int().min(0).max(253_402_300_799).nullish(),
  status: z.string().nullish(),
})
export type PlayerItem = z.infer<typeof PlayerItem>

/**
 * Entries are parsed one by one, so that a bad one does not spoil its page. An answer without the list is another one
 * than the document shows, unless it says that there is nothing to list.
 */
export const ListAnswer = z
  .looseObject({
    totalSize: z.int().min(0).nullish(),
    players: z.array(z.unknown()).nullish(),
    fields: z.string().nullish(),
    /** Empty where no more players follow. */
    nextPageToken: z.string().nullish(),
  })
  .refine(({ players, totalSize }) => players !== undefined || totalSize === 0, {
    path: ['players'],
    error: 'must be there, for the answer may hold something',
  })
export type ListAnswer = z.infer<typeof ListAnswer>

/** The players document's table of errors: whatever is not 2XX failed, and its body has a message. */
export const playerErrors: readonly BusinessError[] = [
  { status: 400, meaning: 'a request parameter is incorrect' },
  { status: 401, meaning: 'the key or the secret is missing or wrong' },
  { status: 403, meaning: 'the project may not do this' },
  { status: 404, meaning: 'there is no such player, or it has been destroyed' },
  { status: 409, meaning: 'there is a player of the same name' },
  { status: 429, meaning: 'too many requests, or too many players' },
  { status: 500, meaning: 'the server failed' },
  { status: 503, meaning: 'the service is not available' },
  { status: 504, meaning: 'no timely answer: list the players to see what was done' },
]

/** How services of this kind say that there are too many players, be it with 429 or with 403. */
const quotaWords = /quota|resources? (?:limit|exceed)/i

/** Whether a refusal, its body as text, says so: no waiting mends it. */
export function isQuotaRefusal(status: number, body: string): boolean {
  return (status === 429 || status === 403) && quotaWords.test(body)
}

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

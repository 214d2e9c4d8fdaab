import { z } from 'zod'

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
export type CreatedPlayer = z.infer<typeof CreatedPlayer>

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

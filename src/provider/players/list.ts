import { z } from 'zod'
import { appId, instant, open } from '../classroom/fields.ts'
import { second, written } from '../fits.ts'
import type { Operation } from '../operation.ts'
import { channelName, id, user } from './create.ts'
import { playerErrors } from './errors.ts'

/** Players on one page: as many as may be asked for. */
export const largestPage = 500

/** A new player may be missing from a list for this long, seconds. */
export const blindSeconds = 10

export const playerStatuses = ['idle', 'connecting', 'running', 'failed'] as const
export type PlayerStatus = (typeof playerStatuses)[number]

/** An entry of a list. It may hold the ID, the name and the time of creation alone. */
export const PlayerItem = z.looseObject({
  id,
  name: open(z.string()),
  streamUrl: open(z.string()),
  channelName: open(z.string()),
  uid: open(user),
  account: open(z.string()),
  /** Unix seconds. */
  createTs: open(second),
  status: open(z.string()),
})
export type PlayerItem = z.infer<typeof PlayerItem>

/**
 * Entries are parsed one by one, so that a bad one does not spoil its page. An answer without the list is another one
 * than the document shows, unless it says that there is nothing to list.
 */
export const ListAnswer = z
  .looseObject({
    totalSize: written(z.int().min(0)).nullish(),
    players: z.array(z.unknown()).nullish(),
    fields: z.unknown().optional(),
    /** Empty where no more players follow. */
    nextPageToken: z.string().nullish(),
  })
  .refine(({ players, totalSize }) => players !== undefined || totalSize === 0, {
    path: ['players'],
    error: 'must be there, for the answer may hold something',
  })
export type ListAnswer = z.infer<typeof ListAnswer>

const filterShape = /^channelName eq (.+)$/s

/** Players in creation order, page by page. */
export const listPlayers = {
  name: 'listPlayers',
  family: 'players',
  summary: 'Lists the players of a project, or those in one channel',
  method: 'GET',
  path: '/v1/projects/{appId}/cloud-player/players',
  pathParams: { appId },
  queryParams: {
    filter: z
      .string()
      .refine(
        text => channelName.safeParse(filterShape.exec(text)?.[1]).success,
        'must be "channelName eq " and the name of a channel',
      )
      .optional()
      .describe('Only players in one channel: "channelName eq NAME"'),
    pageSize: z
      .int('must be an integer')
      .min(1, 'must be 1 or more')
      .max(largestPage, `must not be above ${largestPage}`)
      .optional()
      .describe('Players on one page, 1 to 500; 200 unless told'),
    pageToken: z.string().min(1, 'must not be empty').optional().describe('nextPageToken of the page before'),
  },
  answer: ListAnswer,
  items: { players: PlayerItem },
  errors: playerErrors,
  limitGroup: 'players-list',
} as const satisfies Operation

/** The filter for the players in a channel. */
export function inChannel(channel: string): string {
  return `channelName eq ${channel}`
}

/** Kinds of notifications that are known from elsewhere; the document shows none. */
export const notificationTypes = { created: 1, destroyed: 3, statusChanged: 4 } as const

/** What the provider tells of a player: may be lost, repeated and late, so it is a hint and never the truth. */
export const Notification = z.looseObject({
  noticeId: z.union([z.string().min(1).max(200), z.number(), z.bigint()]).transform(String),
  productId: z.unknown().optional(),
  eventType: written(z.int()),
  /** Unix ms; what can only be seconds is read as such. */
  notifyMs: instant.nullish(),
  payload: z.looseObject({}).nullish(),
})

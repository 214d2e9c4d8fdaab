import { z } from 'zod'
import { appId } from '../classroom/fields.ts'
import type { Operation } from '../operation.ts'
import { ListAnswer, playerErrors } from './answers.ts'
import { channelName } from './create.ts'

/** Players on one page: as many as may be asked for. */
export const largestPage = 500

/** A new player may be missing from a list for this long, seconds. */
export const blindSeconds = 10

export const playerStatuses = ['idle', 'connecting', 'running', 'failed'] as const
export type PlayerStatus = (typeof playerStatuses)[number]

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
  errors: playerErrors,
  limitGroup: 'players-list',
} as const satisfies Operation

/** The filter for the players in a channel. */
export function inChannel(channel: string): string {
  return `channelName eq ${channel}`
}

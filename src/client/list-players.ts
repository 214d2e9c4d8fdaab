import {
  inChannel,
  type ListAnswer,
  largestPage,
  listPlayers,
  PlayerItem,
} from '../provider/players/index.ts'
import { CallError } from './errors.ts'
import type { PlayerPorts } from './ports.ts'

/** More pages than any quota fills; a list that goes on for ever is cut. */
const mostPages = 50

/**
 * All players of the project, or of one channel; undefined where no whole list could be had: a page failed, or there
 * are not as many players on the pages as the list says.
 */
export async function listAll(
  { ask }: Pick<PlayerPorts, 'ask'>,
  channel?: string,
): Promise<readonly PlayerItem[] | undefined> {
  const filter = channel === undefined ? {} : { filter: inChannel(channel) }
  const players = new Map<string, PlayerItem>()
  let pageToken: string | undefined
  for (let page = 1; page <= mostPages; page++) {
    const asked = { ...filter, pageSize: largestPage, ...(pageToken === undefined ? {} : { pageToken }) }
    const answer = await readPage(ask, asked)
    if (!answer) return undefined
    for (const item of answer.players ?? []) {
      const { data } = PlayerItem.safeParse(item)
      if (!data) return undefined
      players.set(data.id, data)
    }
    pageToken = answer.nextPageToken || undefined
    if (pageToken === undefined) {
      const isWhole =
        answer.totalSize === undefined || answer.totalSize === null || answer.totalSize === players.size
      return isWhole ? [...players.values()] : undefined
    }
  }
  return undefined
}

/** A page that cannot be had leaves the question open, whatever the reason. */
async function readPage(ask: PlayerPorts['ask'], asked: object): Promise<ListAnswer | undefined> {
  try {
    return (await ask(listPlayers, asked as Record<string, unknown>)) as ListAnswer
  } catch (error) {
    if (error instanceof CallError) return undefined
    throw error
  }
}

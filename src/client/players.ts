import type { Parameters } from '../provider/operation.ts'
import {
  blindSeconds,
  inChannel,
  type ListAnswer,
  largestPage,
  listPlayers,
  deletePlayer as operation,
  PlayerItem,
} from '../provider/players/index.ts'
import { CallError, formatTrace, isUncertain } from './errors.ts'
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

/** Looks and requests for one player in one go. */
const mostRounds = 5

/** Pause before a look, ms; it grows from round to round. */
const firstPause = 1_000

/** What one request says: it was done, it may have been, or the service knows no such player in this region. */
type Outcome = 'done' | 'open' | 'not found'

/**
 * Destroys a player and sees to it. An answer that leaves the outcome open proves nothing, and neither does 404: the
 * player may run on in another region. Lists tell: while the player is listed it is destroyed again; it is gone when
 * two whole lists miss it that were read so long after the beginning that a player cannot be too new to be listed.
 * Rejects with CallError: `not_found` when it is listed and not known in this region; `unsettled` when nobody knows in
 * the end.
 */
export async function deletePlayer(
  ports: Omit<PlayerPorts, 'intents' | 'random'>,
  app: string,
  given: Parameters,
): Promise<void> {
  const { clock, tell, closing } = ports
  const visible = clock.monotonic() + blindSeconds * 1_000
  let missing = 0
  let isListed: boolean | undefined
  let outcome = await destroy(ports, app, given)
  for (let round = 0; outcome !== 'done' && round < mostRounds; round++) {
    const left = visible - clock.monotonic()
    await clock.sleep(isListed === false ? Math.max(firstPause, left) : firstPause * 2 ** round, closing)
    if (closing.aborted) break
    const isVisible = clock.monotonic() >= visible
    const players = await listAll(ports)
    isListed = players?.some(player => player.id === given.id)
    missing = isListed === false && isVisible ? missing + 1 : 0
    if (missing >= 2) return
    if (isListed && isVisible && outcome === 'not found') throw elsewhere(given)
    if (isListed !== false) outcome = await destroy(ports, app, given)
  }
  if (outcome === 'done') return
  const text = `nobody knows whether player ${String(given.id)} was destroyed: look whether it is listed, or delete it again`
  tell({ app, operation: 'players.deletePlayer', text })
  throw new CallError(operation, { kind: 'unsettled', text })
}

function elsewhere({ id }: Parameters): CallError {
  const text = `player ${String(id)} is listed, but not known in this region: give the region in which it was made`
  return new CallError(operation, { kind: 'not_found', text, status: 404 })
}

async function destroy(
  { ask, tell }: Omit<PlayerPorts, 'intents' | 'random'>,
  app: string,
  given: Parameters,
): Promise<Outcome> {
  try {
    await ask(operation, given)
    return 'done'
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const isUnknown = error.kind === 'not_found'
    if (!isUnknown && !isUncertain(error.kind)) throw error
    const text = `${error.message}${formatTrace(error.trace)}; looking whether player ${String(given.id)} is still listed`
    tell({ app, operation: 'players.deletePlayer', text })
    return isUnknown ? 'not found' : 'open'
  }
}

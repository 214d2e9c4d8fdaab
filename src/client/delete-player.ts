import type { Parameters } from '../provider/operation.ts'
import { blindSeconds, deletePlayer as operation } from '../provider/players/index.ts'
import { CallError, formatTrace, isUncertain } from './errors.ts'
import { listAll } from './list-players.ts'
import type { PlayerPorts } from './ports.ts'

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
  const { clock, tell } = ports
  const visible = clock.monotonic() + blindSeconds * 1_000
  let missing = 0
  let isListed: boolean | undefined
  let outcome = await destroy(ports, app, given)
  for (let round = 0; outcome !== 'done' && round < mostRounds; round++) {
    const left = visible - clock.monotonic()
    await clock.sleep(isListed === false ? Math.max(firstPause, left) : firstPause * 2 ** round)
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

import { blindSeconds, deletePlayer as operation } from '../../provider/players/index.ts'
import type { Given } from '../arguments.ts'
import { CallError, isUncertain } from '../errors.ts'
import { traceInWords } from '../words.ts'
import { listAll } from './listing.ts'
import type { PlayerPorts } from './ports.ts'

/** Looks and requests for one player in one go. */
const mostRounds = 5

/** Pause before a look, ms; it grows from round to round. */
const firstPause = 1_000

/**
 * Destroys a player and sees to it. No player of this ID is as good as one that was destroyed. After an answer that
 * leaves the outcome open, lists tell: while the player is listed it is destroyed again; it is gone when two whole
 * lists miss it, the later of them read so long after the beginning that a player cannot be too new to be listed.
 * Rejects with CallError: `unsettled` when nobody knows in the end.
 */
export async function deletePlayer(
  ports: Omit<PlayerPorts, 'intents' | 'random'>,
  app: string,
  given: Given,
): Promise<void> {
  const { clock, tell } = ports
  const begun = clock.monotonic()
  let missing = 0
  if (await destroy(ports, app, given)) return
  for (let round = 0; round < mostRounds; round++) {
    const visible = begun + blindSeconds * 1_000 - clock.monotonic()
    await clock.sleep(missing > 0 ? Math.max(firstPause, visible) : firstPause * 2 ** round)
    const players = await listAll(ports)
    const isListed = players?.some(player => player.id === given.id)
    missing = isListed === false ? missing + 1 : 0
    if (missing >= 2) return
    if (isListed !== false && (await destroy(ports, app, given))) return
  }
  const text = `nobody knows whether player ${String(given.id)} was destroyed: look whether it is listed, or delete it again`
  tell({ app, operation: 'players.deletePlayer', text })
  throw new CallError(operation, { kind: 'unsettled', text })
}

/** True when it is certain that there is no such player any more. */
async function destroy(
  { ask, tell }: Omit<PlayerPorts, 'intents' | 'random'>,
  app: string,
  given: Given,
): Promise<boolean> {
  try {
    await ask(operation, given)
    return true
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    if (error.kind === 'not_found') return true
    if (!isUncertain(error.kind)) throw error
    const text = `${error.message}${traceInWords(error.trace)}; looking whether player ${String(given.id)} is still listed`
    tell({ app, operation: 'players.deletePlayer', text })
    return false
  }
}

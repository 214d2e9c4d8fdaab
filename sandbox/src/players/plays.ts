import type { Operation } from '../../../src/provider/operation.ts'
import { createPlayer, deletePlayer, listPlayers } from '../../../src/provider/players/index.ts'
import { readCreate } from './create.ts'
import { readDelete } from './delete.ts'
import { readList } from './list.ts'
import type { Action, PlayerContext } from './visit.ts'

export interface Play {
  readonly operation: Operation
  /** Reads what is to be done. Throws PlayerRefusal where the request breaks a rule. */
  readonly read: (context: PlayerContext) => Action
}

export const playerPlays: readonly Play[] = [
  { operation: createPlayer, read: readCreate },
  { operation: deletePlayer, read: readDelete },
  { operation: listPlayers, read: readList },
]

import type { Clock, Random } from '../../clock/clock.ts'
import type { Operation } from '../../provider/operation.ts'
import type { Given } from '../arguments.ts'
import type { Note } from '../ports.ts'
import type { IntentStore } from './intents.ts'

/** What the making and the destroying of players needs of the world. */
export interface PlayerPorts {
  readonly clock: Clock
  readonly random: Random
  readonly intents: IntentStore
  /** Sends one request of the app in its turn. Rejects with CallError. */
  readonly ask: (operation: Operation, given: Given) => Promise<unknown>
  /** The provider's clock as far as it is known, ms since the epoch. */
  readonly providerNow: () => number
  readonly tell: (note: Note) => void
}

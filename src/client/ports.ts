import type { Clock, Random } from '../clock/clock.ts'
import type { Fence } from '../engine/ports.ts'
import type { GroupLimit } from '../engine/settings.ts'
import type { Operation, Parameters } from '../provider/operation.ts'
import type { PlayerQuestion } from '../provider/players/index.ts'
import type { Project } from './arguments.ts'

/** What tells the counters of one operation apart. */
export interface Question extends PlayerQuestion {
  /** Where it is asked, if that was told. */
  readonly region?: string
}

/** The right to debit requests for the shard of an app without being the daemon. */
export interface Fences {
  /** Undefined while the shard changes hands. What was lent is given back at once after its use. */
  readonly acquire: (app: string) => Promise<AcquiredFence | undefined>
}

interface AcquiredFence {
  readonly fence: Fence
  readonly giveBack: () => Promise<void>
}

/** An app as the client needs it. */
export interface ClientApp extends Project {
  /** How the deployment wants an operation asked, and by whose limit. */
  readonly deploy: (operation: Operation, question: Question) => Deployed
}

export type Deployed =
  | {
      /** The operation with the paths, the parameter names and the limit group of the deployment. */
      readonly operation: Operation
      /** Name of a parameter in the deployment. */
      readonly nameOf: (name: string) => string
      readonly limit: GroupLimit
    }
  /** Why the app cannot ask for it, as a clause. */
  | { readonly off: string }

/** What happens on the way to an answer, for whoever watches. */
export interface Note {
  readonly app: string
  readonly operation: string
  /** A sentence for people, with the IDs by which the provider finds the request. */
  readonly text: string
}

/** What the making and the destroying of players needs of the world. */
export interface PlayerPorts {
  readonly clock: Clock
  /** Aborts when the client is closed: from then on nothing is asked, and nobody waits. */
  readonly closing: AbortSignal
  readonly random: Random
  readonly intents: IntentStore
  /** Sends one request of the app in its turn. Rejects with CallError. */
  readonly ask: (operation: Operation, given: Parameters) => Promise<unknown>
  /** The provider's clock as far as it is known, ms since the epoch. */
  readonly providerNow: () => number
  readonly tell: (note: Note) => void
}

/** A player that somebody wants, written down before it is asked for, so that no kill leaves one that nobody knows. */
export interface Intent {
  readonly app: string
  /** Name of the player: unique in the project. */
  readonly name: string
  readonly channel: string
  /** Region in which it is asked for. */
  readonly region: string
  /** Digest of what it is to be like, secrets left out. */
  readonly requestHash: string
}

/** An intent of which nobody knows how it ended. */
export interface OpenIntent {
  readonly requestHash: string
  /** How long ago it was first written down, ms. */
  readonly age: number
  /** How long ago the last attempt was about to be sent, ms. */
  readonly lastAttempt: number
}

/** Every method throws StoreUnavailable when the database cannot be reached. */
export interface IntentStore {
  /** What is open under this name. */
  readonly find: (app: string, name: string) => Promise<OpenIntent | undefined>
  /** Writes one more attempt down, before it is sent. */
  readonly attempt: (intent: Intent) => Promise<void>
  /** The player is there, where it was wanted, whoever else wanted the name meanwhile. */
  readonly done: (intent: Intent, playerId: string) => Promise<void>
  /** It was refused: there is no player of this intent. What is done stays done. */
  readonly failed: (app: string, name: string) => Promise<void>
}

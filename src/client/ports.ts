import type { Fence } from '../engine/ports.ts'
import type { GroupLimit } from '../engine/settings.ts'
import type { Operation } from '../provider/operation.ts'
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

export interface AcquiredFence {
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

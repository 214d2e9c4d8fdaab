import type { AnalyticsTruth } from './analytics/truth.ts'
import type { Arrivals } from './arrivals.ts'
import type { Faults } from './faults.ts'
import type { Settings } from './options.ts'
import type { Notice } from './players/notices.ts'
import type { TruePlayer } from './players/truth.ts'
import type { RoomView } from './room-view.ts'
import type { AppStatus } from './status.ts'
import type { TruthFilter, TruthLine } from './truth.ts'
import type { Universe } from './universe.ts'
import type { ViolationKind } from './violations.ts'

export interface SandboxStatus {
  /** Unix milliseconds of the world. */
  readonly now: number
  readonly speed: number
  readonly paused: boolean
  readonly requests: number
  /**
   * Requests that broke a rule of the documents, injected refusals apart. Rules of limits are counted at arrival
   * and in every reading that the documents allow, whatever the switches make the provider refuse.
   */
  readonly violations: number
  /** The same by rule; a request that broke several is in each. */
  readonly violationsByKind: Readonly<Record<ViolationKind, number>>
  readonly apps: readonly AppStatus[]
}

/** The provider, played. It keeps no timer: its world moves when it is asked. */
export interface Sandbox {
  readonly settings: Settings
  readonly arrivals: Arrivals
  readonly faults: Faults
  readonly universe: Universe
  /**
   * Answers one request; rejects with ConnectionLost where a client would see its connection end. `hangUp`
   * ends the connection of an answer that is under way; without it, the body fails.
   */
  fetch(request: Request, hangUp?: () => void): Promise<Response>
  truth(filter?: TruthFilter): Iterable<TruthLine>
  /** The room that had this roomUuid last, with what was set in it; undefined where there never was one. */
  room(app: string, roomUuid: string): RoomView | undefined
  /** What the call analytics of an app would say in the end. Throws where there is no such app. */
  analytics(app: string): AnalyticsTruth
  /** Every cloud player that an app ever had, in the order of creation. Throws where there is no such app. */
  players(app: string): readonly TruePlayer[]
  /** Every notification about them that was due, sent or lost. Throws where there is no such app. */
  notices(app: string): readonly Notice[]
  status(): SandboxStatus
}

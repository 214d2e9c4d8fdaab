import type { AppOptions, Settings } from '../options.ts'
import type { How } from '../wire.ts'
import type { AppWorld } from '../world.ts'

/** What a request of the cloud players says. */
export interface PlayerRequest {
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly contentType: string | undefined
  /** Undefined where it is empty or no JSON. */
  readonly body: unknown
}

/** A request whose sender is known, in the world of its app. */
export interface PlayerContext {
  readonly request: PlayerRequest
  readonly app: AppOptions
  readonly world: AppWorld
  readonly settings: Settings
  /** Unix milliseconds of the world. */
  readonly now: number
}

/** A success; without a body the answer is empty. */
export interface PlayerAnswer {
  readonly body?: object
  readonly resourceId?: string
}

/** What is to be done, once its rules are kept. Throws PlayerRefusal where the world stands against it. */
export type Action = (how: How) => PlayerAnswer

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
  /** Requests that were sent, or were about to be. */
  readonly attempts: number
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
  readonly done: (app: string, name: string, playerId: string) => Promise<void>
  /** It was refused: there is no player of this intent. What is done stays done. */
  readonly failed: (app: string, name: string) => Promise<void>
}

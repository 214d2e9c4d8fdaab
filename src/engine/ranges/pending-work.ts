import type { Purpose } from '../../planning/shares.ts'

/** One thing that may be asked for now. */
export interface PendingRequest {
  readonly purpose: Purpose
  /** When the oldest of it can no longer be had, by the provider's clock, Unix seconds. */
  readonly expiresAt: number
  /** It ends what was begun: before anything else is, so that little is left half done when a budget is short. */
  readonly completes: boolean
  /** Its last try failed: it is never so urgent that others have to wait. */
  readonly isFailing: boolean
  /** Asks for it, to its end. Never rejects. */
  readonly run: () => Promise<void>
}

/** What one stream can have asked for. */
export interface WorkSource {
  /** Makes its series known. Throws StoreUnavailable. */
  readonly begin: () => Promise<void>
  /** Throws StoreUnavailable. */
  readonly find: () => Promise<PendingWork>
}

export interface PendingWork {
  readonly requests: readonly PendingRequest[]
  /** In how many ms there may be others. */
  readonly again: number
}

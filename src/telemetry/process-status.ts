import type { StreamLabels } from '../engine/ports.ts'
import type { FailureKind } from '../provider/errors.ts'
import type { Family } from '../provider/operation.ts'

/** What one process saw by itself. All times UTC, ISO 8601. */
export interface ProcessStatus {
  /** As in the database's list of owners. */
  readonly owner: string
  readonly startedAt: string
  readonly isDraining: boolean
  /** Apps that it owns. */
  readonly apps: readonly string[]
  /** Losses that the configuration accepts. */
  readonly acceptedLosses: readonly StreamLabels[]
  /** Since when pages find no room on the disk of the database; null while they do. */
  readonly databaseFullSince: string | null
  readonly providers: readonly ProviderStatus[]
  readonly reading: readonly StreamReading[]
  readonly budgets: readonly BudgetStatus[]
  readonly lossAhead: readonly { readonly app: string; readonly group: string; readonly share: number }[]
}

/** One of the three services, as an app meets it. */
export interface ProviderStatus {
  readonly app: string
  readonly family: Family
  readonly answeredAt: string | null
  /** Since when every request failed, when the last one did, how, and since when in this way; null while it answers. */
  readonly failing: {
    readonly since: string
    readonly last: string
    readonly kind: FailureKind
    readonly kindSince: string
  } | null
  /** What it refuses of late for a limit, each kind since its first refusal; absent where there is none. */
  readonly refusals?: readonly RefusalStatus[]
}

interface RefusalStatus {
  readonly kind: FailureKind
  readonly since: string
  readonly last: string
  readonly requests: number
}

/** How the reading of a stream of an app goes. */
export interface StreamReading extends StreamLabels {
  /** How late the latest sync is that is due. */
  readonly lateSeconds: number
  readonly readAt: string | null
  /** Since when each of its pages failed, when the last one did, and why; null while pages come. */
  readonly failing: { readonly since: string; readonly last: string; readonly reason: string } | null
  readonly backlogSeconds: number
  /**
   * When the oldest of the backlog can no longer be had, since when it has been the oldest, and for how many seconds it may
   * wait for its turn.
   */
  readonly oldest: { readonly expiresAt: string; readonly since: string; readonly turnSeconds: number } | null
}

/** Of a limit group with a limit for a day, the credential that is worst off. */
export interface BudgetStatus {
  readonly group: string
  readonly usedRatio: number
  /** How many times as fast as evenly over the day it was spent of late. */
  readonly pace: number
}

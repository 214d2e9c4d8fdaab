import type { FailureKind } from '../../provider/errors.ts'
import type { Family } from '../../provider/operation.ts'
import type { QualityValue } from '../../streams/page.ts'
import type { StreamName } from '../../streams/stream.ts'
import type { Timing } from './wire.ts'

/** Which stream, of which app. */
export interface StreamLabels {
  readonly app: string
  readonly stream: StreamName
}

/** What of a stream waits to be read. */
export interface BacklogReading {
  readonly seconds: number
  /** In how many ms the oldest of it can no longer be had; null when there is none. */
  readonly expiresIn: number | null
  /** For how many seconds the oldest may wait: in as many each series has its turn at an even pace; some wait longer on purpose. */
  readonly turn?: number
  /** When the oldest of it was read last, on the monotonic clock, ms: what goes on is read again and again before it is final. */
  readonly oldestReadAt?: number
}

/** The engine measures every stream alike; streams declare no metrics. */
export interface Meter {
  readonly request: (
    app: string,
    family: Family,
    operation: string,
    outcome: 'ok' | FailureKind,
    timing: Timing,
  ) => void
  readonly page: (labels: StreamLabels, outcome: PageOutcome) => void
  readonly rows: (stored: Readonly<Record<string, number>>) => void
  readonly commit: (elapsedMs: number) => void
  readonly deadLetters: (labels: StreamLabels, reason: string, count: number) => void
  /** Values that nobody asked for. */
  readonly ignored: (labels: StreamLabels, count: number) => void
  readonly divergences: (labels: StreamLabels, count: number) => void
  readonly limitViolation: (operation: string, kind: FailureKind) => void
  readonly debit: (group: string) => void
  /** Series that are due and how late the latest of them is, in ms. */
  readonly schedule: (
    labels: StreamLabels,
    state: { readonly series: number; readonly lateBy: number },
  ) => void
  readonly owned: (shards: number) => void
  /** For so long no shard could be renewed that others may take them; by SQLSTATE, where the database says why. */
  readonly unrenewed: (fault: { readonly code?: string | undefined }) => void
  /** The database could not be reached, or took no rows. */
  readonly storeFailed: (fault: { readonly code: string | undefined }) => void
  /** This process drains the app no more, or begins with it anew. */
  readonly left: (app: string) => void
  readonly backlog: (labels: StreamLabels, state: BacklogReading) => void
  /** How the longest window of a limit group is spent, by whoever shares the budget. */
  readonly budget: (scope: string, group: string, reading: BudgetReading) => void
  /** Share of the details of an app's calls that cannot be had before they expire, as it goes now. */
  readonly lossAhead: (app: string, group: string, share: number) => void
  /** Final real-time values that were just read. */
  readonly quality: (app: string, rows: readonly QualityValue[]) => void
  /** How far the database's clock is from what this process saw pass, ms; 0 while it is believed. */
  readonly clockDoubt: (ms: number) => void
}

export interface BudgetReading {
  /** Share of the window's requests that count, 0 to 1. */
  readonly used: number
  /** How many times as fast as evenly over the window requests were spent of late. */
  readonly pace: number
  /** How long that is, ms. */
  readonly over: number
}

export type PageOutcome =
  | 'committed'
  | 'empty'
  | 'stale'
  | 'fenced'
  | 'unverified'
  | 'looped'
  | 'gone'
  | FailureKind
  | 'store_unavailable'
  | 'store_blocked'

/** A static message; everything that varies is in the fields. */
export interface Log {
  readonly debug: (message: string, fields?: object) => void
  readonly info: (message: string, fields?: object) => void
  readonly warn: (message: string, fields?: object) => void
  readonly error: (message: string, fields?: object) => void
}

export type { QualityValue }

import type { Failure, FailureKind } from '../provider/errors.ts'
import type { Rate } from '../provider/limits.ts'
import type { Family, RequestLine } from '../provider/operation.ts'
import type { Json } from '../rows/json.ts'
import type { RowSet } from '../rows/rows.ts'
import type { Hole, Reject, RoomScope, StreamName } from '../streams/stream.ts'

/**
 * What the engine needs of the world, as interfaces. Postgres, HTTP and telemetry implement them; tests and the
 * simulation put decorators around them.
 */
export interface Ports {
  readonly store: Store
  readonly ledger: Ledger
  readonly ownership: Ownership
  readonly transport: Transport
  readonly meter: Meter
  readonly log: Log
}

/* ---------------------------------------------------------------- the provider, over the wire */

export interface Transport {
  /**
   * Sends one request, once, and never throws for anything the provider or the network does. Follows no
   * redirect, retries nothing, caps the body, and ends by its total deadline.
   */
  readonly send: (app: string, request: RequestLine, signal?: AbortSignal) => Promise<Reply>
}

export type Reply =
  | { readonly ok: true; readonly answer: Answer; readonly timing: Timing }
  | { readonly ok: false; readonly failure: Failure; readonly timing: Timing }

export interface Answer {
  /** The parsed body, checked against the operation's shape. Integers above 2^53 are bigint. */
  readonly body: unknown
  readonly status: number
  /** The provider's clock when it answered, ms since the epoch, where the answer has one. */
  readonly answeredAt: number | undefined
  /** The body as it came, for a dead letter. */
  readonly bytes: Uint8Array
}

export interface Timing {
  /** Our wall clock when the answer was complete or given up, ms since the epoch. */
  readonly receivedAt: number
  /** From the first byte sent to the last byte read, ms on the monotonic clock. */
  readonly elapsed: number
}

/* ---------------------------------------------------------------- the store */

/** Proof of the right to write: checked in the same statement as every commit and every debit. */
export interface Fence {
  readonly shard: number
  readonly owner: string
  readonly epoch: number
}

export interface Progress {
  /** Raised by every commit; a commit with another version than the stored one writes nothing. */
  readonly version: number
  readonly cursor: string | null
  readonly carry: Json
  /** The roomUuid certainly still means the room that the rows belong to; of a series without a room, false. */
  readonly certain: boolean
}

/** A series as the schedule needs it. */
export interface OpenSeries {
  readonly series: string
  readonly updatedAt: number | null
  /** When the room ended, as far as known; ms since the epoch. */
  readonly endedAt: number | null
  /** When the room last showed life. */
  readonly lastEventAt: number | null
}

export interface PageCommit {
  readonly app: string
  readonly stream: StreamName
  readonly series: string
  readonly fence: Fence
  /** Version that was read; the commit is void if it is no longer the stored one. */
  readonly version: number
  readonly cursor: string | null
  readonly carry: Json
  /** The log or list was read to its end. */
  readonly caughtUp: boolean
  readonly source: 'feed' | 'log' | 'list'
  readonly room: RoomScope
  readonly rows: RowSet
  readonly rejects: readonly Reject[]
  readonly holes?: readonly Hole[]
  /** Debit that this page settles, where the operation is debited durably. */
  readonly settles?: Grant
}

export type CommitResult =
  | {
      readonly outcome: 'committed'
      readonly version: number
      readonly stored: Readonly<Record<string, number>>
      readonly diverged: number
      /** Dead letters that were new, by reason. */
      readonly setAside: Readonly<Record<string, number>>
    }
  /** Someone else moved this series first, or the outcome of an earlier commit was not known: read progress again. */
  | { readonly outcome: 'stale' }
  /** The shard belongs to another owner now: stop at once. */
  | { readonly outcome: 'fenced' }
  /** The room has not been seen alive for longer than the provider remembers: its log must be probed first. */
  | { readonly outcome: 'unverified' }

/** Postgres refused what a page holds; `code` is the SQLSTATE. Nothing was written. */
export class RefusedRows extends Error {
  override readonly name = 'RefusedRows'
  readonly code: string
  constructor(code: string) {
    super(`the database refused a row (SQLSTATE ${code})`)
    this.code = code
  }
}

/** The database cannot be reached or cannot write now; `code` is the SQLSTATE where there is one. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  readonly code: string | undefined
  constructor(code: string | undefined, cause?: unknown) {
    super(`the database is not available${code ? ` (SQLSTATE ${code})` : ''}`, { cause })
    this.code = code
  }
}

/** Every method throws StoreUnavailable when the database cannot be reached. */
export interface Store {
  readonly openSeries: (app: string, stream: StreamName) => Promise<readonly OpenSeries[]>
  /** Makes the rooms known, for every stream that follows rooms; rooms that are known stay as they are. */
  readonly discoverRooms: (fence: Fence, app: string, rooms: readonly string[]) => Promise<void>
  /** Makes one series known, where it is not yet. */
  readonly follow: (fence: Fence, app: string, stream: StreamName, series: string) => Promise<void>
  /** Reads where a series stands; undefined for one that nobody has made known. */
  readonly progress: (app: string, stream: StreamName, series: string) => Promise<Progress | undefined>
  /** Writes one page in one statement. Throws RefusedRows when Postgres refuses a value. */
  readonly commit: (page: PageCommit) => Promise<CommitResult>
  /** Tries the same statement and rolls it back: true when Postgres would take it. */
  readonly rehearse: (page: PageCommit) => Promise<boolean>
  /** Keeps bytes that could not be used as a page; the same letter again only raises a count. */
  readonly setAside: (letter: DeadLetter) => Promise<'new' | 'again'>
  /** The series needs no more visits until a hint comes. */
  readonly closeSeries: (fence: Fence, app: string, stream: StreamName, series: string) => Promise<void>
  /** The provider no longer knows the room: its log is final, and what is missing in it is lost. */
  readonly forgetRoom: (fence: Fence, app: string, room: string) => Promise<void>
  /**
   * Answers of the app's feed that were debited and never committed, and a pause longer than the provider
   * remembers, become rows of the gap ledger. Answers how many rows are new or have grown.
   */
  readonly recordUnread: (fence: Fence, app: string) => Promise<number>
  /** Closes the gaps of the app's feed once every room has been read to its end since; answers how many stay open. */
  readonly settleFeedGaps: (fence: Fence, app: string) => Promise<number>
  readonly housekeeping: () => Promise<void>
  readonly figures: () => Promise<StoreFigures>
}

export interface DeadLetter {
  readonly app: string
  readonly stream: StreamName
  readonly series: string
  readonly reason: FailureKind
  /** One sentence on what was wrong; no values. */
  readonly detail: string
  readonly body: Uint8Array
  /** What counts as the same letter: pages differ by their bytes; refusals say the same in ever other bytes. */
  readonly alike: 'by body' | 'by detail'
}

/** What the gauges need that only the database knows. */
export interface StoreFigures {
  readonly gaps: readonly {
    readonly app: string
    readonly stream: string
    readonly state: string
    readonly count: number
  }[]
  readonly rooms: readonly { readonly app: string; readonly state: string; readonly count: number }[]
}

/* ---------------------------------------------------------------- the budget */

export interface Debit {
  readonly scope: string
  readonly group: string
  readonly app: string
  readonly operation: string
  readonly fence: Fence
  readonly rates: readonly Rate[]
  /** The request's total deadline plus ten seconds, ms: how long an unsettled debit may still reach the provider. */
  readonly reach: number
}

export interface Grant {
  readonly scope: string
  readonly group: string
  /** Number of the debit, without gaps within (scope, group). */
  readonly n: number
}

export type TakeResult =
  | { readonly granted: true; readonly grant: Grant }
  /** `wait` in ms. */
  | { readonly granted: false; readonly wait: number }
  | { readonly granted: 'fenced' }

export interface Ledger {
  /** Debits one request durably, or says how long to wait. Throws StoreUnavailable. */
  readonly take: (debit: Debit) => Promise<TakeResult>
  /**
   * The answer has arrived, or will never come, without a page to commit: the slot frees one window from now.
   * `refused`: the provider did nothing; `unread`: it may have handed out events that nobody can store.
   */
  readonly settle: (grant: Grant, outcome: 'refused' | 'unread') => Promise<void>
}

export interface Ownership {
  /** Takes every shard that is free or whose owner is dead, renews what is held, and answers all that is held. */
  readonly claim: () => Promise<readonly Fence[]>
  /** Gives everything back, so that another process may begin at once. */
  readonly release: () => Promise<void>
}

/* ---------------------------------------------------------------- telemetry */

export interface StreamLabels {
  readonly app: string
  readonly stream: StreamName
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
  readonly divergences: (labels: StreamLabels, count: number) => void
  readonly refusal: (app: string, operation: string, kind: FailureKind) => void
  readonly debit: (app: string, group: string) => void
  /** Series that are due and how late the latest of them is, in ms. */
  readonly schedule: (
    labels: StreamLabels,
    state: { readonly series: number; readonly lateBy: number },
  ) => void
  readonly owned: (shards: number) => void
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

/** A static message; everything that varies is in the fields. */
export interface Log {
  readonly debug: (message: string, fields?: object) => void
  readonly info: (message: string, fields?: object) => void
  readonly warn: (message: string, fields?: object) => void
  readonly error: (message: string, fields?: object) => void
}

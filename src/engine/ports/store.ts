import type { WeekHours } from '../../planning/cadence.ts'
import type { FailureKind } from '../../provider/errors.ts'
import type { PageResult, Reject } from '../../streams/page.ts'
import type { StreamName } from '../../streams/stream.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Json } from '../../tables/json.ts'
import type { Fence, Grant } from './ledger.ts'
import type { GapStatus } from './status.ts'
import type { StreamLabels } from './telemetry.ts'

export type CommitResult =
  | {
      readonly outcome: 'committed'
      readonly version: number
      readonly stored: Readonly<Record<string, number>>
      readonly diverged: number
      /** Dead letters that were new, by reason. */
      readonly deadLetters: Readonly<Record<string, number>>
    }
  /** Someone else moved this series first, or the outcome of an earlier commit was not known: read progress again. */
  | { readonly outcome: 'stale' }
  /** The shard belongs to another owner now: stop at once. */
  | { readonly outcome: 'fenced' }
  /**
   * The room has not been seen alive for longer than the provider remembers, or the page may be of the next room of its
   * name: the log must be probed first. `diverged`: what contradicts what is stored, if that is why.
   */
  | { readonly outcome: 'unverified'; readonly diverged?: number }

export interface Progress {
  /** Raised by every commit; a commit with another version than the stored one writes nothing. */
  readonly version: number
  readonly cursor: string | null
  readonly streamState: Json
  /** The roomUuid certainly still means the room that the rows belong to; of a series without a room, false. */
  readonly certain: boolean
  /** Someone wants the series read again from its beginning; the next commit takes that away. */
  readonly wanted?: boolean
  /** The state of the room, where any was told; undefined of a series without a room. */
  readonly life?: RoomLife | undefined
}

/** Whether a class goes on, by the last change of state that is known. */
export interface RoomLife {
  /** Of the roomUuid; 0 where it is not known. */
  readonly incarnation: number
  readonly sequence: number | bigint
  /** When the class ended, ms since the epoch; undefined while it goes on. */
  readonly endedAt: number | undefined
}

/** A series as the schedule needs it. */
export interface OpenSeries {
  readonly series: string
  readonly life: RoomLife | undefined
  /** When the room last showed life. */
  readonly lastEventAt: number | null
  /** Where the room was found, if anywhere. */
  readonly region?: string | null
  /**
   * How long ago, ms, all that is beside its log was read to its end, where that was after the last sign of life; null also where
   * the class has ended or its recordings lack something.
   */
  readonly besideReadAgo?: number | null
}

/** What every page brings into the store. */
export interface Commit {
  readonly app: string
  readonly fence: Fence
  readonly rows: RowSet
  readonly rejects: readonly Reject[]
  /** Debit that this page settles, where the operation is debited durably. */
  readonly settles?: Grant
}

export interface PageCommit extends Commit, Pick<PageResult, 'streamState' | 'room' | 'holes'> {
  /** Where it was asked for; the app's own unless told. */
  readonly region?: string
  readonly stream: StreamName
  readonly series: string
  /** Version that was read; the commit is void if it is no longer the stored one. */
  readonly version: number
  readonly cursor: string | null
  /** The log or list was read to its end. */
  readonly caughtUp: boolean
  /**
   * How long ago it was asked for by the earlier of the two clocks, ms: what came since is not in it, however long it waited to
   * be stored. Told of what is of a room beside its log.
   */
  readonly age?: () => number
  readonly source: 'feed' | 'log' | 'list'
  /** The page proves nothing of its room, not even that it is still there. */
  readonly isUndecided?: true
}

/** Postgres refused what a page holds; `code` is the SQLSTATE, `statement` the name of what failed. Nothing was written. */
export class RefusedRows extends Error {
  override readonly name = 'RefusedRows'
  readonly code: string
  readonly statement: string | undefined
  constructor(code: string, statement?: string) {
    super(`the database refused a row (SQLSTATE ${code})`)
    this.code = code
    this.statement = statement
  }
}

/** The limit that ran out: one of the server by its setting's name, or the driver's for a connection or an answer. */
export type TimeLimit =
  | 'statement_timeout'
  | 'lock_timeout'
  | 'idle_in_transaction_session_timeout'
  | 'connection'
  | 'query'

/** Why the database was not available, as the log tells it: never a value of a row. */
export interface StoreFault {
  /** SQLSTATE, or the driver's word for what became of the connection (ECONNRESET). */
  readonly code: string | undefined
  readonly statement: string | undefined
  readonly timeout: TimeLimit | undefined
}

/** SQLSTATEs of a statement that stood in another's way: serialization, deadlock, lock time-out, cancelled. */
const met: ReadonlySet<string | undefined> = new Set(['40001', '40P01', '55P03', '57014'])

/** Of one that the database has too little room for: memory, locks, or what it may put on its disk for it. */
const withoutRoom: ReadonlySet<string | undefined> = new Set(['53200', '53400'])

/** The database cannot be reached or cannot write now. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
  readonly fault: StoreFault
  constructor(code: string | undefined, more: Partial<StoreFault> = {}) {
    super(`the database is not available${code ? ` (${code})` : ''}`)
    this.fault = { statement: undefined, timeout: undefined, ...more, code }
  }

  get code(): string | undefined {
    return this.fault.code
  }

  /** One statement alone could not be done, which says nothing of the others. */
  get isContention(): boolean {
    return met.has(this.code) || this.isWithoutRoom
  }

  /** It is no other statement that it stands back for. */
  get isWithoutRoom(): boolean {
    return withoutRoom.has(this.code)
  }
}

/** The series that follow a cursor, and what concerns every stream. */
export interface SeriesStore {
  /** `beside`: what else is of a room, where it is a log of rooms. */
  readonly openSeries: (
    app: string,
    stream: StreamName,
    beside?: readonly StreamName[],
  ) => Promise<readonly OpenSeries[]>
  /** Sets down what SQL must know of the app: its days, and the streams that are on; what is complete is not judged by others. */
  readonly noteApp: (fence: Fence, app: string, facts: AppFacts) => Promise<void>
  /** Rooms of any app that someone wants read again from their beginning. */
  readonly wantedRooms: () => Promise<readonly WantedRoom[]>
  /** Of each app the hours of the week in which there were classes within the last four weeks. */
  readonly busyHours: (apps: readonly string[]) => Promise<ReadonlyMap<string, WeekHours>>
  /** Makes the rooms known, for every stream that follows rooms, and has those followed again that were closed. */
  readonly discoverRooms: (fence: Fence, app: string, rooms: readonly string[]) => Promise<void>
  /** The same for one series. */
  readonly follow: (fence: Fence, app: string, stream: StreamName, series: string) => Promise<void>
  /** Reads where a series stands; undefined for one that nobody has made known. */
  readonly progress: (app: string, stream: StreamName, series: string) => Promise<Progress | undefined>
  /** Writes one page in one statement. Throws RefusedRows when Postgres refuses a value. */
  readonly commit: (page: PageCommit) => Promise<CommitResult>
  /** Keeps bytes that could not be used as a page; the same letter again only raises a count. */
  readonly deadLetter: (letter: DeadLetter) => Promise<'new' | 'again'>
  /** The series needs no more syncs until a hint comes. */
  readonly closeSeries: (fence: Fence, app: string, stream: StreamName, series: string) => Promise<void>
  /** The provider no longer knows the room: what is missing in its log is lost, and what nobody read of its streams. */
  readonly forgetRoom: (fence: Fence, app: string, room: string) => Promise<void>
  /**
   * The log of a room answers and cannot be read: it shows that the room is there, and not whose it is. Answers whether
   * its other streams may be stored all the same: where the log was never read, or was read lately.
   */
  readonly vouchFor: (fence: Fence, app: string, room: string, region?: string) => Promise<boolean>
  /**
   * Answers of a feed of the app that were debited and never committed, and a pause longer than the provider
   * remembers, become rows of the gap ledger. Answers how many rows are new or have grown.
   */
  readonly recordUnread: (fence: Fence, app: string, series: string) => Promise<number>
  /** Closes the gaps of the app's feeds once every room has been read to its end since; answers how many stay open. */
  readonly settleFeedGaps: (fence: Fence, app: string) => Promise<number>
  /** Makes room for the rows to come, before the first of them. What is left of it is done by the housekeeping. */
  readonly prepare: () => Promise<void>
  /**
   * Makes room, and takes away what is too old by the time that the providers confirm, ms since the epoch; `in doubt`:
   * nothing was taken away, because they confirm none yet, or one long before that of the database's clock. Sums up the
   * calls that are too large for a commit; what is left when `signal` aborts is done by the next run.
   */
  readonly housekeeping: (confirmed: number | undefined, signal?: AbortSignal) => Promise<'done' | 'in doubt'>
}

export interface WantedRoom {
  readonly app: string
  readonly room: string
  /** Where the room was found last, if anywhere. */
  readonly region: string | null
  /** Those that have not read it from its beginning yet, also where they are off. */
  readonly streams: readonly StreamName[]
}

export interface AppFacts {
  /** Of its days, by its name in the IANA database. */
  readonly timeZone: string
  /** How a user of a classroom is found in its calls: `stream`, `off`, or the user ID with {uid} in it. */
  readonly userLink: string
  readonly on: readonly StreamName[]
  readonly off: readonly StreamName[]
}

export interface DeadLetter extends StreamLabels {
  readonly series: string
  readonly reason: FailureKind
  /** One sentence on what was wrong; no values. */
  readonly detail: string
  readonly body: Uint8Array
  /** What counts as the same letter: pages differ by their bytes; refusals say the same in ever other bytes. */
  readonly alike: 'by body' | 'by detail'
}

/** What the gauges need that only the database knows. */
export interface StoreGauges {
  readonly gaps: readonly Pick<GapStatus, 'app' | 'stream' | 'state' | 'gaps'>[]
  /** Gaps that were given up, or have grown since, within the last hour and the last day. */
  readonly losses?: readonly { readonly stream: string; readonly hour: number; readonly day: number }[]
  readonly rooms: readonly { readonly app: string; readonly state: string; readonly count: number }[]
  /** Players that live, by their status. */
  readonly players?: readonly { readonly app: string; readonly status: string; readonly count: number }[]
  /** Of every app whose players are listed: how many play where no class or call goes on. */
  readonly orphans?: readonly { readonly app: string; readonly count: number }[]
  /** Rows that wait for a partition of their own. */
  readonly leftBehind?: readonly { readonly table: string; readonly rows: number }[]
}

/** What the provider told of a player, as it is kept: a hint that something changed, never the truth. */
export interface PlayerNotice {
  readonly app: string
  /** The provider's ID; the same one comes again when an answer was slow. */
  readonly noticeId: string
  readonly eventType: number
  readonly playerId: string | null
  /** ms since the epoch, as the provider says. */
  readonly notifiedAt: number | null
  /** Without its secrets. */
  readonly payload: Json
}

/** A notification as it arrived. */
export interface Delivery {
  /** App that the address names with ?app=. */
  readonly app: string | undefined
  readonly header: (name: string) => string | undefined
  readonly body: Uint8Array
}

export interface NotificationStore {
  /** Keeps a notice once. Throws RefusedRows when Postgres refuses a value, StoreUnavailable when it is away. */
  readonly keep: (notice: PlayerNotice) => Promise<'stored' | 'repeated'>
}

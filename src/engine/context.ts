import type { Clock, Turns } from '../clock/clock.ts'
import type { WeekHours } from '../planning/cadence.ts'
import type { Purpose } from '../planning/shares.ts'
import type { RequestLine } from '../provider/operation.ts'
import type { WindowResult } from '../streams/page.ts'
import type { StreamName } from '../streams/stream.ts'
import type { Admission } from './admission/admission.ts'
import type { StoreHealth } from './health.ts'
import type { Answer, Arrived, CommitResult, Fence, Grant, Log, Meter, Store, Timing } from './ports.ts'
import type { AppSettings, EngineSettings } from './settings.ts'
import type { CommonMoments } from './waiting.ts'

/** What reading one page of any stream needs. */
export interface PageContext {
  readonly app: AppSettings
  readonly settings: EngineSettings
  readonly fence: Fence
  readonly purpose: Purpose
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly random: { readonly next: () => number }
  readonly admission: Pick<Admission, 'send' | 'discard' | 'heldFor' | 'triesIn'>
  readonly store: Store
  readonly health: Pick<StoreHealth, 'failed'>
  readonly meter: Meter
  readonly log: Log
}

/** What keeping an app's data drained needs. */
export interface AppContext extends Omit<PageContext, 'purpose' | 'fence' | 'health'> {
  readonly fence: () => Fence
  readonly health: StoreHealth
  /** The shard belongs to another process now. */
  readonly onFenced: () => void
  /** Apps begin in turns: else the first page of ten thousand would wait until the last of them is known. */
  readonly beginnings?: Turns
  /** Feeds in which nothing happens are asked together with those of other apps. */
  readonly commonMoments?: CommonMoments
  /** When events of the app are to be expected, where that is known. */
  readonly busyHours?: () => WeekHours | undefined
}

/** What a page of one kind of stream does on each step of its way. */
export interface Task<P extends PageItems, H extends TaskResult> {
  readonly stream: StreamName
  readonly plan: () => Plan
  readonly parse: (answer: Answer, timing: Timing) => P
  readonly toRows: (page: P) => H
  /** Writes the page in one statement. Throws RefusedRows when Postgres refuses a value. */
  readonly commit: (page: P, pageResult: H, grant: Grant | undefined) => Promise<CommitResult>
  /** Stands where an item was that Postgres refuses, so that the others keep their places: no rows are made of it. */
  readonly standIn?: (item: unknown) => unknown
  /** What a page tells by the items that are stored alone; all else stands as the whole page told it. */
  readonly toldByStored?: (kept: H) => Partial<H>
  /** Tries the same statement and rolls it back. */
  readonly dryRun: (page: P, pageResult: H, grant: Grant | undefined) => Promise<boolean>
}

export interface Plan {
  readonly request: RequestLine
  /** Whose question it is: a room, a series of ranges, a call. */
  readonly series: string
  /** For how many ms it may wait to be sent: later it might ask for what is no longer so. */
  readonly life: number
  /** Whoever planned it waits where a budget is used up for longer than that, and plans anew then. */
  readonly isPlannedAgain?: boolean
  /** Whether something was learned while it waits by which it must be planned anew. */
  readonly isOutdated?: () => boolean
  /** What must be done before an answer of so many bytes is read. */
  readonly arrived?: Arrived
}

export interface PageItems {
  readonly items: readonly unknown[]
}

/** What every stream makes of a page, whichever kind it is of. */
export type TaskResult = Pick<WindowResult, 'rows' | 'rejects' | 'ignored' | 'quality'> &
  Partial<Pick<WindowResult, 'work'>>

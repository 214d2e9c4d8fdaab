import type { Coverage } from '../../planning/coverage.ts'
import type { LiveChannel } from '../../planning/live-channels.ts'
import type { Range, Ranges } from '../../planning/ranges.ts'
import type { WorkItem } from '../../streams/page.ts'
import type { StreamName } from '../../streams/stream.ts'
import type { Json } from '../../tables/json.ts'
import type { Fence } from './ledger.ts'
import type { Commit, CommitResult, PageCommit } from './store.ts'

/** Progress over ranges of time, and the work queue. Every method throws StoreUnavailable. */
export interface RangeStore {
  /**
   * How far each series of a window stream has come that is asked for. Where only what begins at `since` or later, Unix
   * seconds, can be asked for, what is settled before it is all told as lost, and nothing else of that time is told.
   */
  readonly windows: (app: string, stream: StreamName, since?: number) => Promise<readonly WindowProgress[]>
  /**
   * Makes series of a window stream known; those that are known stay as they are. `backlogFrom` in Unix seconds. `step`:
   * how many seconds one value stands for, where one is promised for each. `passing`: they have no backlog before
   * `backlogFrom`, nor between the time when they were left and now.
   */
  readonly beginWindows: (
    fence: Fence,
    app: string,
    stream: StreamName,
    series: readonly string[],
    backlogFrom: number,
    step?: number,
    passing?: boolean,
  ) => Promise<void>
  /**
   * Nobody asks for a series of a window stream any more. What was not read of a passing one was not asked for; what
   * was, and never served, becomes rows of the gap ledger.
   */
  readonly leaveWindows: (fence: Fence, app: string, stream: StreamName, series: string) => Promise<void>
  /** Channels in which a room or call goes on, or went on since a moment (Unix seconds): the newest first. */
  readonly liveChannels: (app: string, since: number) => Promise<readonly LiveChannel[]>
  readonly commitWindow: (page: WindowCommit) => Promise<CommitResult>
  /**
   * The backlog of a series before `lowerBound` (Unix seconds) has expired: it becomes rows of the gap
   * ledger. Answers how many there are of what is lost, and of what the provider was asked for and never served.
   */
  readonly expireWindows: (
    fence: Fence,
    app: string,
    stream: StreamName,
    series: string,
    lowerBound: number,
  ) => Promise<{ readonly lost: number; readonly absent: number }>
  /** Items that may be fetched now, the oldest in front, which expire first, or the newest. */
  readonly items: (
    app: string,
    stream: StreamName,
    bounds: ItemBounds,
    limit: number,
    first?: 'oldest' | 'newest',
  ) => Promise<readonly OpenItem[]>
  /** What the calls that began since a moment, Unix seconds, ask for their details, and the backlog of all. */
  readonly substreamDemand: (app: string, since: number) => Promise<SubstreamDemand>
  /**
   * In how many ms the first of the items may be fetched that had to wait `ago` ms before now: for another try, or until
   * the provider serves it. 0 where one came due since, null where none had to.
   */
  readonly itemDueIn: (
    app: string,
    stream: StreamName,
    bounds: ItemBounds,
    ago: number,
  ) => Promise<number | null>
  /** All items that are pending, also those that must wait: the seconds that they ask for, and the begin of the oldest. */
  readonly backlogItems: (app: string, stream: StreamName) => Promise<BacklogItems>
  readonly commitItem: (page: ItemCommit) => Promise<CommitResult>
  /** Tries the statement of any page and rolls it back: true when Postgres would take it. */
  readonly dryRun: (page: PageCommit | WindowCommit | ItemCommit) => Promise<boolean>
  /** The item is not tried again for `wait` ms. `loss`: what it is lost as, should it expire before it is fetched. */
  readonly deferItem: (
    fence: Fence,
    app: string,
    item: OpenItem,
    wait: number,
    loss?: ItemLoss,
  ) => Promise<void>
  /** A large answer to the item is about to be read: whoever finds the item like that later knows how the reader fared. */
  readonly takeItemInHand: (fence: Fence, app: string, item: OpenItem) => Promise<void>
  /** Puts smaller items in the place of one. */
  readonly splitItem: (fence: Fence, app: string, item: OpenItem, into: readonly WorkItem[]) => Promise<void>
  /** Gives an item up: a row of the gap ledger. */
  readonly loseItem: (fence: Fence, app: string, item: OpenItem, reason: ItemLoss) => Promise<void>
  /** Calls, the oldest in front, of which items are pending that begin before `lowerBound`, Unix seconds. */
  readonly expiringCalls: (
    app: string,
    stream: StreamName,
    lowerBound: number,
    except: readonly string[],
    most: number,
  ) => Promise<readonly string[]>
  /** Gives such items of these calls up; answers how many. */
  readonly expireItems: (
    fence: Fence,
    app: string,
    stream: StreamName,
    lowerBound: number,
    calls: readonly string[],
  ) => Promise<number>
}

export type { LiveChannel }

/** In seconds; `oldest` is a Unix time, null when there is no backlog. */
export interface BacklogItems {
  readonly seconds: number
  readonly oldest: number | null
}

/** What the details of calls ask of a budget. */
export interface SubstreamDemand {
  /** Calls that began in the time that was asked about. */
  readonly calls: number
  /**
   * What the newest of them cost on average: slices of a call, and requests for the sessions and for the metrics of a
   * slice; undefined where none has been read.
   */
  readonly cost: { readonly slices: number; readonly pages: number; readonly batches: number } | undefined
  /** Items that are pending, by when they begin (Unix seconds), the oldest in front. */
  readonly backlog: readonly { readonly from: number; readonly sessions: number; readonly metrics: number }[]
}

/** How far a series of a window stream has come. */
export interface WindowProgress extends Coverage {
  readonly series: string
  readonly version: number
}

/** One page of a window, in one statement. */
export interface WindowCommit extends Commit {
  readonly stream: StreamName
  readonly series: string
  readonly version: number
  /** Becomes final with this page; empty before the last page of a window. */
  readonly covers: Ranges
  /** Has been read with this page, final or not. */
  readonly sees: Ranges
  /** Of what has been read, what should have been served and was not. */
  readonly misses: Ranges
  /** Given up with this page, and why. */
  readonly loses: readonly LostRange[]
  readonly work: readonly WorkItem[]
}

export interface LostRange extends Range {
  /** overflow: more in one second than the provider lists; the others: its answer cannot be read in any size. */
  readonly reason: 'overflow' | 'unreadable' | 'too_large'
}

/** An item of the work queue with where it stands. */
export interface OpenItem extends WorkItem {
  readonly version: number
  /** Page to ask for, from 1. */
  readonly page: number
  readonly streamState: Json
  /** Someone asked for it again. */
  readonly origin: 'live' | 'backfill'
  /** Failures so far in a row. */
  readonly failures: number
  /** The provider rejected the question for this page when it was asked last. */
  readonly wasRefused: boolean
  /** Owner that was about to read a large answer to it, and neither stored it nor gave it up; null where there is none. */
  readonly inHandOf: string | null
}

/** One page of a work item, in one statement. */
export interface ItemCommit extends Commit {
  readonly item: OpenItem
  /** Null when there is none: then the item is done, unless something of it was set aside. */
  readonly nextPage: number | null
  readonly streamState: Json
  /** An item of which something was set aside is not asked for again for so long, ms. */
  readonly again: number
  readonly work: readonly WorkItem[]
}

/** Which work items may be asked for now, Unix seconds: as the plan has it, both bounds strict. */
export interface ItemBounds {
  /** Items must begin after this. */
  readonly after: number
  /** And at this at the latest, where it is given. */
  readonly upTo?: number
  /** And end before this. */
  readonly before: number
  /** Only those that did not fail last. */
  readonly isWell?: boolean
}

/** too_large: not to be had in any size; refused: the provider rejects the question; vanished: it does not know the call. */
export type ItemLoss = 'too_large' | 'refused' | 'vanished'

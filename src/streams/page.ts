import type { Range } from '../planning/ranges.ts'
import type { RangeLimits } from '../planning/windows.ts'
import type { Parameters } from '../provider/operation.ts'
import type { RowSet } from '../tables/index.ts'
import type { Json, Timestamp } from '../tables/json.ts'

/** What passes through a stream: what is asked, the page as it came, and what its rows and news are. */

/** One question of a window stream that is asked again and again over other ranges. */
export interface WindowSeries {
  /** Name of the series in the progress table and in the gap ledger. */
  readonly key: string
  /** What the question asks besides its range, by the names that Penstock uses. */
  readonly ask: Readonly<Record<string, string>>
  /** Seconds that one value stands for; windows begin and end at multiples of it. 1 where items have any time. */
  readonly step: number
  /** A value is promised for each step; absent where what is served is all there is. */
  readonly expects?: 'each'
}

/** One of the pages that answer a question, where it says which one it is. */
interface NumberedPage {
  /** From 1. */
  readonly number: number
  readonly items: readonly unknown[]
  /** It takes no more items, so others may follow; absent where an answer comes in one piece. */
  readonly isFull?: boolean
  /** How many items it counts, on this page or on all of them; undefined where it does not say. */
  readonly total?: number | undefined
}

/** One answer about a range of time. */
export interface WindowPage extends NumberedPage {
  readonly series: WindowSeries
  /** What the window owns, without its end. */
  readonly range: Range
  /** The provider says that matching items are left out: of this page or of all of them. */
  readonly hasMore: boolean
  /** The provider's clock when the question was planned, Unix seconds. */
  readonly now: number
  /** Our clock when the answer arrived, ms since the epoch. */
  readonly receivedAt: number
  /** What the plan allows of the details of a call; undefined where they are not drained. */
  readonly details: RangeLimits | undefined
}

export interface WindowResult {
  readonly rows: RowSet
  readonly rejects: readonly Reject[]
  readonly hints: readonly Hint[]
  /** `whole`: the window is read; `next`: its next page follows; `narrow`: items are left out, so ask for less. */
  readonly reading: 'whole' | 'next' | 'narrow'
  /** Seconds of the range that must be read again: something that begins there is still going on. */
  readonly unfinished: readonly number[]
  /** Something was listed that cannot be read, and of which cannot be told when it begins: nothing of the window is final. */
  readonly isUncertain?: boolean
  /** What other streams have to fetch now. */
  readonly work: readonly WorkItem[]
  /** Keys of what is listed, by which the page is known when it comes again; absent where an answer comes in one piece. */
  readonly listed?: readonly string[]
  /** All of the window are listed, whatever else is counted. */
  readonly listsAll?: boolean
  /** Unix seconds of the values that were received, where the answer is made of values. */
  readonly received?: readonly number[]
  /** How many values were told that nobody asked for. */
  readonly ignored?: number
  /** Final values by which the quality of calls is judged now. */
  readonly quality?: readonly QualityValue[]
}

/** One value of the quality of calls. */
export interface QualityValue {
  readonly product: string
  readonly metric: string
  /** '' for the whole project. */
  readonly cname: string
  /** '' for all users. */
  readonly uid: string
  readonly at: Timestamp
  readonly value: number
}

export interface WorkItem {
  readonly stream: string
  /** call_id. */
  readonly key: string
  /** Tells the items of one call apart. */
  readonly part: string
  /** What is asked for: from `from` to `to`, both included, Unix seconds. */
  readonly from: number
  readonly to: number
  /** What else the question needs. */
  readonly ask: Json
  /** Known and not to be fetched: the configuration leaves it out. */
  readonly isLeftOut?: true
}

export interface SubstreamPage extends NumberedPage {
  readonly item: WorkItem
  /** What it was asked with. */
  readonly asked: Parameters
  /** The provider's clock when the answer arrived, Unix seconds: ours may have been set. */
  readonly now: number
}

export interface SubstreamResult {
  readonly rows: RowSet
  readonly rejects: readonly Reject[]
  /** Committed with the page, for the next one. */
  readonly streamState: Json
  readonly reading: 'whole' | 'next'
  readonly work: readonly WorkItem[]
}

/** One page as it came, with all that a result may know. */
export interface Page {
  /** Room of the series; the empty string for a series that is the whole app. */
  readonly series: string
  /** nextId that the page was asked with; null is the beginning. */
  readonly cursor: string | null
  /** Why the page was read: to go on, or to see whether the room is still the one we know. */
  readonly purpose: 'read' | 'probe'
  /** A reading that is broken off goes on after this page, and nothing has said meanwhile that the room is gone. */
  readonly isUnderWay?: boolean
  readonly items: readonly unknown[]
  readonly nextId: string | undefined
  /** The answer has a nextId that leads back to a page of this reading, or cannot be sent: nobody knows what follows. */
  readonly looping?: boolean
  /** How many items there are in all, where the answer says so. */
  readonly total?: number | undefined
  /** The answer lacks the data that the document promises: there is nothing, or it was lost on the way. */
  readonly lacksData?: true | undefined
  /** The provider's clock when it answered, ms since the epoch; undefined where the answer has none. */
  readonly answeredAt: number | undefined
  /** Our clock when the answer arrived, ms since the epoch. */
  readonly receivedAt: number
  readonly settings: ReadingSettings
}

/** Whether nothing follows. */
export function isLast({ nextId, looping = false }: Page): boolean {
  return nextId === undefined && !looping
}

/** What an operator may say about how pages are read. */
export interface ReadingSettings {
  /** Who submitted a quiz or poll answer: the documents leave it open. */
  readonly submitter: 'operator' | 'fromUser'
  /** `app`: one numbering over all rooms, so a hole inside a room means nothing. */
  readonly sequenceScope: 'room' | 'app'
}

/** What a page turned out to hold. */
export interface PageResult {
  readonly rows: RowSet
  /** What the stream must remember; committed with the rows. */
  readonly streamState: Json
  /** Which incarnation of a room the rows belong to; `current` leaves it to the database. */
  readonly room: RoomScope
  /** Where to read next. `next` follows nextId; `stay` keeps the stored place (after a probe). */
  readonly follow: 'next' | 'stay'
  /** Items that could not be read: set aside, never blocking their page. */
  readonly rejects: readonly Reject[]
  /** What other streams should know now. */
  readonly hints: readonly Hint[]
  /** All holes of the series after a complete reading; absent while the reading goes on. */
  readonly holes?: readonly Hole[]
  /** Of a feed: what it told, readable or not, by names that stay the same when it tells it again. */
  readonly told?: readonly string[]
  /** The log is told from its end to its beginning: what comes later will stand on its first page, and it has no end to go on from. */
  readonly isBackwards?: true
  /** The page does not tell whose it is: it proves nothing of the room. */
  readonly isUndecided?: true
  /** Something listed is not finished yet, so the list is read again soon. */
  readonly unfinished: boolean
}

export type RoomScope =
  | { readonly kind: 'current' }
  | { readonly kind: 'incarnation'; readonly incarnation: number; readonly opens: boolean }

export interface Reject {
  /** A word of a closed set, fit for a metric label. */
  readonly reason: RejectReason
  /** Which field broke which rule; no values. */
  readonly detail: string
  readonly item: unknown
}

export const rejectReasons = [
  'not_an_object',
  'missing_key',
  'wrong_type',
  'out_of_range',
  'store_refused',
] as const

export type RejectReason = (typeof rejectReasons)[number]

/** News about a room for every stream that follows rooms. */
export interface Hint {
  readonly room: string
  /** `news`: something happened; `hole`: events are missing before it. */
  readonly change: 'news' | 'hole'
  /** When it happened, ms since the epoch. */
  readonly at: number
  /** Streams for which the news is certain; the others learn only that the room is alive. */
  readonly streams: readonly string[] | 'all'
  /** Where the news are of the state of the room too. */
  readonly state?: ToldState
}

/** The state of a room after some changes of it, told in any order. */
export interface ToldState {
  /** Of the last change. */
  readonly sequence: number | bigint
  /** Of the last change after which the class went on; undefined where none is told. */
  readonly started?: number | bigint
  /** When the class ended, ms since the epoch; undefined while it goes on. */
  readonly endedAt: number | undefined
}

/** Sequences between two neighbours of a log that were not served. */
export interface Hole {
  readonly from: number | bigint
  readonly to: number | bigint
  readonly state: 'open' | 'absent'
}

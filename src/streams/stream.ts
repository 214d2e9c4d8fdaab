import type { z } from 'zod'
import type { DetailFacts } from '../planning/forecast-facts.ts'
import type { Range } from '../planning/ranges.ts'
import type { RangeLimits } from '../planning/windows.ts'
import type { AnalyticsLimitReading, ParameterNames } from '../provider/analytics/index.ts'
import type { Operation, Parameters } from '../provider/operation.ts'
import type { PlayerLimitReading } from '../provider/players/index.ts'
import type { RowSet, Table } from '../tables/index.ts'
import type { Json, Timestamp } from '../tables/json.ts'

/**
 * A stream is data and pure functions: which operation it polls, how it asks, and how a page becomes rows.
 * It never awaits, logs, reads a clock or knows SQL; the engine does all of that for every stream alike.
 */
export type Stream = CursorStream | WindowStream | Substream

/** Streams whose pages follow each other by what the provider says. */
export type CursorStream = FeedStream | LogStream | SnapshotStream

/** Whether there is a series of progress for each room. */
export function isOfRooms(stream: Stream): boolean {
  return 'scope' in stream && stream.scope === 'room'
}

/** As the configuration, the tables and the metrics call a stream; which there are, the register says. */
export type StreamName = string

interface StreamBase {
  readonly name: StreamName
  /** One line for people, shown by status and in the reference. */
  readonly title: string
  readonly operation: Operation
  /** Tables that its rows go to; how a page is committed follows from them and from its kind. */
  readonly writes: readonly Table[]
  /** What an operator may say of it: a mapping in which each key has a default. What it makes of them goes below. */
  readonly settings: z.ZodObject
  /** Streams without which it cannot be right, or has nothing to do. */
  readonly needs?: readonly StreamName[]
  /** What cannot be right of some settings; `allowed`: of the plan, where the stream can be drained. */
  mistakes?(settings: object, allowed: RangeLimits | undefined): readonly Mistake[]
  /** The stream as a deployment of the provider wants it asked, where it differs. */
  configured?(deployment: Deployment): Stream
}

/** Settings that do not fit each other or the limits. */
export interface Mistake {
  /** The settings that it may come from, likeliest first. */
  readonly settings: readonly string[]
  /** The number of its limit group that it may come from, or any of them. */
  readonly limit?: keyof RangeLimits | 'any'
  /** Completes the name of the first setting, or stands behind it. */
  readonly text: string
}

/** What differs between deployments of the provider, and what its users want of it. */
export interface Deployment {
  /** Some serve the widget paths only behind a region segment. */
  readonly widgetPath: 'without-region' | 'with-region'
  readonly words: ParameterNames
  /** Which endpoints of call analytics share a counter. */
  readonly analyticsLimits: AnalyticsLimitReading
  /** Whose counters the lists of players are. */
  readonly playerLimits: PlayerLimitReading
  /** Path of the lists of players, where it is another one. */
  readonly playersPath?: string | undefined
  /** What an app says of a stream; the defaults where it says nothing. */
  settingsOf<S extends z.ZodObject>(
    app: string,
    stream: { readonly name: StreamName; readonly settings: S },
  ): z.output<S>
}

interface CursorStreamBase extends StreamBase {
  /** Finds in a checked answer the items, the nextId, and how many there are in all where it says so. */
  readonly read: (answer: unknown) => Pick<Page, 'items' | 'nextId' | 'total'>
  /** How what it says is weighed against what is stored: the feed is a hint, a log the truth, a list a state. */
  readonly source: 'feed' | 'log' | 'list'
  /** What one series of progress stands for: the whole app, or one room of it. */
  readonly scope: 'app' | 'room'
  /** How often it is asked while something happens and while nothing does, ms. */
  cadence(settings: object): { readonly activeEvery: number; readonly idleEvery: number }
  /** Of a stream of rooms: the share of the places of its limit group that it may fill, so that others have room. */
  readonly share?: number
  /** Its log decides what a room is: the other streams of a room wait for it. */
  readonly isParent?: true
  /** No event announces what it brings, so every sign of life in a room counts for it. */
  readonly isUnannounced?: true
}

/** A call without parameters that answers what is new, possibly only once. */
export interface FeedStream extends CursorStreamBase {
  readonly kind: 'feed'
  readonly scope: 'app'
  readonly toRows: (page: Page, streamState: Json) => PageResult
}

/** Pages that follow each other by an opaque nextId, per room; the log can be read again. */
export interface LogStream extends CursorStreamBase {
  readonly kind: 'log'
  readonly scope: 'room'
  readonly request: (cursor: string | null) => Parameters
  readonly toRows: (page: Page, streamState: Json) => PageResult
  /** The stream state with which the log is read once more from its beginning. */
  readonly rewind: (streamState: Json) => Json
  /** Whether the log should be read once more from its beginning, to see if its holes were filled. */
  readonly rereads: (streamState: Json) => boolean
}

/** The whole list, again and again; it is complete when a page has no nextId. */
export interface SnapshotStream extends CursorStreamBase {
  readonly kind: 'snapshot'
  readonly request: (cursor: string | null) => Parameters
  readonly toRows: (page: Page, streamState: Json) => PageResult
}

/** Ranges of time; progress is what is covered, the work is what is not. */
export interface WindowStream extends StreamBase {
  readonly kind: 'window'
  /** People are alerted by its newest values: its results tell them as `quality`. */
  readonly tellsQuality?: true
  /** Items of one page at most, where an answer comes in pages; absent where one answer is the whole window. */
  readonly pageSize?: number
  /** Finds the items and whether some are left out in a checked answer. */
  readonly read: (answer: unknown) => Pick<WindowPage, 'items' | 'hasMore' | 'isFull'>
  /** `bounds` as sent; `page` counts from 1. */
  readonly request: (app: string, series: WindowSeries, bounds: Bounds, page: number) => Parameters
  readonly toRows: (page: WindowPage) => WindowResult
  /** What is asked for, how often and how much at once. */
  follows(settings: object): WindowSettings
}

export interface WindowSettings {
  readonly series: readonly WindowSeries[]
  /** Where channels are asked about as well while a room or call goes on in them. */
  readonly live?: LiveSettings
  /** How often the newest data are asked for, ms. */
  readonly every: number
  /** How long after its end a range may still change, seconds; until then it is read again and not complete. */
  readonly allowedLateness: number
  /** How often what is still going on is looked at again, ms. */
  readonly revisitEvery: number
  /** `needed`: only what is owed; `full`: as much as one request may ask, where more costs nothing. */
  readonly frame: 'needed' | 'full'
}

export interface LiveSettings {
  /** Channels at a time. */
  readonly most: number
  /** The questions about a channel. */
  readonly of: (channel: string) => readonly WindowSeries[]
}

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

/** Start and end of a request as they are sent, Unix seconds. */
export interface Bounds {
  readonly start: number
  readonly end: number
}

/** One answer about a range of time. */
export interface WindowPage {
  readonly series: WindowSeries
  /** What the window owns, without its end. */
  readonly range: Range
  /** From 1. */
  readonly number: number
  readonly items: readonly unknown[]
  /** It takes no more items, so others may follow; absent where an answer comes in one piece. */
  readonly isFull?: boolean
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

/** A work queue that another stream makes; each item is fetched once. */
export interface Substream extends StreamBase {
  readonly kind: 'substream'
  /** `begins`: its items are the first of a call; `completes`: they end what another stream began, and go first. */
  readonly part: 'begins' | 'completes'
  readonly pageSize?: number
  readonly read: (answer: unknown) => Pick<SubstreamPage, 'items' | 'isFull'>
  readonly request: (app: string, item: WorkItem, page: number) => Parameters
  readonly toRows: (page: SubstreamPage, streamState: Json) => SubstreamResult
  /** The same work in smaller items, for an answer that is too large; undefined when it cannot be less. */
  readonly split: (item: WorkItem) => readonly WorkItem[] | undefined
  /** How many things an item asks for, where an answer weighs the more the more they are, and it in items of so many. */
  readonly several?: {
    readonly count: (item: WorkItem) => number
    readonly divide: (item: WorkItem, most: number) => readonly WorkItem[]
  }
  /** The same work over shorter times, for a range that is too long; undefined when it cannot be shorter. */
  readonly shorten: (item: WorkItem) => readonly WorkItem[] | undefined
  /** What it costs, as the forecast reckons. */
  cost(settings: object): Pick<DetailFacts, 'batch' | 'everyNth' | 'end'>
}

export interface WorkItem {
  readonly stream: StreamName
  /** call_id. */
  readonly key: string
  /** Tells the items of one call apart. */
  readonly part: string
  /** What is asked for: from `from` to `to`, both included, Unix seconds. */
  readonly from: number
  readonly to: number
  /** What else the question needs. */
  readonly ask: Json
}

export interface SubstreamPage {
  readonly item: WorkItem
  /** From 1. */
  readonly number: number
  /** What it was asked with. */
  readonly asked: Parameters
  readonly items: readonly unknown[]
  /** It takes no more items, so others may follow; absent where an answer comes in one piece. */
  readonly isFull?: boolean
  readonly receivedAt: number
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
  readonly items: readonly unknown[]
  readonly nextId: string | undefined
  /** How many items there are in all, where the answer says so. */
  readonly total?: number | undefined
  /** The provider's clock when it answered, ms since the epoch; undefined where the answer has none. */
  readonly answeredAt: number | undefined
  /** Our clock when the answer arrived, ms since the epoch. */
  readonly receivedAt: number
  readonly settings: ReadingSettings
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
  readonly streams: readonly StreamName[] | 'all'
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

/** Names of the streams that have a series for each room. */
export function roomStreamsOf(streams: readonly Stream[]): readonly string[] {
  return streams.filter(isOfRooms).map(({ name }) => name)
}

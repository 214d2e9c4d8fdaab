import type { z } from 'zod'
import type { Cadence, Pace } from '../planning/cadence.ts'
import type { DetailFacts } from '../planning/forecast-facts.ts'
import type { Bounds, RangeLimits } from '../planning/windows.ts'
import type { AnalyticsLimitReading, ParameterNames } from '../provider/analytics/index.ts'
import type { Operation, Parameters } from '../provider/operation.ts'
import type { PlayerLimitReading } from '../provider/players/index.ts'
import type { Table } from '../tables/index.ts'
import type { Json } from '../tables/json.ts'
import type {
  Page,
  PageResult,
  SubstreamPage,
  SubstreamResult,
  WindowPage,
  WindowResult,
  WindowSeries,
  WorkItem,
} from './page.ts'

export type { Cadence }

/**
 * A stream is data and pure functions: which operation it polls, how it asks, and how a page becomes rows.
 * It never awaits, logs, reads a clock or knows SQL; the engine does all of that for every stream alike.
 */
export type Stream = CursorStream | WindowStream | Substream

/** Streams whose pages follow each other by what the provider says. */
export type CursorStream = FeedStream | LogStream | SnapshotStream

export function isCursor(stream: Stream): stream is CursorStream {
  return stream.kind !== 'window' && stream.kind !== 'substream'
}

export function isWindow(stream: Stream): stream is WindowStream {
  return stream.kind === 'window'
}

export function isSubstream(stream: Stream): stream is Substream {
  return stream.kind === 'substream'
}

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
  mistakes?(settings: object, allowed: RangeLimits | undefined, around: Around): readonly Mistake[]
  /** The stream as a deployment of the provider wants it asked, where it differs. */
  configured?(deployment: Deployment): Stream
}

/** What the settings of a stream have to go with. */
export interface Around {
  /** For how long after its last sign of life a room is known, ms. */
  readonly roomMemory: number
  /** How long the streams that it needs may have waited already, ms. */
  readonly before: number
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
  readonly read: (answer: unknown) => Pick<Page, 'items' | 'nextId' | 'total' | 'lacksData'>
  /** How what it says is weighed against what is stored: the feed is a hint, a log the truth, a list a state. */
  readonly source: 'feed' | 'log' | 'list'
  /** What one series of progress stands for: the whole app, or one room of it. */
  readonly scope: 'app' | 'room'
  /** How often it is asked while something happens and while nothing does, ms, or at which moments. */
  cadence(settings: object): Omit<Cadence, 'memory'>
  /** Of a stream of rooms: the share of the places of its limit group that it may fill, so that others have room. */
  readonly share?: number
  /** Its log decides what a room is: the other streams of a room wait for it. */
  readonly isParent?: true
  /** Events say when there is something new, and so no other sign of life in a room does. */
  readonly isAnnounced?: true
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
  /**
   * Whether the log should be read once more from its beginning, to see if its holes were filled: all of them, where its room
   * is `doubtful` and will soon be forgotten.
   */
  readonly rereads: (streamState: Json, room?: 'known' | 'doubtful') => boolean
  /** What its last page makes where it is told again in the same words: without this it is read as if it were new. */
  readonly again?: (streamState: Json) => PageResult
}

/** The whole list, again and again; it is complete when a page has no nextId. */
export interface SnapshotStream extends CursorStreamBase {
  readonly kind: 'snapshot'
  /** Whether anything was ever listed: then an answer without data is doubted for longer. */
  readonly hasListed?: (streamState: Json) => boolean
  readonly request: (cursor: string | null) => Parameters
  readonly toRows: (page: Page, streamState: Json) => PageResult
}

/** Ranges of time; progress is what is covered, the work is what is not. */
export interface WindowStream extends StreamBase {
  readonly kind: 'window'
  /** People are alerted by its newest values: its results tell them as `quality`. */
  readonly tellsQuality?: true
  /** Its setting `uids` names users to ask for, and series are called after them. */
  readonly namesUsers?: true
  /** Items of one page at most, where an answer comes in pages; absent where one answer is the whole window. */
  readonly pageSize?: number
  /** Finds the items and whether some are left out in a checked answer. */
  readonly read: (answer: unknown) => Pick<WindowPage, 'items' | 'hasMore' | 'isFull' | 'total'>
  /** `bounds` as sent; `page` counts from 1. */
  readonly request: (app: string, series: WindowSeries, bounds: Bounds, page: number) => Parameters
  readonly toRows: (page: WindowPage) => WindowResult
  /** What is left of an item that cannot be stored: when it begins, where it tells that, and nothing that makes rows. */
  readonly standIn?: (item: unknown) => unknown
  /** What is asked for, how often and how much at once. */
  follows(settings: object): WindowSettings
}

/** Its pace: how often the newest data are asked for. */
export interface WindowSettings extends Pace {
  readonly series: readonly WindowSeries[]
  /** Where channels are asked about as well while a room or call goes on in them. */
  readonly live?: LiveSettings
  /** How long after its end a range may still change, seconds; until then it is read again and not complete. */
  readonly allowedLateness: number
  /** How often what is still going on is looked at again, ms; as often as the newest data where it is left out. */
  readonly revisitEvery?: number
  /** `needed`: only the backlog; `full`: as much as one request may ask, where more costs nothing. */
  readonly frame: 'needed' | 'full'
}

interface LiveSettings {
  /** Channels at a time. */
  readonly most: number
  /** The questions about a channel. */
  readonly of: (channel: string) => readonly WindowSeries[]
}

/** A work queue that another stream makes; each item is fetched once. */
export interface Substream extends StreamBase {
  readonly kind: 'substream'
  /** `begins`: its items are the first of a call; `completes`: they end what another stream began, and go first. */
  readonly part: 'begins' | 'completes'
  readonly pageSize?: number
  readonly read: (answer: unknown) => Pick<SubstreamPage, 'items' | 'isFull' | 'total'>
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
  /** How long after one round through its work queue the next one begins. */
  pace(settings: object): Pace
  /** What it costs, as the forecast reckons. */
  cost(settings: object): Pick<DetailFacts, 'batch' | 'everyNth' | 'end'>
}

/** Names of the streams that have a series for each room. */
export function roomStreamsOf(streams: readonly Stream[]): readonly string[] {
  return streams.filter(isOfRooms).map(({ name }) => name)
}

/** Whether users are asked for by name, and series are called after them. */
export function isOfUsers(stream: Stream): boolean {
  return stream.kind === 'window' && stream.namesUsers === true
}

import type { StreamLabels } from './telemetry.ts'

/** What an operator asks first; the same for the page, the JSON and the command. All times UTC, ISO 8601. */
export interface StoreStatus {
  readonly now: string
  /** Up to when a read replica has seen what was written, where one tells this; null where the database itself does. */
  readonly replicaAt?: string | null
  readonly streams: readonly StreamStatus[]
  readonly rooms: readonly { readonly app: string; readonly state: string; readonly rooms: number }[]
  readonly gaps: readonly GapStatus[]
  readonly backlog: readonly BacklogStatus[]
  readonly deadLetters: readonly DeadLetterStatus[]
  readonly divergences: number
  /** Time zones of the configuration that the database does not know: the days of these apps are of UTC. */
  readonly unknownZones?: readonly { readonly app: string; readonly zone: string }[]
  readonly owners: readonly { readonly owner: string; readonly shards: number; readonly expiresAt: string }[]
}

export interface StreamStatus extends StreamLabels {
  /** Series that are still followed; of a stream that reads details, items that are pending. */
  readonly open: number
  readonly closed: number
  /** Open series that have never been read to their end, none of a stream that is off; of a stream that reads details, items that are pending. */
  readonly backlog: number
  readonly lastCommit: string | null
  /** Since the last commit of the series that was committed longest ago; null before the first, and of a stream that is off. */
  readonly oldestSeconds: number | null
}

/** The backlog of streams whose progress is time, and of those that read details of calls. */
export interface BacklogStatus extends StreamLabels {
  /** Series of which something is not final. */
  readonly series: number
  /** Not final up to now, what is still too young to be asked for included; over all series. */
  readonly seconds: number
  /** The same of the series that has the most. */
  readonly longestSeconds: number
  /** The most of one series that was never read, or that someone asked for once more. */
  readonly longestUnreadSeconds: number
  /** Items of the work queue; 0 of a stream whose progress is time. */
  readonly items: number
  /** Begin of the oldest of it. */
  readonly oldest: string | null
  /** The most of one series. */
  readonly longestLostSeconds: number
  readonly lostItems: number
}

export interface GapStatus extends StreamLabels {
  readonly state: string
  readonly reason: string
  readonly gaps: number
  /** Of those that are open; null of all others. */
  readonly recoverableUntil: string | null
  /** Of those that are lost, how many were given up, or have grown since, within the last 24 hours. */
  readonly lostToday: number
}

interface DeadLetterStatus extends StreamLabels {
  readonly reason: string
  readonly letters: number
  readonly lastSeen: string
}

/** A range of time in Unix seconds: from the first up to and without the second. */
export type Span = readonly [from: number, to: number]

/** What of the last eight days is stored of a stream of an app. */
export interface Timeline extends StreamLabels {
  /** Whether progress is ranges of time; of others only what is missing is known by time. */
  readonly isByTime: boolean
  /** Unix seconds before which nothing was asked for; null where that is not known. */
  readonly begins: number | null
  /** Read, and final; of all series. */
  readonly complete: readonly Span[]
  /** Read at least once; of all series. */
  readonly seen: readonly Span[]
  /** Missing, and may still be had. */
  readonly waiting: readonly Span[]
  readonly lost: readonly Span[]
}

import type { Cadence, Moments, Pace } from '../planning/cadence.ts'
import type { RangeLimits } from '../planning/windows.ts'
import type { Rate } from '../provider/limits.ts'
import type { ReadingSettings } from '../streams/page.ts'
import type { StreamName, WindowSettings } from '../streams/stream.ts'

/** What the engine must know of one app. */
export interface AppSettings {
  readonly id: string
  /** The first of them, where there are several. */
  readonly region: string
  /** Where the app is in several regions: each with the limits that are counted there; else none. */
  readonly regions: readonly RegionSettings[]
  /** Of its days in views, by its name in the IANA database. */
  readonly timeZone: string
  /** How views find a user of a classroom in its calls. */
  readonly userLink: string
  /** Rooms that are known beforehand. */
  readonly rooms: readonly string[]
  /** Streams that are on; an absent one is off. */
  readonly streams: Readonly<Record<StreamName, StreamSettings>>
  readonly windows: Readonly<Record<StreamName, WindowSettings>>
  readonly details: Readonly<Record<StreamName, SubstreamSettings>>
  readonly limits: Readonly<Record<string, GroupLimit>>
}

interface RegionSettings {
  readonly name: string
  readonly limits: AppSettings['limits']
}

export interface StreamSettings extends Cadence {
  /** Series of this stream that are synced at the same time, in each region. */
  readonly concurrency: number
}

/** Its pace is from one round through the work queue to the next; a round begins with the process. */
export interface SubstreamSettings extends Pace {
  /** Items that are fetched at the same time. */
  readonly concurrency: number
}

export interface GroupLimit {
  /** Whose counter it is at the provider: an app, or a credential that several apps may share. */
  readonly scope: string
  /** Strict bounds of a question about a range of time, where the group has such questions. */
  readonly range?: RangeLimits
  /** Rates that every attempt must keep. */
  readonly rates: readonly Rate[]
  readonly concurrency: number
  /** `ledger`: debited in the database before it is sent; `process`: paced in this process only. */
  readonly counted: 'ledger' | 'process'
}

export interface EngineSettings {
  readonly apps: readonly AppSettings[]
  readonly reading: ReadingSettings
  /** How long after its last sign of life a roomUuid is certainly the same room, ms. */
  readonly roomMemory: number
  /** Rooms of an app that are remembered at most; the others have their turn from the store. */
  readonly mostRooms: number
  /** Total deadline of one request, ms: the longest of all services. */
  readonly deadline: number
  /** How many shards the apps are spread over. */
  readonly shards: number
  /** How often ownership is renewed, ms. */
  readonly renewEvery: number
  /** When old bookkeeping is pruned and the gap ledger looked through. */
  readonly housekeeping: Moments
  /** How long a stopping daemon waits for pages in hand, ms. */
  readonly drainDeadline: number
}

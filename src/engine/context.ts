import type { Clock } from '../clock/clock.ts'
import type { Page, Stream } from '../streams/stream.ts'
import type { Admission } from './admission.ts'
import type { StoreHealth } from './health.ts'
import type { Fence, Log, Meter, Progress, Store } from './ports.ts'
import type { Priority } from './queue.ts'
import type { AppSettings, EngineSettings } from './settings.ts'

/** What reading one page of one series needs. */
export interface PollContext {
  readonly app: AppSettings
  readonly settings: EngineSettings
  readonly stream: Stream
  readonly series: string
  readonly fence: Fence
  readonly priority: Priority
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly admission: Admission
  readonly store: Store
  readonly meter: Meter
  readonly log: Log
}

/** Where in a series to read. */
export interface Place {
  readonly progress: Progress
  /** nextId to ask with; null is the beginning. */
  readonly cursor: string | null
  readonly purpose: Page['purpose']
  /** What has been asked in this reading: a nextId that is among it leads in a circle. */
  readonly asked: Set<string | null>
}

/** What keeping one app's series visited needs. */
export interface PollerContext extends Omit<PollContext, 'stream' | 'series' | 'priority' | 'fence'> {
  readonly fence: () => Fence
  readonly random: { readonly next: () => number }
  readonly streams: readonly Stream[]
  readonly health: StoreHealth
  /** The shard belongs to another process now. */
  readonly onFenced: () => void
}

import type { Clock } from '../clock/clock.ts'
import type { Purpose } from '../planning/shares.ts'
import type { CursorStream, Page } from '../streams/stream.ts'
import type { Admission } from './admission/admission.ts'
import type { StoreHealth } from './health.ts'
import type { Fence, Log, Meter, Progress, Store } from './ports.ts'
import type { AppSettings, EngineSettings } from './settings.ts'

/** What reading one page of any stream needs. */
export interface PageContext {
  readonly app: AppSettings
  readonly settings: EngineSettings
  readonly fence: Fence
  readonly purpose: Purpose
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly admission: Pick<Admission, 'send' | 'discard'>
  readonly store: Store
  readonly meter: Meter
  readonly log: Log
}

/** The same for a stream whose pages follow each other. */
export interface PollContext extends PageContext {
  readonly stream: CursorStream
  readonly series: string
}

/** Where in a series to read. */
export interface Place {
  readonly progress: Progress
  /** nextId to ask with; null is the beginning. */
  readonly cursor: string | null
  readonly purpose: Page['purpose']
  /** What has been asked in this reading: a nextId that is among it leads in a circle. */
  readonly asked: Set<string | null>
  /** Pages without items in a row, up to here. */
  readonly empty: number
}

/** What keeping an app's data drained needs. */
export interface AppContext extends Omit<PageContext, 'purpose' | 'fence'> {
  readonly fence: () => Fence
  readonly random: { readonly next: () => number }
  readonly health: StoreHealth
  /** The shard belongs to another process now. */
  readonly onFenced: () => void
}

/** What keeping an app's rooms synced needs. */
export interface PollerContext extends AppContext {
  readonly streams: readonly CursorStream[]
}

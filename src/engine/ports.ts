import type { Ledger, Ownership } from './ports/ledger.ts'
import type { RangeStore } from './ports/ranges.ts'
import type { SeriesStore } from './ports/store.ts'
import type { Log, Meter } from './ports/telemetry.ts'
import type { Transport } from './ports/wire.ts'

export * from './ports/ledger.ts'
export * from './ports/ranges.ts'
export * from './ports/status.ts'
export * from './ports/store.ts'
export * from './ports/telemetry.ts'
export * from './ports/wire.ts'

/** Every method throws StoreUnavailable when the database cannot be reached. */
export type Store = SeriesStore & RangeStore

/**
 * What the engine needs of the world, as interfaces. Postgres, HTTP and telemetry implement them; tests and the
 * simulation put decorators around them.
 */
export interface Ports {
  readonly store: Store
  readonly ledger: Ledger
  readonly ownership: Ownership
  readonly transport: Transport
  readonly meter: Meter
  readonly log: Log
}

import type { Ledger } from './ports/budget.ts'
import type { Ownership } from './ports/ownership.ts'
import type { Store } from './ports/store.ts'
import type { Log, Meter } from './ports/telemetry.ts'
import type { Transport } from './ports/wire.ts'

export * from './ports/budget.ts'
export * from './ports/commit-result.ts'
export * from './ports/notifications.ts'
export * from './ports/ownership.ts'
export * from './ports/ranges.ts'
export * from './ports/store.ts'
export * from './ports/telemetry.ts'
export * from './ports/wire.ts'

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

import type { Clock } from '../clock/clock.ts'
import { type Backoff, retryDelay } from '../planning/retry.ts'
import type { Log, Meter, StoreFault } from './ports.ts'

/**
 * Whether the database can be worked with, as one truth for every app of a process. `down`: nothing is begun;
 * `trial`: it answers again, and one series of each stream tries it; `up`: all as usual.
 */
export type StoreHealth = ReturnType<typeof createStoreHealth>

const backoff: Backoff = { first: 250, cap: 3_000 }

/**
 * What fails again within this, ms, has never been well: where a disk is full some pages find room, and others do not. The
 * waits go on growing then.
 */
const STEADY_MS = 10_000
/** While it fails again and again that is said so often, ms. */
const SAY_EVERY_MS = 60_000

interface HealthContext {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
  readonly meter: Pick<Meter, 'storeFailed'>
}

export function createStoreHealth({ clock, log, meter }: HealthContext, onDown: () => void) {
  let state: ReturnType<StoreHealth['state']> = 'up'
  let failures = 0
  let failedAt = Number.NEGATIVE_INFINITY
  /** When it was said that it is away, where that was not taken back since. */
  let saidAt: number | undefined
  const isSteady = () => clock.monotonic() - failedAt >= STEADY_MS
  return {
    state: (): 'up' | 'trial' | 'down' => state,
    /** Someone could not reach it, or store anything, for this reason. */
    failed: (fault: StoreFault) => {
      meter.storeFailed(fault)
      // Those that were under way when the first one failed say nothing new.
      if (state === 'down') return
      const now = clock.monotonic()
      failures = isSteady() && state === 'up' ? 1 : failures + 1
      failedAt = now
      state = 'down'
      if (saidAt === undefined || now - saidAt >= SAY_EVERY_MS) {
        log.error('the database is not available; nothing is asked until it is', fault)
        saidAt = now
      }
      onDown()
    },
    /** It answered a renewal of ownership, which is a write. */
    answered: () => {
      if (state === 'down') state = 'trial'
    },
    /** A whole sync succeeded. */
    worked: () => {
      if (state === 'down') return
      state = 'up'
      if (saidAt === undefined || !isSteady()) return
      log.info('the database is available again')
      saidAt = undefined
    },
    /** How long to leave it alone, ms; `chance` in [0, 1). */
    pause: (chance: number): number => retryDelay(backoff, failures, chance),
  }
}

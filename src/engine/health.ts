import { type Backoff, retryDelay } from '../planning/retry.ts'
import type { Log, StoreFault } from './ports.ts'

/**
 * Whether the database can be worked with, as one truth for every app of a process. `down`: nothing is begun;
 * `trial`: it answers again, and one series of each stream tries it; `up`: all as usual.
 */
export interface StoreHealth {
  readonly state: () => 'up' | 'trial' | 'down'
  /** Someone could not reach it, for this reason. */
  readonly failed: (fault: StoreFault) => void
  /** It answered a renewal of ownership, which is a write. */
  readonly answered: () => void
  /** A whole sync succeeded. */
  readonly worked: () => void
  /** How long to leave it alone, ms; `chance` in [0, 1). */
  readonly pause: (chance: number) => number
}

const backoff: Backoff = { first: 250, cap: 3_000 }

export function createStoreHealth(log: Log, onDown: () => void): StoreHealth {
  let state: ReturnType<StoreHealth['state']> = 'up'
  let failures = 0
  return {
    state: () => state,
    failed: fault => {
      // Those that were under way when the first one failed say nothing new.
      if (state === 'down') return
      state = 'down'
      failures += 1
      log.error('the database is not available; nothing is asked until it is', fault)
      onDown()
    },
    answered: () => {
      if (state === 'down') state = 'trial'
    },
    worked: () => {
      if (state === 'down') return
      if (state === 'trial') log.info('the database is available again')
      state = 'up'
      failures = 0
    },
    pause: chance => retryDelay(backoff, failures, chance),
  }
}

import { type Backoff, retryDelay } from '../planning/retry.ts'
import type { Log, StoreFault } from './ports.ts'

/**
 * Whether the database can be worked with, as one truth for every app of a process. `down`: nothing is begun;
 * `trial`: it answers again, and one series of each stream tries it; `up`: all as usual.
 */
export type StoreHealth = ReturnType<typeof createStoreHealth>

const backoff: Backoff = { first: 250, cap: 3_000 }

export function createStoreHealth(log: Log, onDown: () => void) {
  let state: ReturnType<StoreHealth['state']> = 'up'
  let failures = 0
  return {
    state: (): 'up' | 'trial' | 'down' => state,
    /** Someone could not reach it, for this reason. */
    failed: (fault: StoreFault) => {
      // Those that were under way when the first one failed say nothing new.
      if (state === 'down') return
      state = 'down'
      failures += 1
      log.error('the database is not available; nothing is asked until it is', fault)
      onDown()
    },
    /** It answered a renewal of ownership, which is a write. */
    answered: () => {
      if (state === 'down') state = 'trial'
    },
    /** A whole sync succeeded. */
    worked: () => {
      if (state === 'down') return
      if (state === 'trial') log.info('the database is available again')
      state = 'up'
      failures = 0
    },
    /** How long to leave it alone, ms; `chance` in [0, 1). */
    pause: (chance: number): number => retryDelay(backoff, failures, chance),
  }
}

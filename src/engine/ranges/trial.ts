import type { Clock } from '../../clock/clock.ts'

/** When a bound that a refusal tightened is tried again as it is documented: by one request, after growing times. */
export interface Trial {
  /** The bound was tightened, once more perhaps: while what is within it is refused too, there is nothing to try. */
  readonly plan: () => void
  readonly isDue: () => boolean
  /** A request goes beyond the tightened bound: nothing else does until it is over. */
  readonly begin: () => void
  /**
   * `served`: the documented bound holds; `nearer`: what was served comes nearer to it than what is known, and the next
   * may come nearer yet; `unknown`: the request ended without telling.
   */
  readonly end: (outcome: 'served' | 'nearer' | 'refused' | 'unknown') => void
}

const minute = 60_000
const FIRST_WAIT_MS = 10 * minute
const LONGEST_WAIT_MS = 24 * 60 * minute

export function createTrial(clock: Clock): Trial {
  let wait = FIRST_WAIT_MS
  let at = Number.POSITIVE_INFINITY

  const plan = () => {
    at = clock.monotonic() + wait
  }

  return {
    plan,
    isDue: () => clock.monotonic() >= at,
    begin: () => {
      at = Number.POSITIVE_INFINITY
    },
    end: outcome => {
      if (outcome === 'refused') wait = Math.min(LONGEST_WAIT_MS, wait * 2)
      if (outcome === 'served') wait = FIRST_WAIT_MS
      else if (outcome === 'nearer') at = clock.monotonic()
      else plan()
    },
  }
}

import type { Clock } from '../../clock/clock.ts'
import type { ClockBounds } from '../ports.ts'

/**
 * What this process saw pass of the time that a limit group's budget is counted by. The database's clock may be set
 * while it runs: forward it would free what the provider still counts, back it would stand still. Time on the
 * monotonic clock since the ledger's last answer is the evidence against both.
 */
export type BudgetTime = ReturnType<typeof createBudgetTime>

/** Clocks that are kept right by slewing differ in speed by at most 500 parts in a million. */
const DRIFT = 1 / 2_000

/** Clocks are read in whole milliseconds. */
const ROUNDING_MS = 1

/** Longest way of a question to the database that is not taken for a jump of its clock. */
const WAY_MS = 250

/** Before the first observation every clock is believed: within what Postgres can hold. */
const boundless: ClockBounds = { floor: 0, ceiling: 8_640_000_000_000_000 }

export function createBudgetTime(clock: Clock) {
  /** The ledger's time was between these when the monotonic clock stood at `at`. */
  let known: (ClockBounds & { readonly at: number }) | undefined

  /** Between what the ledger's time is at this moment. */
  function present(): ClockBounds {
    if (!known) return boundless
    const passed = clock.monotonic() - known.at
    const slack = passed * DRIFT + ROUNDING_MS
    return { floor: known.floor + passed - slack, ceiling: known.ceiling + passed + slack }
  }

  return {
    /** Between what the ledger's time will be when a question that is asked now arrives there. */
    clockBounds: (): ClockBounds => {
      const { floor, ceiling } = present()
      return { floor, ceiling: Math.min(ceiling + WAY_MS, boundless.ceiling) }
    },
    /** The ledger's time was `now` (ms since the epoch) at some moment since `askedAt` on the monotonic clock. */
    observe: (now: number, askedAt: number) => {
      const at = clock.monotonic()
      const before = present()
      // A slow answer says little: what was known more exactly stays.
      const floor = Math.max(now, before.floor)
      const ceiling = Math.min(now + at - askedAt, before.ceiling)
      // Where they do not meet, the ledger has seen more than this process has.
      known = floor <= ceiling ? { floor, ceiling, at } : { floor: now, ceiling: now + at - askedAt, at }
    },
  }
}

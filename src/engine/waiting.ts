import type { Clock } from '../clock/clock.ts'
import type { Moments } from '../planning/cadence.ts'
import type { Log } from './ports.ts'

/** Lets a loop nap until something happens. */
export type Wakeup = ReturnType<typeof createWakeup>

export function createWakeup(clock: Clock) {
  let isRung = false
  let napping: AbortController | undefined
  return {
    /** Ends the nap under way, or the next one before it begins: no ring is lost. */
    notify: () => {
      isRung = true
      // A reason of its own spares the making of an error with its stack, thousands of times a second.
      napping?.abort('rung')
    },
    /** Resolves after `ms`, or as soon as the bell rings. */
    wait: async (ms: number): Promise<void> => {
      if (!isRung) {
        napping = new AbortController()
        await clock.sleep(ms, napping.signal)
        napping = undefined
      }
      isRung = false
    },
  }
}

/** How many go together at most: what they ask for at one moment nobody else gets. */
const MOST_AT_A_MOMENT = 32

/** No pause is cut by more than this share of it, so that others are joined. */
const SHARE_TO_JOIN = 1 / 2

/**
 * Has those who pause for long wake together: what they do at one moment costs the database few transactions, and each by
 * itself two.
 */
export type CommonMoments = ReturnType<typeof createCommonMoments>

export function createCommonMoments(clock: Pick<Clock, 'monotonic'>) {
  /** In order of time; those that others may still join. */
  let moments: { readonly at: number; joined: number }[] = []
  return {
    /** A pause of at most `ms`, and of at least half of that, which ends with that of others where there are any. */
    join: (ms: number): number => {
      const now = clock.monotonic()
      const [latest, earliest] = [now + ms, now + ms * (1 - SHARE_TO_JOIN)]
      moments = moments.filter(({ at, joined }) => at > now && joined < MOST_AT_A_MOMENT)
      const place = moments.findLastIndex(({ at }) => at <= latest)
      const known = moments[place]
      if (known && known.at >= earliest) {
        known.joined += 1
        return known.at - now
      }
      moments.splice(place + 1, 0, { at: latest, joined: 1 })
      return ms
    },
  }
}

interface Schedule {
  readonly moments: Moments
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** The longest a schedule waits before it looks at the clock again, which may have been set, ms. */
const LONGEST_NAP_MS = 60_000

/** A moment that passed while the last run went on, or the machine slept, is made up for within this alone, ms. */
const LATE_MS = 60_000

/** Runs `job` at every moment of the schedule, one run at a time, until the signal aborts. */
export async function runOnSchedule(schedule: Schedule, job: () => Promise<void>): Promise<void> {
  const { moments, clock, log, signal } = schedule
  for (let last = clock.now(); !signal.aborted; ) {
    // A clock that was ahead and is set right would have nothing run until it is there again.
    if (last > clock.now() + LATE_MS) last = clock.now()
    const next = moments.next(Math.max(last, clock.now() - LATE_MS))
    await clock.sleep(Math.min(Math.max(0, next - clock.now()), LONGEST_NAP_MS), signal)
    if (signal.aborted) break
    if (clock.now() < next || clock.now() >= next + LATE_MS) continue
    last = next
    await job().catch(error => {
      if (!signal.aborted) log.error('housekeeping failed; the next run tries again', { error })
    })
  }
}

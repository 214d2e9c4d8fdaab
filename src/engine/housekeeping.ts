import type { Clock } from '../clock/clock.ts'
import type { Moments } from '../planning/cadence.ts'
import type { Family } from '../provider/operation.ts'
import type { Log, Transport } from './ports.ts'

export interface Schedule {
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
    const next = moments.next(Math.max(last, clock.now() - LATE_MS))
    await clock.sleep(Math.min(Math.max(0, next - clock.now()), LONGEST_NAP_MS), signal)
    if (signal.aborted) break
    if (clock.now() < next || clock.now() >= next + LATE_MS) continue
    last = next
    await job().catch(error => log.error('housekeeping failed; the next run tries again', { error }))
  }
}

const families: readonly Family[] = ['classroom', 'analytics', 'players']

/**
 * The latest moment, ms since the epoch, that no provider contradicts: the earliest that the clock of any of them may
 * show. Undefined before the first answer; after it the estimates go on by themselves, however quiet all streams are.
 */
export function confirmedTime(clock: Clock, transport: Transport): number | undefined {
  const offsets = families.flatMap(family => transport.clockOffset(family) ?? [])
  if (offsets.length === 0) return undefined
  return clock.now() + Math.min(...offsets.map(({ ahead, doubt }) => ahead - doubt))
}

import { createTask } from 'node-cron'
import type { Clock } from '../clock/clock.ts'
import type { Family } from '../provider/operation.ts'
import type { Log, Transport } from './ports.ts'

export interface Schedule {
  /** Five or six fields, read in UTC. */
  readonly expression: string
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** The longest a schedule may leave between two runs before it is looked at again, ms. */
const LONGEST_NAP_MS = 60_000

/**
 * Runs `job` at every moment that the expression names, one run at a time, until the signal aborts. node-cron
 * reads the expression; the waiting is done on our own clock, so that it can be simulated.
 */
export async function runOnSchedule(schedule: Schedule, job: () => Promise<void>): Promise<void> {
  const { expression, clock, log, signal } = schedule
  const task = createTask(expression, () => {}, { timezone: 'UTC' })
  const hasSeconds = expression.trim().split(/\s+/).length === 6
  const step = hasSeconds ? 1_000 : 60_000
  for (let last = clock.now(); !signal.aborted; ) {
    // Runs that were missed, while the last one ran or the machine slept, are not made up for.
    const next = Math.floor(Math.max(last, clock.now() - step) / step) * step + step
    await clock.sleep(Math.min(Math.max(0, next - clock.now()), LONGEST_NAP_MS), signal)
    if (signal.aborted) break
    if (clock.now() < next) continue
    last = next
    if (!task.match(new Date(next))) continue
    await job().catch(error => log.error('housekeeping failed; the next run tries again', { error }))
  }
  await task.destroy()
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

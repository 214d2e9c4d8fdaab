import type { Clock } from '../clock/clock.ts'
import type { Log } from '../engine/ports.ts'
import { createReading } from './reading.ts'

const maxAge = 2_000
const timeout = 1_000

export interface StatusOptions {
  readonly clock: Clock
  readonly log: Log
  /** What the process knows by itself, now. */
  readonly own: () => object
  /** What the database tells. */
  readonly read: () => Promise<object>
}

/**
 * The status for people and programs, however many ask: what the database told last, how old that is, and whether it
 * answers now. Rejects while it has never been read.
 */
export function createStatus({ clock, log, own, read }: StatusOptions): () => Promise<object> {
  const onFailure = (error: unknown) => log.warn('the status cannot be read', { error })
  const ask = createReading({ clock, read, maxAge, timeout, onFailure })
  return async () => {
    const { up, value, age } = await ask()
    if (!value) throw new Error('the database has not told its status yet')
    return { ...own(), databaseAnswers: up, readSecondsAgo: Math.floor(age / 1_000), ...value }
  }
}

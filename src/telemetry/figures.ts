import type { Clock } from '../clock/clock.ts'
import type { StoreFigures } from '../engine/ports.ts'

export interface FiguresOptions {
  readonly clock: Clock
  readonly read: () => Promise<StoreFigures>
  /** How long an answer serves, ms. */
  readonly maxAge: number
  /** How long a scrape waits for the database, ms. */
  readonly patience: number
}

export interface Reading {
  readonly up: boolean
  /** The latest figures that were read; undefined before the first. */
  readonly figures: StoreFigures | undefined
}

/**
 * The database's figures for scrapes: read at most once within `maxAge`, however many ask, and never waited for
 * longer than `patience`. A database that is down or slow is told as `up: false` with the figures last known.
 */
export function createFigures({ clock, read, maxAge, patience }: FiguresOptions): () => Promise<Reading> {
  let last: Reading = { up: false, figures: undefined }
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  const refresh = async () => {
    try {
      last = { up: true, figures: await read() }
    } catch {
      last = { ...last, up: false }
    }
    readAt = clock.monotonic()
    reading = undefined
  }

  return async () => {
    if (clock.monotonic() - readAt < maxAge) return last
    reading ??= refresh()
    const enough = new AbortController()
    const inTime = await Promise.race([
      reading.then(() => true),
      clock.sleep(patience, enough.signal).then(() => false),
    ])
    enough.abort()
    return inTime ? last : { ...last, up: false }
  }
}

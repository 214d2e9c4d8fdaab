import { type Clock, within } from '../clock/clock.ts'

interface ReadingOptions<T> {
  readonly clock: Clock
  readonly read: () => Promise<T>
  /** How long an answer serves, ms. */
  readonly maxAge: number
  /** How long whoever asks waits for the database, ms. */
  readonly timeout: number
  /** Asks next to nothing, where a reading failed or takes long: whether the database is slow or away. Rejects where it is away. */
  readonly answers?: (() => Promise<unknown>) | undefined
  /** Takes why the database could not be read. */
  readonly onFailure?: (error: unknown) => void
}

export interface Reading<T> {
  /** Whether the database answered when it was asked last. */
  readonly up: boolean
  /** What was read last; undefined before the first time. */
  readonly value: T | undefined
  /** How long ago that was, ms; before the first time, for how long it is wanted. */
  readonly age: number
}

/**
 * What the database tells to whoever asks: read at most once within `maxAge`, however many ask, one reading at a time,
 * and never waited for longer than `timeout`, and as long again for `answers`. A database that is down is told as
 * `up: false` with what is known last; so is one that is slow, where nothing else is asked of it.
 */
export function createReading<T>({
  clock,
  read,
  maxAge,
  timeout,
  answers,
  onFailure = () => {},
}: ReadingOptions<T>): () => Promise<Reading<T>> {
  const wantedAt = clock.monotonic()
  let last: { readonly value: T; readonly at: number } | undefined
  let up = false
  let triedAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  /** Of a database that was not read in time. */
  const isThere = async () => {
    if (!answers) return false
    const answered = answers().then(
      () => true,
      () => false,
    )
    return within(clock, timeout, answered, false)
  }
  const refresh = async () => {
    try {
      last = { value: await read(), at: clock.monotonic() }
      up = true
    } catch (error) {
      onFailure(error)
      up = await isThere()
    }
    triedAt = clock.monotonic()
    reading = undefined
  }
  const known = (isUp: boolean): Reading<T> => ({
    up: isUp,
    value: last?.value,
    age: clock.monotonic() - (last?.at ?? wantedAt),
  })

  return async () => {
    if (clock.monotonic() - triedAt < maxAge) return known(up)
    reading ??= refresh()
    const inTime = await within(
      clock,
      timeout,
      reading.then(() => true),
      false,
    )
    return known(inTime ? up : await isThere())
  }
}

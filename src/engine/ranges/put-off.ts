import type { Clock } from '../../clock/clock.ts'

/**
 * What cannot be done in the database for now, in the memory of this process: to write it down there might fail for the
 * same reason.
 */
export class PutOff {
  readonly #clock: Clock
  /** How often in a row, and until when on the monotonic clock, ms. */
  readonly #all = new Map<string, { readonly failures: number; readonly until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Puts it off once more, for as long as is said of so many failures in a row. */
  add(key: string, pause: (failures: number) => number): void {
    const failures = this.failures(key) + 1
    this.#all.set(key, { failures, until: this.#clock.monotonic() + pause(failures) })
  }

  /** Failures in a row so far, also of what has its turn again. */
  failures(key: string): number {
    return this.#all.get(key)?.failures ?? 0
  }

  isWaiting(key: string): boolean {
    return (this.#all.get(key)?.until ?? 0) > this.#clock.monotonic()
  }

  /** What waits now. */
  waiting(): readonly string[] {
    return [...this.#all.keys()].filter(key => this.isWaiting(key))
  }

  /** In how many ms the first of what waits has its turn; Infinity where nothing does. */
  next(): number {
    const now = this.#clock.monotonic()
    return Math.min(...[...this.#all.values()].map(({ until }) => until - now).filter(wait => wait > 0))
  }

  done(key: string): void {
    this.#all.delete(key)
  }

  /** Forgets what has had its turn for so long, ms, that nobody will ask for it any more. */
  forget(age: number): void {
    const before = this.#clock.monotonic() - age
    for (const [key, { until }] of this.#all) if (until < before) this.#all.delete(key)
  }
}

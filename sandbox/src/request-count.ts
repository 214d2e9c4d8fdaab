/** Milliseconds of a day that any 24 hours make, or midnight to midnight UTC. */
const day = 86_400_000

/** How arrivals are put together: in every window that ends now, or in windows that the clock marks off. */
export type Reading = 'sliding' | 'fixed'

/**
 * The times of the arrivals that one counter counts. Whether the latest goes beyond `most` in a window: a
 * sliding one is `length` long, without its beginning; fixed ones begin at whole multiples of it.
 */
export class Tally {
  /** Milliseconds, never falling. */
  #times: number[] = []

  /** Times must not fall; what no window of a day holds any longer is forgotten. */
  add(time: number): void {
    this.#times.push(time)
    if (this.#times.length < 2 * 4_096) return
    const kept = this.#times.findIndex(one => one > time - 2 * day)
    if (kept > 4_096) this.#times = this.#times.slice(kept)
  }

  isBeyond(most: number, length: number, reading: Reading): boolean {
    const latest = this.#times.at(-1)
    const oneTooMany = this.#times.at(-1 - most)
    if (latest === undefined || oneTooMany === undefined) return false
    if (reading === 'sliding') return oneTooMany > latest - length
    return Math.floor(oneTooMany / length) === Math.floor(latest / length)
  }
}

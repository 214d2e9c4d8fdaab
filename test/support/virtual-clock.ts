import type { Clock } from '../../src/clock/clock.ts'

interface Sleeper {
  readonly wakeAt: number
  readonly wake: () => void
}

/** Monday, 5 January 2026, 08:00 UTC. */
const monday = Date.UTC(2026, 0, 5, 8)

/**
 * A clock that stands still until a test moves it. Sleepers wake in the order of their time (equal times: in
 * the order in which they fell asleep), and what they wake may run, and sleep again, before time goes on.
 */
export class VirtualClock implements Clock {
  #elapsed = 0
  #wallOffset: number
  readonly #sleepers: Sleeper[] = []

  constructor(start = monday) {
    this.#wallOffset = start
  }

  now(): number {
    return this.#wallOffset + this.#elapsed
  }

  monotonic(): number {
    return this.#elapsed
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms <= 0 || signal?.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const wake = () => {
        const place = this.#sleepers.indexOf(sleeper)
        if (place >= 0) this.#sleepers.splice(place, 1)
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const sleeper = { wakeAt: this.#elapsed + ms, wake }
      this.#sleepers.splice(this.#placeOf(sleeper.wakeAt), 0, sleeper)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }

  get sleeping(): number {
    return this.#sleepers.length
  }

  /** Moves time on by `ms`, waking on the way all who are due. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsed + ms
    await settled()
    while (this.#sleepers[0] && this.#sleepers[0].wakeAt <= end) await this.#wakeNext(this.#sleepers[0])
    this.#elapsed = end
  }

  /** Moves time on to the next sleeper and wakes it; false when nobody sleeps. */
  async runToNextTimer(): Promise<boolean> {
    await settled()
    const [next] = this.#sleepers
    if (!next) return false
    await this.#wakeNext(next)
    return true
  }

  /** Sets the wall clock as an operator or NTP would: waits do not notice. */
  jump(ms: number): void {
    this.#wallOffset += ms
  }

  /** Where one belongs who wakes at `wakeAt`: behind all who wake then or before. Thousands may sleep. */
  #placeOf(wakeAt: number): number {
    let from = 0
    let to = this.#sleepers.length
    while (from < to) {
      const middle = (from + to) >> 1
      if (this.#sleepers[middle]!.wakeAt <= wakeAt) from = middle + 1
      else to = middle
    }
    return from
  }

  async #wakeNext(next: Sleeper): Promise<void> {
    this.#elapsed = Math.max(this.#elapsed, next.wakeAt)
    next.wake()
    await settled()
  }
}

/** Long enough for all promises that need no more time or I/O. */
async function settled(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
  await new Promise(resolve => setImmediate(resolve))
}

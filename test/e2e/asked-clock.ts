import type { Clock } from '../../src/clock/clock.ts'
import { systemClock } from '../../src/clock/system.ts'

/** For how long an answer lets the clock go on, ms: longer than a daemon that has a processor is silent. */
const perAnswer = 1_000
const lookEvery = 10

/** A clock that goes on only while someone is answered, and never faster than the system's. */
export interface AskedClock {
  /** For the provider: it waits in the system's time, so that an answer which is slow comes by itself. */
  readonly clock: Clock
  answered(): void
  /** Stands still until it is released, whoever is answered. */
  hold(): void
  release(): void
  /** Resolves when the clock has gone on by `ms`. */
  pass(ms: number): Promise<void>
}

/**
 * A daemon that gets no processor asks nothing, and the provider then forgets nothing: how much it can have read
 * before a room is gone does not depend on the machine.
 */
export function askedClock(): AskedClock {
  const origin = systemClock.now()
  let before = 0
  let since = systemClock.monotonic()
  let isHeld = false
  const monotonic = () => (isHeld ? before : before + Math.min(systemClock.monotonic() - since, perAnswer))
  const goOn = () => {
    before = monotonic()
    since = systemClock.monotonic()
  }
  return {
    clock: { now: () => origin + monotonic(), monotonic, sleep: systemClock.sleep },
    answered: goOn,
    hold() {
      before = monotonic()
      isHeld = true
    },
    release() {
      isHeld = false
      since = systemClock.monotonic()
    },
    async pass(ms) {
      const end = monotonic() + ms
      while (monotonic() < end) await systemClock.sleep(lookEvery)
    },
  }
}

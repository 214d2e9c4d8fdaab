import type { Clock } from '../clock/clock.ts'

/** Lets a loop nap until something happens. */
export interface Wakeup {
  /** Ends the nap under way, or the next one before it begins: no ring is lost. */
  readonly notify: () => void
  /** Resolves after `ms`, or as soon as the bell rings. */
  readonly wait: (ms: number) => Promise<void>
}

export function createWakeup(clock: Clock): Wakeup {
  let isRung = false
  let napping: AbortController | undefined
  return {
    notify: () => {
      isRung = true
      // A reason of its own spares the making of an error with its stack, thousands of times a second.
      napping?.abort('rung')
    },
    wait: async ms => {
      if (!isRung) {
        napping = new AbortController()
        await clock.sleep(ms, napping.signal)
        napping = undefined
      }
      isRung = false
    },
  }
}

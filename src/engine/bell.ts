import type { Clock } from '../clock/clock.ts'

/** Lets a loop nap until something happens. */
export interface Bell {
  /** Ends the nap under way, or the next one before it begins: no ring is lost. */
  readonly ring: () => void
  /** Resolves after `ms`, or as soon as the bell rings. */
  readonly nap: (ms: number) => Promise<void>
}

export function createBell(clock: Clock): Bell {
  let isRung = false
  let napping: AbortController | undefined
  return {
    ring: () => {
      isRung = true
      // A reason of its own spares the making of an error with its stack, thousands of times a second.
      napping?.abort('rung')
    },
    nap: async ms => {
      if (!isRung) {
        napping = new AbortController()
        await clock.sleep(ms, napping.signal)
        napping = undefined
      }
      isRung = false
    },
  }
}

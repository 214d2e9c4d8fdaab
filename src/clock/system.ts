import { randomUUID } from 'node:crypto'
import type { Clock, Random } from './clock.ts'

/** Node fires a timer of more than 2^31 - 1 ms at once, so longer waits are taken in pieces. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    const end = performance.now() + ms
    for (let left = ms; left > 0 && !signal?.aborted; left = end - performance.now()) {
      await timer(Math.min(left, LONGEST_TIMER_MS), signal)
    }
  },
}

export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() }

function timer(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const done = () => {
      clearTimeout(handle)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const handle = setTimeout(done, Math.ceil(ms))
    signal?.addEventListener('abort', done, { once: true })
  })
}

/** Ends the process, with the exit code that it has by then, where something holds it after `ms` still. */
export function exitWithin(ms: number): void {
  setTimeout(() => process.exit(), ms).unref()
}

const none = () => undefined
/** The time, with timers that never fire: for a package that is to do nothing by itself. */
export const timerless = {
  now: systemClock.now,
  ...{ setTimeout: none, setInterval: none, clearTimeout: none, clearInterval: none },
}

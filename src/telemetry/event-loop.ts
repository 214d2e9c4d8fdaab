import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock } from '../clock/clock.ts'

/** Between two beats, ms. */
const BEAT_MS = 1_000

/** How long a beat may be missing, ms. */
const LONGEST_PAUSE_MS = 15_000

/** Beats on the event loop until it is stopped, so that a process that stands still can be told from one that works. */
export function startHeartbeat(clock: Clock) {
  const stopped = new AbortController()
  let beatAt = clock.monotonic()
  const beat = async () => {
    while (!stopped.signal.aborted) {
      await clock.sleep(BEAT_MS, stopped.signal)
      beatAt = clock.monotonic()
    }
  }
  void beat()
  return {
    /** Whether the event loop has turned lately. */
    alive: () => clock.monotonic() - beatAt < LONGEST_PAUSE_MS,
    stop: () => stopped.abort(),
  }
}

/** Of the timer that measures, ms. */
const resolution = 10

/** Watches how late the event loop turns. What it measures has the length of its own timer in it. */
export function watchEventLoop() {
  const delay = monitorEventLoopDelay({ resolution })
  delay.enable()
  return {
    /** How late timers were since the last call, in seconds: 99 of 100 were no later. */
    lag() {
      const seconds = delay.percentile(99) / 1e9 - resolution / 1e3
      delay.reset()
      return Math.max(0, seconds)
    },
    stop: () => void delay.disable(),
  }
}

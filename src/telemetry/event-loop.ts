import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock } from '../clock/clock.ts'

interface Heartbeat {
  /** Whether the event loop has turned lately. */
  readonly alive: () => boolean
  readonly stop: () => void
}

interface HeartbeatOptions {
  readonly clock: Clock
  /** Between two beats, ms. */
  readonly every?: number
  /** How long a beat may be missing, ms. */
  readonly limit?: number
}

/** Beats on the event loop until it is stopped, so that a process that stands still can be told from one that works. */
export function startHeartbeat({ clock, every = 1_000, limit = 15_000 }: HeartbeatOptions): Heartbeat {
  const stopped = new AbortController()
  let beatAt = clock.monotonic()
  const beat = async () => {
    while (!stopped.signal.aborted) {
      await clock.sleep(every, stopped.signal)
      beatAt = clock.monotonic()
    }
  }
  void beat()
  return {
    alive: () => clock.monotonic() - beatAt < limit,
    stop: () => stopped.abort(),
  }
}

const resolution = 10

interface EventLoop {
  /** How late timers were since the last call, in seconds: 99 of 100 were no later. */
  readonly lag: () => number
  readonly stop: () => void
}

/** Watches how late the event loop turns. What it measures has the length of its own timer in it. */
export function watchEventLoop(): EventLoop {
  const delay = monitorEventLoopDelay({ resolution })
  delay.enable()
  return {
    lag() {
      const seconds = delay.percentile(99) / 1e9 - resolution / 1e3
      delay.reset()
      return Math.max(0, seconds)
    },
    stop: () => void delay.disable(),
  }
}

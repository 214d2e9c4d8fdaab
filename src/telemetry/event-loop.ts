import { monitorEventLoopDelay } from 'node:perf_hooks'

const resolution = 10

export interface EventLoop {
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

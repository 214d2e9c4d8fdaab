import type { Clock } from '../clock/clock.ts'

export interface Heartbeat {
  /** Whether the event loop has turned lately. */
  readonly alive: () => boolean
  readonly stop: () => void
}

export interface HeartbeatOptions {
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

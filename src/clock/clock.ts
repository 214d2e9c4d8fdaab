/**
 * The two ports through which every room reads time and chance. Production code never calls
 * `Date.now`, `setTimeout` or `Math.random` itself, so that a simulation can own both.
 */
export interface Clock {
  /** Wall-clock time in milliseconds since the Unix epoch, UTC. May jump. */
  now(): number
  /** Milliseconds on a clock that never goes back; its zero is arbitrary. Every wait is measured on it. */
  monotonic(): number
  /** Resolves after `ms` milliseconds, or as soon as `signal` aborts; never rejects. Any length is safe. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A random UUID, version 4, in lower case. */
  uuid(): string
}

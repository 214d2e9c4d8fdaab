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

/** What `work` comes to, or `late` where it takes longer than `ms`, or until `signal` aborts; it then goes on unheard. */
export async function within<T, L>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  late: L,
  signal?: AbortSignal,
): Promise<T | L> {
  const enough = new AbortController()
  const stop = () => enough.abort()
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  try {
    return await Promise.race([work, clock.sleep(ms, enough.signal).then(() => late)])
  } finally {
    signal?.removeEventListener('abort', stop)
    stop()
    work.catch(() => {})
  }
}

/** Lets so many pieces of work go on at one time; the others wait for their turn. */
export type Turns = <T>(work: () => Promise<T>) => Promise<T>

export function createTurns(most: number): Turns {
  const waiting: (() => void)[] = []
  let under = 0
  return async work => {
    if (under >= most) await new Promise<void>(resolve => waiting.push(resolve))
    else under += 1
    try {
      return await work()
    } finally {
      // Whoever waits takes the place over.
      const next = waiting.shift()
      if (next) next()
      else under -= 1
    }
  }
}

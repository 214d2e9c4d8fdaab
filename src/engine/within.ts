import type { Clock } from '../clock/clock.ts'

/** Something did not come about in time. */
class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

/**
 * Settles as `work` does if it settles within `ms` and before `signal` aborts; else rejects with TimedOut, while
 * the work goes on unheard.
 */
export async function within<T>(
  clock: Clock,
  ms: number,
  work: Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const over = new AbortController()
  const giveUp = () => over.abort()
  signal?.addEventListener('abort', giveUp, { once: true })
  if (signal?.aborted) giveUp()
  try {
    const late = clock.sleep(ms, over.signal).then(() => Promise.reject(new TimedOut('not in time')))
    late.catch(() => {})
    return await Promise.race([work, late])
  } finally {
    signal?.removeEventListener('abort', giveUp)
    over.abort()
    work.catch(() => {})
  }
}

/** How waits grow from failure to failure. */
export interface Backoff {
  /** First wait, ms. */
  readonly first: number
  /** Longest wait, ms, before it is spread. */
  readonly cap: number
}

/**
 * The wait in ms after the n-th failure in a row (n from 1). Grows twofold up to its cap; `chance` in [0, 1)
 * spreads it, so that many waiters do not come back together. What the provider asked for (`retryAfter`,
 * seconds) is never undercut.
 */
export function retryDelay(backoff: Backoff, failures: number, chance: number, retryAfter?: number): number {
  const grown = Math.min(backoff.cap, backoff.first * 2 ** Math.min(failures - 1, 30))
  const spread = grown >= backoff.cap ? grown * (1 + chance / 2) : grown * (0.5 + chance / 2)
  const asked = retryAfter === undefined ? 0 : retryAfter * 1_000 * (1 + chance / 10)
  return Math.max(spread, asked)
}

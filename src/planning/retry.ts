/** How waits grow from failure to failure. */
export interface Backoff {
  /** First wait, ms. */
  readonly first: number
  /** Longest wait, ms, before it is spread. */
  readonly cap: number
  /** By how much each wait is longer than the one before; twofold unless told. */
  readonly factor?: number
}

/** By how much chance lengthens a wait at most. */
export const longestSpread = 1.5

/**
 * The wait in ms after the n-th failure in a row (n from 1). Grows up to its cap; `chance` in [0, 1) lengthens it,
 * so that many waiters do not come back together. What the provider asked for (`retryAfter`,
 * seconds) is never undercut.
 */
export function retryDelay(backoff: Backoff, failures: number, chance: number, retryAfter?: number): number {
  const { first, cap, factor = 2 } = backoff
  const grown = Math.min(cap, first * factor ** Math.min(failures - 1, 30))
  return Math.max(grown * (1 + chance * (longestSpread - 1)), askedDelay(retryAfter ?? 0, chance))
}

/** What the provider asked for, in ms, lengthened by up to a tenth. `retryAfter` in seconds. */
export function askedDelay(retryAfter: number, chance: number): number {
  return retryAfter * 1_000 * (1 + chance / 10)
}

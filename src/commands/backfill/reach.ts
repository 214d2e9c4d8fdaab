import type { Range } from '../../planning/range.ts'
import type { RangeLimits } from '../../provider/limits.ts'

/** What of a range can be had, and what cannot; all in Unix seconds. */
export interface Reach {
  /** What the provider serves now; undefined when that is nothing. */
  readonly range: Range | undefined
  readonly outside: readonly Outside[]
}

export interface Outside {
  readonly range: Range
  readonly why: 'gone' | 'too young'
}

/** Cuts a range to what may be asked for at `now`. */
export function cutToReach({ from, to }: Range, { reach, delay }: RangeLimits, now: number): Reach {
  const [edge, horizon] = [now - reach + 1, now - delay]
  const gone = { from, to: Math.min(to, edge) }
  const young = { from: Math.max(from, horizon), to }
  const served = { from: Math.max(from, edge), to: Math.min(to, horizon) }
  return {
    range: isEmpty(served) ? undefined : served,
    outside: [
      ...(isEmpty(gone) ? [] : [{ range: gone, why: 'gone' } as const]),
      ...(isEmpty(young) ? [] : [{ range: young, why: 'too young' } as const]),
    ],
  }
}

function isEmpty({ from, to }: Range): boolean {
  return from >= to
}

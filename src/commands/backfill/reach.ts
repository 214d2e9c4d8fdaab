import { floorTo } from '../../planning/align.ts'
import type { Range } from '../../planning/range.ts'
import type { RangeLimits } from '../../provider/limits.ts'

/** How a range is cut; all in seconds. */
export interface Cut extends Pick<RangeLimits, 'availableData' | 'dataDelay'> {
  /** What one value stands for: the range begins with a whole one. 1 where items have any time. */
  readonly step: number
  /** The first multiple of the step, Unix seconds, that is still served when the daemon comes to ask for it. */
  readonly earliest: number
}

/** What of a range can be had, and what cannot; all in Unix seconds. */
export interface Reach {
  /** What can be had; undefined when that is nothing. */
  readonly range: Range | undefined
  readonly outside: readonly Outside[]
}

export interface Outside {
  readonly range: Range
  readonly why: 'gone' | 'leaving' | 'too young'
}

/** Cuts a range to what the provider serves at `now` and goes on serving until it is asked for. */
export function cutToReach(
  { from, to }: Range,
  { availableData, dataDelay, step, earliest }: Cut,
  now: number,
): Reach {
  const [upperBound, lowerBound] = [now - availableData + 1, now - dataDelay]
  const begin = Math.max(floorTo(from, step), earliest)
  const served = { from: begin, to: Math.min(to, lowerBound) }
  const outside: readonly Outside[] = [
    { why: 'gone', range: { from, to: Math.min(to, upperBound) } },
    { why: 'leaving', range: { from: Math.max(from, upperBound), to: Math.min(to, begin, lowerBound) } },
    { why: 'too young', range: { from: Math.max(from, lowerBound), to } },
  ]
  return {
    range: isEmpty(served) ? undefined : served,
    outside: outside.filter(({ range }) => !isEmpty(range)),
  }
}

function isEmpty({ from, to }: Range): boolean {
  return from >= to
}

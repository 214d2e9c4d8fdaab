import { ceilTo, floorTo } from './align.ts'
import { type Coverage, type Frame, provisional, unread, unserved, unsettled } from './coverage.ts'
import type { Range, Ranges } from './range.ts'
import { between, intersect, subtract } from './ranges.ts'
import { frameOf, longestWindow, type WindowRules, watermark } from './windows.ts'

/**
 * live: the newest; revisit: read before, and final if it is read now; backfill: long past or wanted again; repair: not
 * served when it was asked for.
 */
export type WindowPurpose = 'live' | 'revisit' | 'backfill' | 'repair'

/**
 * The next window of a series for a purpose, or undefined when it has no work now. `now` is the provider's, Unix
 * seconds; `longest` (seconds) asks for less than the span allows, where a longer window was too much. Applied
 * again and again with what was read, the purposes leave nothing out that can be asked for.
 */
export function planWindow(
  rules: WindowRules,
  coverage: Coverage,
  now: number,
  purpose: WindowPurpose,
  longest = Number.POSITIVE_INFINITY,
): Range | undefined {
  const frame = frameOf(rules, now)
  const limit = Math.min(longestWindow(rules), Math.max(rules.step, floorTo(longest, rules.step)))
  if (frame.upperBound >= frame.lowerBound || limit === 0) return undefined
  const newest = newestWindow(rules, coverage, frame, limit)
  const before = between(frame.upperBound, newest?.from ?? frame.lowerBound)
  switch (purpose) {
    case 'live':
      return newest && isDue(rules, coverage, frame, newest, now) ? newest : undefined
    case 'revisit': {
      const ripe = between(frame.upperBound, watermark(rules, now))
      return oldestWindow(
        rules,
        frame,
        limit,
        intersect(intersect(provisional(coverage, frame), ripe), before),
      )
    }
    case 'backfill':
      return oldestWindow(rules, frame, limit, intersect(unread(coverage, frame), before))
    case 'repair':
      return oldestWindow(rules, frame, limit, intersect(unserved(coverage, frame), before))
  }
}

/** Where the newest data are: as much as a request takes, or what is owed without a break up to the horizon. */
function newestWindow(
  rules: WindowRules,
  coverage: Coverage,
  frame: Frame,
  limit: number,
): Range | undefined {
  const { upperBound, lowerBound } = frame
  if (rules.frame === 'full') return { from: Math.max(upperBound, lowerBound - limit), to: lowerBound }
  const tail = unsettled(coverage, frame).at(-1)
  if (tail?.to !== lowerBound) return undefined
  return { from: Math.max(floorTo(tail.from, rules.step), lowerBound - limit), to: lowerBound }
}

/** Something in it is unread; or its first value leaves it with the next new one, and is final if it is read now. */
function isDue(rules: WindowRules, coverage: Coverage, frame: Frame, newest: Range, now: number): boolean {
  if (intersect(unread(coverage, frame), [newest]).length > 0) return true
  if (rules.frame === 'needed') return false
  const leaving = between(newest.from, Math.min(newest.from + rules.step, watermark(rules, now)))
  return intersect(provisional(coverage, frame), leaving).length > 0
}

/** From the first second of `targets` on: the longest window, or one that ends with the last target within it. */
function oldestWindow(rules: WindowRules, frame: Frame, limit: number, targets: Ranges): Range | undefined {
  const first = targets[0]
  if (first === undefined) return undefined
  const from = floorTo(first.from, rules.step)
  const end = from + limit
  if (rules.frame === 'full') return { from, to: end }
  const last = subtract(targets, between(end, frame.lowerBound)).at(-1)!
  return { from, to: ceilTo(last.to, rules.step) }
}

import { type Coverage, expired } from '../../src/planning/coverage.ts'
import { type Range, type Ranges, subtract, union } from '../../src/planning/ranges.ts'
import type { Purpose } from '../../src/planning/shares.ts'
import { finalPart, frameOf, planWindow, type WindowRules } from '../../src/planning/windows.ts'

const hour = 3_600
const day = 24 * hour
export const purposes: readonly Purpose[] = ['live', 'revisit', 'backfill']
export const nothing = { covered: [], seen: [], lost: [], missing: [], wanted: [] }

/** What the store makes of a reading at `now`; the seconds of `open` go on and so are never final. */
export function read(
  rules: WindowRules,
  coverage: Coverage,
  range: Range,
  now: number,
  open: Ranges = [],
): Coverage {
  return {
    ...coverage,
    covered: union(coverage.covered, subtract(finalPart(rules, range, now), open)),
    seen: union(coverage.seen, [range]),
    wanted: subtract(coverage.wanted, [range]),
  }
}

/** Follows a stream for some days of polling, and counts what it asks; `goesOn` never becomes final. */
export function follow(
  rules: WindowRules,
  every: number,
  days: number,
  goesOn: (now: number) => Ranges = () => [],
): {
  readonly coverage: Coverage
  readonly now: number
  readonly lost: Ranges
  readonly counts: Record<Purpose, number>
} {
  const began = 20_000 * day + 12 * hour + 7
  let coverage: Coverage = { ...nothing, backlogFrom: frameOf(rules, began).upperBound }
  const counts = { live: 0, revisit: 0, backfill: 0, repair: 0 }
  let now = began
  let lost: Ranges = []
  for (; now < began + days * day; now += every) {
    for (const purpose of purposes) {
      for (;;) {
        const range = planWindow(rules, coverage, now, purpose)
        if (!range) break
        coverage = read(rules, coverage, range, now, goesOn(now))
        counts[purpose] += 1
        if (purpose === 'revisit' && goesOn(now).length > 0) break
      }
    }
    lost = union(lost, expired(coverage, frameOf(rules, now).lowerBound))
  }
  return { coverage, now: now - every, lost, counts }
}

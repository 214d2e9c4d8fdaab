import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  backlogOf,
  type Coverage,
  expired,
  provisional,
  unread,
  unsettled,
} from '../../src/planning/coverage.ts'
import { normalise, type Range, type Ranges } from '../../src/planning/ranges.ts'

const most = 40
const ranges = fc
  .array(fc.tuple(fc.nat(most), fc.integer({ min: 1, max: 8 })), { maxLength: 5 })
  .map(list => normalise(list.map(([from, length]): Range => ({ from, to: from + length }))))
const coverage: fc.Arbitrary<Coverage> = fc.record({
  ...{
    backlogFrom: fc.nat(most),
    covered: ranges,
    seen: ranges,
    lost: ranges,
    missing: fc.constant([]),
    wanted: ranges,
  },
})
const frame = fc
  .tuple(fc.nat(most), fc.nat(most))
  .map(([a, b]) => ({ lowerBound: Math.min(a, b), upperBound: Math.max(a, b) }))

const has = (set: Ranges, s: number) => set.some(({ from, to }) => from <= s && s < to)

/** Second by second, as the rules are told. */
function expectSeconds(set: Ranges, right: (s: number) => boolean): void {
  for (let s = -1; s <= most + 10; s++) expect(has(set, s), `second ${s}`).toBe(right(s))
}

describe('of a series', () => {
  it('owed is what is not covered and not given up within the frame, and what is wanted there', () => {
    fc.assert(
      fc.property(coverage, frame, (of, { lowerBound, upperBound }) => {
        const open = (s: number) => s >= of.backlogFrom && !has(of.covered, s) && !has(of.lost, s)
        const inside = (s: number) => s >= lowerBound && s < upperBound
        expectSeconds(unsettled(of, { lowerBound, upperBound }), s => inside(s) && open(s))
        expectSeconds(
          backlogOf(of, { lowerBound, upperBound }),
          s => inside(s) && (open(s) || has(of.wanted, s)),
        )
        expectSeconds(
          unread(of, { lowerBound, upperBound }),
          s => inside(s) && ((open(s) && !has(of.seen, s)) || has(of.wanted, s)),
        )
        expectSeconds(
          provisional(of, { lowerBound, upperBound }),
          s => inside(s) && open(s) && has(of.seen, s) && !has(of.wanted, s),
        )
      }),
    )
  })

  it('expired is what was owed and lies before the edge, and nothing else', () => {
    fc.assert(
      fc.property(coverage, fc.nat(most), (of, lowerBound) => {
        expectSeconds(
          expired(of, lowerBound),
          s => s >= of.backlogFrom && s < lowerBound && !has(of.covered, s) && !has(of.lost, s),
        )
      }),
    )
  })
})

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { tallyHoles, walkOn } from '../../src/streams/parts/holes.ts'

const start = { last: null, holes: [] }

it('what is skipped between neighbours is a hole, but not what lies before the first', () => {
  expect(walkOn(start, [5, 6, 9, 10, 12])).toEqual({
    last: 12,
    holes: [
      [7, 8],
      [11, 11],
    ],
  })
})

it('a sequence that comes late splits its hole', () => {
  expect(walkOn(start, [1, 9, 4]).holes).toEqual([
    [2, 3],
    [5, 8],
  ])
})

it('holes are exact across the last integer that a number can hold', () => {
  const walk = walkOn(start, [Number.MAX_SAFE_INTEGER - 1, 9_007_199_254_740_994n])
  expect(walk.holes).toEqual([[Number.MAX_SAFE_INTEGER, 9_007_199_254_740_993n]])
})

it('in whatever order and pages sequences come, the holes are what is missing after the first one', () => {
  const sequences = fc.uniqueArray(fc.integer({ min: 0, max: 60 }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(sequences, fc.nat(40), (seen, cut) => {
      const walk = walkOn(walkOn(start, seen.slice(0, cut)), seen.slice(cut))
      const missing = new Set(walk.holes.flatMap(([from, to]) => span(Number(from), Number(to))))
      const expected = span(seen[0]!, Math.max(...seen)).filter(sequence => !seen.includes(sequence))
      expect([...missing].sort((a, b) => a - b)).toEqual(expected)
    }),
  )
})

it('a hole counts the readings that show it, what is left of one those that showed the whole, and another one begins anew', () => {
  const tally = [
    [3, 4, 2],
    [8, 9, 1],
    [12, 15, 1],
  ] as const
  expect(
    tallyHoles(
      [
        [3, 4],
        [8, 8],
        [12, 12],
        [14, 16],
      ],
      tally,
      'again',
    ),
  ).toEqual([
    [3, 4, 3],
    [8, 8, 2],
    [12, 12, 2],
    [14, 16, 1],
  ])
  expect(tallyHoles([[3, 4]], tally, 'same')).toEqual([[3, 4, 2]])
  expect(tallyHoles([[4, 4]], tally, 'same')).toEqual([[4, 4, 2]])
})

function span(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index)
}

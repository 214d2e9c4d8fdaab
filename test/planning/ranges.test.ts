import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  between,
  intersect,
  lengthOf,
  normalise,
  type Range,
  type Ranges,
  subtract,
  union,
  withoutValue,
} from '../../src/planning/ranges.ts'

const most = 60
const range = fc
  .tuple(fc.nat(most), fc.nat(most))
  .map(([a, b]): Range => ({ from: Math.min(a, b), to: Math.max(a, b) }))
const lists = fc.array(range, { maxLength: 12 })
const sets = lists.map(list => fromSeconds(secondsOf(list)))

/** The oracle knows only single seconds. */
function secondsOf(list: readonly Range[]): ReadonlySet<number> {
  return new Set(
    Array.from({ length: most }, (_, s) => s).filter(s => list.some(r => r.from <= s && s < r.to)),
  )
}

function fromSeconds(seconds: ReadonlySet<number>): Ranges {
  const firsts = [...seconds].filter(s => !seconds.has(s - 1)).toSorted((a, b) => a - b)
  return firsts.map(from => {
    let to = from
    while (seconds.has(to)) to += 1
    return { from, to }
  })
}

function expectSeconds(ranges: Ranges, seconds: (s: number) => boolean): void {
  const right = new Set(Array.from({ length: most }, (_, s) => s).filter(seconds))
  expect(ranges).toEqual(fromSeconds(right))
}

describe('sets of seconds', () => {
  it('any ranges become ordered ones that neither overlap nor touch', () => {
    expect(
      normalise([
        { from: 5, to: 9 },
        { from: 3, to: 3 },
        { from: 1, to: 2 },
        { from: 2, to: 4 },
      ]),
    ).toEqual([
      { from: 1, to: 4 },
      { from: 5, to: 9 },
    ])
    fc.assert(fc.property(lists, list => expectSeconds(normalise(list), s => secondsOf(list).has(s))))
  })

  it('a union holds what is in either', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const [inA, inB] = [secondsOf(a), secondsOf(b)]
        expectSeconds(union(a, b), s => inA.has(s) || inB.has(s))
      }),
    )
  })

  it('an intersection holds what is in both', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const [inA, inB] = [secondsOf(a), secondsOf(b)]
        expectSeconds(intersect(a, b), s => inA.has(s) && inB.has(s))
      }),
    )
  })

  it('a difference holds what is in the first alone', () => {
    fc.assert(
      fc.property(sets, sets, (a, b) => {
        const [inA, inB] = [secondsOf(a), secondsOf(b)]
        expectSeconds(subtract(a, b), s => inA.has(s) && !inB.has(s))
      }),
    )
  })

  it('the length counts every second once', () => {
    fc.assert(fc.property(sets, set => lengthOf(set) === secondsOf(set).size))
  })

  it('what would end before it begins is nothing', () => {
    expect(between(3, 7)).toEqual([{ from: 3, to: 7 }])
    expect(between(7, 7)).toEqual([])
    expect(between(8, 7)).toEqual([])
  })

  it('work on a hundred thousand ranges takes one pass', () => {
    const many = (shift: number) =>
      Array.from({ length: 100_000 }, (_, i) => ({ from: i * 4 + shift, to: i * 4 + shift + 2 }))
    const began = process.cpuUsage().user
    expect(lengthOf(union(many(0), many(1)))).toBe(300_000)
    expect(lengthOf(intersect(many(0), many(1)))).toBe(100_000)
    expect(lengthOf(subtract(many(0), many(1)))).toBe(100_000)
    // A pass over the one for each of the other would be 10,000 million steps.
    expect(process.cpuUsage().user - began).toBeLessThan(3_000_000)
  })
})

const hour = 3_600
const noon = 20_000 * 24 * hour + 12 * hour

describe('what an answer lacks', () => {
  it('is nothing where each step has its value, and the end of the frame counts for the next one', () => {
    const boundaries = Array.from({ length: 25 }, (_, n) => noon + n * hour)
    expect(withoutValue({ from: noon, to: noon + 24 * hour }, hour, boundaries)).toEqual([])
  })

  it('is all of it where the answer is empty', () => {
    const range = { from: noon, to: noon + 40 * 60 }
    expect(withoutValue(range, 20, [])).toEqual([range])
  })

  it('is each step alone, with its neighbours where they are missing too', () => {
    const received = [noon, noon + 60, noon + 80]
    expect(withoutValue({ from: noon, to: noon + 120 }, 20, received)).toEqual([
      { from: noon + 20, to: noon + 60 },
      { from: noon + 100, to: noon + 120 },
    ])
  })

  it('is not a step whose value is dated anywhere in it', () => {
    expect(withoutValue({ from: noon, to: noon + 40 }, 20, [noon + 19, noon + 39])).toEqual([])
  })
})

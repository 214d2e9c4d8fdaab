import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { closedSlices, slices } from '../../src/planning/windows.ts'
import { callDetailsLimits } from '../../src/provider/analytics/index.ts'

const hour = 3_600
const day = 24 * hour
const standard = callDetailsLimits.standard!
const limits = fc.constantFrom(...Object.values(callDetailsLimits))
const start = fc.integer({ min: 19_000 * day, max: 25_000 * day })

describe('a call', () => {
  it('that fits in the span is asked for in one slice, both ends included', () => {
    expect(slices({ from: 1_000, to: 1_000 + 45 * 60 }, standard.timeFrame)).toEqual([
      { from: 1_000, to: 1_000 + 45 * 60 },
    ])
    expect(slices({ from: 1_000, to: 1_000 + hour - 1 }, standard.timeFrame)).toHaveLength(1)
  })

  it('of exactly the span needs two, since the span is strict', () => {
    expect(slices({ from: 0, to: hour }, standard.timeFrame)).toEqual([
      { from: 0, to: hour - 1 },
      { from: hour - 1, to: hour },
    ])
  })

  it.each([
    ['standard', 26],
    ['premium', 9],
    ['enterprise', 5],
  ] as const)('of 25 hours is asked for in %s in %i slices', (plan, count) => {
    expect(slices({ from: 0, to: 25 * hour }, callDetailsLimits[plan]!.timeFrame)).toHaveLength(count)
  })

  it('that ends when or before it starts is asked for at its first second', () => {
    expect(slices({ from: 500, to: 500 }, standard.timeFrame)).toEqual([{ from: 500, to: 500 }])
    expect(slices({ from: 500, to: 20 }, standard.timeFrame)).toEqual([{ from: 500, to: 500 }])
  })

  it('is cut without a gap into as few slices as the strict span lets it be', () => {
    fc.assert(
      fc.property(limits, start, fc.integer({ min: 0, max: 3 * day }), ({ timeFrame }, from, length) => {
        const cut = slices({ from, to: from + length }, timeFrame)
        expect(cut[0]!.from).toBe(from)
        expect(cut.at(-1)!.to).toBe(from + length)
        cut.forEach((slice, i) => {
          expect(slice.to - slice.from).toBeLessThan(timeFrame)
          if (i > 0) expect(slice.from).toBe(cut[i - 1]!.to)
        })
        // One slice less could not span the call, were each as long as it may be.
        if (cut.length > 1) expect((cut.length - 1) * (timeFrame - 1)).toBeLessThan(length)
      }),
    )
  })

  it('that has grown keeps its first slices', () => {
    const length = fc.integer({ min: 1, max: 2 * day })
    fc.assert(
      fc.property(limits, start, length, length, ({ timeFrame }, from, before, more) => {
        const first = slices({ from, to: from + before }, timeFrame).slice(0, -1)
        const later = slices({ from, to: from + before + more }, timeFrame)
        expect(later.slice(0, first.length)).toEqual(first)
      }),
    )
  })
})

describe('a call that goes on', () => {
  it('is not touched before its start has spent half of the available data', () => {
    expect(closedSlices(0, standard, 12 * hour - 1, 0.5)).toEqual([])
    expect(closedSlices(0, standard, 12 * hour, 0.5)).toEqual([{ from: 0, to: hour - 1 }])
  })

  it('has only slices that are over and older than the delay', () => {
    expect(closedSlices(0, standard, hour - 1 + 300, 0)).toEqual([])
    expect(closedSlices(0, standard, hour + 300, 0)).toEqual([{ from: 0, to: hour - 1 }])
  })

  it('has all such slices, and they are the first of the whole call', () => {
    const age = fc.integer({ min: 0, max: 2 * day })
    const share = fc.constantFrom(0, 0.25, 0.5, 0.9)
    fc.assert(
      fc.property(limits, start, age, share, (rules, from, old, part) => {
        const now = from + old
        const due = slices({ from, to: from + 3 * day }, rules.timeFrame).filter(
          slice => slice.to < now - rules.dataDelay && slice.from <= now - part * rules.availableData,
        )
        expect(closedSlices(from, rules, now, part)).toEqual(due)
      }),
    )
  })
})

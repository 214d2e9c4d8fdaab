import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Range } from '../../src/planning/ranges.ts'
import {
  boundsOf,
  expiryOf,
  finalPart,
  frameOf,
  halve,
  isAllowed,
  longestWindow,
  validFor,
  type WindowRules,
} from '../../src/planning/windows.ts'
import { moment, plannedStreams, someRules } from './plans.ts'

const noMargin = { start: 0, end: 0 }
const named = (name: string): WindowRules => {
  const stream = plannedStreams.find(each => each.name === name)
  if (!stream) throw new Error(`no stream is called ${name}`)
  return { ...stream.rules, margin: noMargin }
}
const hour = 3_600
const day = 24 * hour
/** 2026-03-01T00:00:00Z. */
const march = 1_772_323_200

describe('the longest window', () => {
  it.each([
    ['calls, standard', 8 * hour - 1],
    ['calls, premium', 16 * hour - 1],
    ['calls, enterprise', 24 * hour - 1],
    ['usage by hour, premium', 72 * hour],
    ['usage by day, premium', 3 * day],
    ['quality by minute, premium', 3 * day],
    ['quality by day, enterprise', 7 * day],
    ['real time, premium', 2_380],
    ['real time, enterprise', 3_580],
  ])('of %s is %i seconds', (name, seconds) => {
    expect(longestWindow(named(name))).toBe(seconds)
  })

  it('is as long as the strict span lets it be, and no longer', () => {
    fc.assert(
      fc.property(someRules, fc.integer({ min: 0, max: 200_000 }), (rules, timeFrame) => {
        const longest = longestWindow({ ...rules, timeFrame })
        const isTaken = (length: number) => {
          const { start, end } = boundsOf(rules, { from: 0, to: length })
          return end - start < timeFrame
        }
        expect(longest % rules.step).toBe(0)
        if (longest > 0) expect(isTaken(longest)).toBe(true)
        expect(isTaken(longest + rules.step)).toBe(false)
      }),
    )
  })
})

describe('as sent', () => {
  it('three days in hours end with the beginning of the last hour', () => {
    const range = { from: march, to: march + 72 * hour }
    expect(boundsOf({ step: hour }, range)).toEqual({ start: march, end: march + 71 * hour })
  })

  it.each([1, 20])('a range in steps of %i seconds ends where it ends', step => {
    expect(boundsOf({ step }, { from: march, to: march + 40 })).toEqual({ start: march, end: march + 40 })
  })
})

describe('the frame of what can be asked for', () => {
  it('of calls in Standard is the last three days but for a minute, both ends strict', () => {
    expect(frameOf(named('calls, standard'), march)).toEqual({
      lowerBound: march - 3 * day + 1,
      upperBound: march - 61,
    })
  })

  it('of hours in Premium begins and ends with an hour that is wholly inside', () => {
    expect(frameOf(named('usage by hour, premium'), march + 1_800)).toEqual({
      lowerBound: march - 14 * day + hour,
      upperBound: march - 12 * hour,
    })
    // An hour that ends exactly at the delay is not older than it.
    expect(frameOf(named('usage by hour, premium'), march).upperBound).toBe(march - 13 * hour)
  })

  it('of real time in Premium spans 39 minutes of whole windows', () => {
    expect(frameOf(named('real time, premium'), march + 50)).toEqual({
      lowerBound: march - 40 * 60 + 60,
      upperBound: march,
    })
    const { lowerBound, upperBound } = frameOf(named('real time, premium'), march + 59)
    expect(upperBound - lowerBound).toBe(39 * 60)
  })

  it('is as wide as the strict bounds and the margins let it be, at every moment', () => {
    fc.assert(
      fc.property(someRules, moment, (rules, now) => {
        const { availableData, dataDelay, step, margin } = rules
        const { lowerBound, upperBound } = frameOf(rules, now)
        const mayBegin = (s: number) => s > now - availableData + margin.start
        const mayEnd = (s: number) => s < now - dataDelay - margin.end
        expect([lowerBound % step, upperBound % step]).toEqual([0, 0])
        expect([mayBegin(lowerBound), mayBegin(lowerBound - step)]).toEqual([true, false])
        expect([mayEnd(upperBound), mayEnd(upperBound + step)]).toEqual([true, false])
      }),
    )
  })
})

describe('a plan that has been allowed', () => {
  it.each([
    [{ start: march - 3 * day + 1, end: march - 61 }, 'is over the span', false],
    [{ start: march - 3 * day + 1, end: march - 3 * day + 8 * hour }, 'is inside all bounds', true],
    [{ start: march - 3 * day, end: march - 3 * day + hour }, 'starts where the available data do', false],
    [{ start: march - hour, end: march - 61 }, 'ends before the delay', true],
    [{ start: march - hour, end: march - 60 }, 'ends at the delay', false],
    [{ start: march - 8 * hour - 60, end: march - 60 - 1 }, 'is a second shorter than the span', true],
    [{ start: march - 8 * hour - 61, end: march - 61 }, 'is as long as the span', false],
    [{ start: march - 100, end: march - 101 }, 'ends before it starts', false],
  ])('%j %s: %s', (bounds, _, allowed) => {
    expect(isAllowed(named('calls, standard'), bounds, march)).toBe(allowed)
  })

  it('stays so for exactly as long as is said, and for its margin at least', () => {
    fc.assert(
      fc.property(someRules, moment, (rules, now) => {
        const { lowerBound } = frameOf(rules, now)
        const bounds = boundsOf(rules, { from: lowerBound, to: lowerBound + rules.step })
        const seconds = validFor(rules, bounds, now)
        expect(seconds).toBeGreaterThanOrEqual(rules.margin.start)
        expect(bounds.start > now + seconds - rules.availableData).toBe(true)
        expect(bounds.start > now + seconds + 1 - rules.availableData).toBe(false)
      }),
    )
  })

  it('can be planned until its range expires', () => {
    fc.assert(
      fc.property(someRules, moment, (rules, now) => {
        const { lowerBound } = frameOf(rules, now)
        const expiry = expiryOf(rules, { from: lowerBound, to: lowerBound + rules.step })
        expect(expiry).toBeGreaterThan(now)
        expect(frameOf(rules, expiry).lowerBound).toBeGreaterThan(lowerBound)
        expect(frameOf(rules, expiry - 1).lowerBound).toBeLessThanOrEqual(lowerBound)
      }),
    )
  })
})

describe('what is final', () => {
  it('of calls is what lies an hour before the delay', () => {
    const range = { from: march - 2 * hour, to: march - 61 }
    expect(finalPart(named('calls, standard'), range, march)).toEqual([
      { from: march - 2 * hour, to: march - hour - 60 },
    ])
  })

  it('of real time is all that was read', () => {
    const range = { from: march - 2_000, to: march - 60 }
    expect(finalPart(named('real time, premium'), range, march)).toEqual([range])
  })

  it('is made of whole values, each of which had its time to change', () => {
    const length = fc.integer({ min: 1, max: 500 })
    const back = fc.integer({ min: 0, max: 500 })
    fc.assert(
      fc.property(someRules, moment, back, length, (rules, now, steps, count) => {
        const { step, dataDelay, allowedLateness } = rules
        const to = frameOf(rules, now).upperBound - steps * step
        const range = { from: to - count * step, to }
        const part = finalPart(rules, range, now)
        const isFinal = (bucket: number) => bucket + step - 1 < now - dataDelay - allowedLateness
        const buckets = Array.from({ length: count }, (_, i) => range.from + i * step)
        const rightTo = buckets.filter(isFinal).at(-1)
        expect(part).toEqual(rightTo === undefined ? [] : [{ from: range.from, to: rightTo + step }])
      }),
    )
  })
})

describe('halving', () => {
  it('ends with single steps, and its parts are the whole', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(1, 20, 60, hour, day),
        fc.integer({ min: 1, max: 3_000 }),
        (step, count) => {
          const whole: Range = { from: march, to: march + count * step }
          const parts: Range[] = []
          let deepest = 0
          const walk = (range: Range, depth: number): void => {
            deepest = Math.max(deepest, depth)
            const halves = halve(range, step)
            if (!halves) parts.push(range)
            else for (const half of halves) walk(half, depth + 1)
          }
          walk(whole, 0)
          expect(parts).toEqual(
            Array.from({ length: count }, (_, i) => ({
              from: march + i * step,
              to: march + (i + 1) * step,
            })),
          )
          expect(deepest).toBeLessThanOrEqual(Math.ceil(Math.log2(count)))
        },
      ),
    )
  })
})

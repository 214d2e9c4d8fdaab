import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { perDay, perMinute, perSecond, type Rate } from '../../src/provider/limits.ts'
import { Limiter } from '../src/analytics/limiter.ts'
import { defaultSwitches, type Switches } from '../src/switches.ts'

const midnight = Date.UTC(2026, 0, 6)
const hour = 3_600_000
const day = 24 * hour

interface Asked {
  readonly app?: string
  readonly key?: string
  readonly operation?: string
  readonly group?: 'call-details' | 'realtime'
}

/** What becomes of requests at the given milliseconds after midnight UTC. */
function judge(
  rates: readonly Rate[],
  times: readonly number[],
  { switches = {}, who = () => ({}) }: { switches?: Partial<Switches>; who?: (n: number) => Asked } = {},
) {
  const limiter = new Limiter({ ...defaultSwitches, ...switches })
  const rulings = times.map((time, n) => {
    const asked = { app: 'a', key: 'k', operation: 'callSessions', group: 'call-details', ...who(n) } as const
    return limiter.rule({ ...asked, rates, time: midnight + time })
  })
  const numbersOf = (isMeant: (ruling: (typeof rulings)[number]) => boolean) =>
    rulings.flatMap((ruling, n) => (isMeant(ruling) ? [n + 1] : []))
  return {
    refused: numbersOf(({ refusal }) => refusal !== undefined),
    messages: new Set(rulings.flatMap(({ refusal }) => refusal ?? [])),
    broken: (kind: string) => numbersOf(({ broken }) => broken.some(one => one === kind)),
  }
}

describe('any second', () => {
  it('holds as many as allowed, and a request exactly a second later belongs to the next one', () => {
    const { refused, broken } = judge([perSecond(2)], [0, 500, 1_000, 1_500, 1_999, 2_000, 3_000])
    expect(broken('second-sliding')).toEqual([5, 6])
    expect(refused).toEqual([5, 6])
  })

  it('of the clock begins anew with each second', () => {
    const switches = { limiter: 'fixed' } as const
    const { refused, broken } = judge([perSecond(2)], [900, 950, 1_000, 1_050, 1_999, 2_000], { switches })
    expect(refused).toEqual([5])
    expect(broken('second-fixed')).toEqual([5])
    expect(broken('second-sliding')).toEqual([3, 4, 5, 6])
  })

  it('counts the requests that it refuses, too', () => {
    expect(judge([perSecond(1)], [0, 900, 1_800, 2_700, 3_700]).refused).toEqual([2, 3, 4])
  })

  it('is counted in both ways whichever one refuses', () => {
    for (const limiter of ['sliding', 'fixed'] as const) {
      const { broken } = judge([perSecond(1)], [0, 400, 1_100], { switches: { limiter } })
      expect([broken('second-sliding'), broken('second-fixed')]).toEqual([[2, 3], [2]])
    }
  })
})

describe('any minute', () => {
  it('slides, or is that of the clock, and says qps as a second does', () => {
    const times = [50_000, 55_000, 59_000, 61_000, 62_000, 110_000, 119_999, 120_000]
    const sliding = judge([perMinute(3)], times)
    expect(sliding.refused).toEqual([4, 5, 6, 7, 8])
    expect(sliding.messages).toEqual(new Set(['qps limit error']))
    const fixed = judge([perMinute(3)], times, { switches: { limiter: 'fixed' } })
    expect(fixed.refused).toEqual([7])
    expect(fixed.broken('minute-fixed')).toEqual([7])
  })
})

describe('a day', () => {
  const times = [-2 * hour, -hour, 0, hour, 21 * hour, 22 * hour, day]

  it('rolling: is any 24 hours', () => {
    const { refused, messages, broken } = judge([perDay(3)], times)
    expect(refused).toEqual([4, 5, 6, 7])
    expect(messages).toEqual(new Set(['qpd limit error']))
    expect(broken('day-rolling')).toEqual([4, 5, 6, 7])
    expect(broken('day-utc')).toEqual([6])
  })

  it('utc-calendar: ends at midnight UTC', () => {
    const { refused, broken } = judge([perDay(3)], times, { switches: { day: 'utc-calendar' } })
    expect(refused).toEqual([6])
    expect(broken('day-rolling')).toEqual([4, 5, 6, 7])
  })

  it('is the one that refuses when the second is kept', () => {
    const { messages } = judge([perSecond(1), perDay(2)], [0, 2_000, 4_000])
    expect(messages).toEqual(new Set(['qpd limit error']))
  })
})

describe('who counts together', () => {
  const times = [0, 100, 200, 300]
  const alternating = (one: Asked, other: Asked) => (n: number) => (n % 2 === 0 ? one : other)
  const operations = alternating({ operation: 'callSessions' }, { operation: 'callMetrics' })
  const apps = alternating({ app: 'a' }, { app: 'b' })
  const keys = alternating({ key: 'k', app: 'a' }, { key: 'l', app: 'b' })

  it('counters separate: each endpoint is refused by its own requests; the strict count takes both', () => {
    const { refused, broken } = judge([perSecond(1)], times, { who: operations })
    expect([refused, broken('second-sliding')]).toEqual([
      [3, 4],
      [2, 3, 4],
    ])
  })

  it('counters shared: both endpoints of a group are refused by the requests of both', () => {
    const { refused } = judge([perSecond(1)], times, { who: operations, switches: { counters: 'shared' } })
    expect(refused).toEqual([2, 3, 4])
  })

  it('countersPer app: each app is refused by its own requests; the strict count takes the credential', () => {
    const { refused, broken } = judge([perSecond(1)], times, { who: apps })
    expect([refused, broken('second-sliding')]).toEqual([
      [3, 4],
      [2, 3, 4],
    ])
  })

  it('countersPer credential: the apps of a credential are refused by the requests of all', () => {
    const switches = { countersPer: 'credential' } as const
    expect(judge([perSecond(1)], times, { who: apps, switches }).refused).toEqual([2, 3, 4])
    expect(judge([perSecond(1)], times, { who: keys, switches }).refused).toEqual([3, 4])
  })

  it('another credential and another group never count together', () => {
    expect(judge([perSecond(1)], times, { who: keys }).broken('second-sliding')).toEqual([3, 4])
    const groups = alternating({ group: 'call-details' }, { group: 'realtime', operation: 'realtimeUsage' })
    expect(judge([perSecond(1)], times, { who: groups }).broken('second-sliding')).toEqual([3, 4])
  })
})

it('agrees with counting every window by hand, for days on end', () => {
  const waits = fc.array(
    fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 5 * hour })),
    {
      minLength: 1,
      maxLength: 60,
    },
  )
  fc.assert(
    fc.property(waits, fc.integer({ min: 1, max: 6 }), (gaps, most) => {
      let time = 0
      const times = gaps.map(gap => {
        time += gap
        return time
      })
      const within = (n: number, length: number) =>
        times.filter((one, m) => m <= n && one > times[n]! - length).length
      const sameUnit = (n: number, length: number) =>
        times.filter((one, m) => m <= n && Math.floor(one / length) === Math.floor(times[n]! / length)).length
      const beyond = (count: (n: number, length: number) => number, length: number) =>
        times.flatMap((_, n) => (count(n, length) > most ? [n + 1] : []))
      const { broken } = judge([perSecond(most), perDay(most)], times)
      expect(broken('second-sliding')).toEqual(beyond(within, 1_000))
      expect(broken('second-fixed')).toEqual(beyond(sameUnit, 1_000))
      expect(broken('day-rolling')).toEqual(beyond(within, day))
      expect(broken('day-utc')).toEqual(beyond(sameUnit, day))
    }),
  )
})

it('forgets what no window holds any longer, and counts on as before', () => {
  const times = Array.from({ length: 30_000 }, (_, n) => n * 60_000)
  const { broken } = judge([perDay(1_440)], times)
  expect(broken('day-rolling')).toEqual([])
  expect(broken('day-utc')).toEqual([])
  const closer = judge(
    [perDay(1_440)],
    times.map(time => time - Math.floor(time / 1_000)),
  )
  expect(closer.broken('day-rolling').length).toBe(30_000 - 1_440)
})

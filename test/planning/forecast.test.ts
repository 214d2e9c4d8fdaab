import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { forecastGroup } from '../../src/planning/forecast.ts'
import type { DetailFacts, GroupFacts, GroupLimits, WindowFacts } from '../../src/planning/forecast-facts.ts'
import { durationInWords, findingsOf, formatChange, formatShare } from '../../src/planning/forecast-format.ts'
import { type AnalyticsGroup, analyticsGroups, analyticsLimits } from '../../src/provider/analytics/index.ts'
import { hours, minutes, type Plan, plans } from '../../src/provider/limits.ts'
import { follow } from './follow.ts'
import { plannedStreams } from './plans.ts'

const day = 86_400

function limitsOf(group: AnalyticsGroup, plan: Plan): readonly GroupLimits[] {
  const limits = analyticsLimits[group][plan]
  return limits ? [{ plan, ...limits }] : []
}

function factsOf(group: AnalyticsGroup, plan: Plan, streams: GroupFacts['streams']): GroupFacts {
  const [limits, ...higher] = plans.slice(plans.indexOf(plan)).flatMap(each => limitsOf(group, each))
  return { group, limits: limits!, higher, sharers: 1, streams, expected: undefined }
}

const realtime = (stream: string, series: number, every = minutes(5)): WindowFacts => ({
  ...{ kind: 'windows', stream, series, step: 20, every, allowedLateness: 0 },
})
const insight = (granularity: 'hour' | 'day' | 'minute', series: number, every = hours(6)): WindowFacts => ({
  ...{ kind: 'windows', stream: 'usage-insight', granularity, series },
  ...{ step: { minute: 60, hour: 3_600, day }[granularity], every, allowedLateness: hours(54) },
})
const calls: WindowFacts = {
  ...{
    kind: 'windows',
    stream: 'calls',
    series: 1,
    step: 1,
    every: 60,
    allowedLateness: hours(1),
    pageSize: 100,
  },
}
const sessions: DetailFacts = {
  kind: 'details',
  stream: 'call-sessions',
  batch: 100,
  everyNth: 1,
  end: 'short-page',
}
const metrics: DetailFacts = { kind: 'details', stream: 'call-metrics', batch: 20, everyNth: 1, end: 'known' }

describe('real time in Premium', () => {
  const facts = factsOf('realtime', 'premium', [
    realtime('realtime-usage', 4),
    realtime('realtime-quality', 10),
  ])

  it('fourteen series need a round every 42 minutes, of which 39 can be had: 7 % would be lost', () => {
    const forecast = forecastGroup(facts)
    expect(forecast.allowed).toBe(480)
    for (const stream of forecast.streams) {
      expect(stream).toMatchObject({ every: expect.closeTo(42 * 60, 0) })
      expect(formatShare(stream.lost)).toBe('7 %')
    }
    expect(findingsOf(forecast)).toEqual([
      'realtime-usage: 14 series in 480 requests a day are asked every 42 minutes, of which 39 minutes can be had: 7 % would be lost.',
      'realtime-quality: 14 series in 480 requests a day are asked every 42 minutes, of which 39 minutes can be had: 7 % would be lost.',
      'The cheapest change: ask for 12 series instead of 14.',
    ])
  })

  it('the changes that would help are said, the cheapest first', () => {
    expect(forecastGroup(facts).changes.map(formatChange)).toEqual([
      'ask for 12 series instead of 14',
      'turn realtime-usage off',
      'turn realtime-quality off',
      'the plan enterprise',
    ])
  })

  it('twelve series lose nothing, and are asked as often as the budget lets them be', () => {
    const forecast = forecastGroup(factsOf('realtime', 'premium', [realtime('realtime-quality', 12)]))
    expect(forecast).toMatchObject({ lost: 0, changes: [] })
    expect(forecast.streams[0]).toMatchObject({ every: expect.closeTo((12 * day) / 480, -1) })
    expect(findingsOf(forecast)).toEqual([
      'realtime-quality: 12 series in 480 requests a day, so each is asked every 36 minutes.',
    ])
  })

  it('one series is asked every five minutes, and nothing needs to be said', () => {
    const forecast = forecastGroup(factsOf('realtime', 'premium', [realtime('realtime-quality', 1)]))
    expect(forecast.streams[0]).toMatchObject({ requests: 288, every: 300, freshness: 340, lost: 0 })
    expect(findingsOf(forecast)).toEqual([])
  })

  it('asked once an hour it loses what expired between, and need only be asked oftener', () => {
    const facts = factsOf('realtime', 'premium', [realtime('realtime-quality', 2, hours(1))])
    const forecast = forecastGroup(facts)
    expect(forecast.lost).toBeCloseTo(1 - 39 / 60, 2)
    expect(forecast.streams[0]).toMatchObject({ requests: 48 })
    expect(formatChange(forecast.changes[0]!)).toBe('ask realtime-quality every 20 minutes')
  })

  it('apps that share a credential share its budget', () => {
    const facts = factsOf('realtime', 'premium', [realtime('realtime-quality', 7)])
    expect(forecastGroup(facts).lost).toBe(0)
    expect(forecastGroup({ ...facts, sharers: 2 })).toMatchObject({
      allowed: 240,
      lost: expect.closeTo(0.07, 2),
    })
  })
})

describe('insights in Premium', () => {
  it('eight metrics by hour and day fit when the hours are asked every eight hours', () => {
    const facts = factsOf('usage-insight', 'premium', [insight('hour', 8), insight('day', 8)])
    const forecast = forecastGroup(facts)
    expect(forecast).toMatchObject({ allowed: 40, wished: 48, lost: 0, unconfirmed: 0 })
    expect(forecast.streams).toMatchObject([
      {
        requests: expect.closeTo(24, 2),
        every: expect.closeTo(hours(8), -1),
        freshness: expect.closeTo(hours(20), -1),
      },
      { requests: 16, every: day },
    ])
  })

  it('too many metrics are had once, but not again when they are final', () => {
    const forecast = forecastGroup(factsOf('usage-insight', 'premium', [insight('hour', 70)]))
    expect(forecast.lost).toBe(0)
    // Read every three days 70 series need 70 / 3 requests a day, and as many again once the values are final.
    expect(forecast.unconfirmed).toBeCloseTo(((2 * 70) / 3 - 40) / (70 / 3), 5)
    expect(forecast.changes[0]).toMatchObject({ kind: 'fewer-series', from: 70 })
    expect(findingsOf(forecast)[0]).toMatch(/would never be read once it is final/)
  })

  it('far too many metrics are lost, and the right number is found', () => {
    const facts = factsOf('usage-insight', 'premium', [insight('hour', 150)])
    const forecast = forecastGroup(facts)
    expect(forecast.lost).toBeCloseTo(1 - 40 / (150 / 3), 5)
    const [cheapest] = forecast.changes
    if (cheapest?.kind !== 'fewer-series') throw new Error('no fewer series')
    const withSeries = (series: number) => forecastGroup({ ...facts, streams: [insight('hour', series)] })
    expect(withSeries(cheapest.to)).toMatchObject({ lost: 0, unconfirmed: 0 })
    expect(withSeries(cheapest.to + 1).unconfirmed).toBeGreaterThan(0)
  })

  it('a granularity is left out where that gives up less', () => {
    const facts = factsOf('usage-insight', 'premium', [insight('hour', 50), insight('day', 45)])
    expect(forecastGroup(facts).changes).toContainEqual({
      ...{ kind: 'without-granularity', stream: 'usage-insight', granularity: 'day' },
    })
  })
})

describe('calls in Standard', () => {
  it('of 50 users cost four requests each: 250 of them a day can be fully measured', () => {
    const expected = { callsPerDay: 200, usersPerCall: 50, callMinutes: 45 }
    const forecast = forecastGroup({ ...factsOf('call-details', 'standard', [sessions, metrics]), expected })
    expect(forecast.streams).toMatchObject([
      { stream: 'call-sessions', perCall: 1, wished: 200, requests: 200, lost: 0 },
      { stream: 'call-metrics', perCall: 3, wished: 600, requests: 600, lost: 0 },
    ])
    expect(forecast.measurable).toEqual({
      ...{ callsPerDay: 250, perCall: 4, users: 50, minutes: 45, isExample: false },
    })
  })

  it.each([
    [59, 4],
    [60, 8],
    [150, 12],
    [25 * 60, 26 * 4],
  ])('of %i minutes cost %i requests, slice by slice', (callMinutes, perCall) => {
    const expected = { callsPerDay: 1, usersPerCall: 50, callMinutes }
    const forecast = forecastGroup({ ...factsOf('call-details', 'standard', [sessions, metrics]), expected })
    expect(forecast.measurable).toMatchObject({ perCall })
  })

  it('of 100 users need a second page, which shows that there are no more', () => {
    const expected = { callsPerDay: 1, usersPerCall: 100, callMinutes: 10 }
    const forecast = forecastGroup({ ...factsOf('call-details', 'standard', [sessions, metrics]), expected })
    expect(forecast.streams).toMatchObject([{ perCall: 2 }, { perCall: 5 }])
  })

  it('of 50 users need a second page where only an empty one shows that there are no more', () => {
    const expected = { callsPerDay: 1, usersPerCall: 50, callMinutes: 10 }
    const filtered = { ...sessions, end: 'empty-page' } as const
    const forecast = forecastGroup({ ...factsOf('call-details', 'standard', [filtered, metrics]), expected })
    expect(forecast.streams).toMatchObject([{ perCall: 2 }, { perCall: 3 }])
  })

  it('that are too many are lost by their share, and metrics off or a higher plan would help', () => {
    const expected = { callsPerDay: 400, usersPerCall: 50, callMinutes: 45 }
    const forecast = forecastGroup({ ...factsOf('call-details', 'standard', [sessions, metrics]), expected })
    expect(forecast.lost).toBeCloseTo(1 - 1_000 / 1_600)
    expect(forecast.changes.map(formatChange)).toEqual([
      'turn call-metrics off',
      'the plan premium',
      'the plan enterprise',
    ])
    expect(findingsOf(forecast)[0]).toBe(
      'call-sessions: 250 calls of 50 users a day, at 4 requests each, fit in 1000: 38 % of the calls would be lost; of the others most are measured from 5 minutes after their end on, the rest up to 1 day after it.',
    )
  })

  it('of which nothing is known, an example is reckoned and nothing is said to be lost', () => {
    const forecast = forecastGroup(factsOf('call-details', 'standard', [sessions, metrics]))
    expect(forecast).toMatchObject({ lost: 0, measurable: { callsPerDay: 250, isExample: true } })
    expect(forecast.streams[0]).toMatchObject({ wished: undefined, requests: undefined })
  })

  it('are searched every 86 seconds instead of every minute', () => {
    const forecast = forecastGroup(factsOf('call-search', 'standard', [calls]))
    expect(forecast).toMatchObject({ lost: 0, wished: 1_440 })
    expect(forecast.streams[0]).toMatchObject({
      every: expect.closeTo(86.4, 1),
      freshness: expect.closeTo(146.4, 1),
    })
  })

  it('in great numbers need several pages, so they are searched less often', () => {
    const expected = { callsPerDay: 24_000, usersPerCall: 2, callMinutes: 10 }
    const forecast = forecastGroup({ ...factsOf('call-search', 'standard', [calls]), expected })
    const [stream] = forecast.streams
    expect(forecast.lost).toBe(0)
    // 1,000 calls an hour, an hour and twenty minutes again and again: fourteen pages each time.
    expect(stream).toMatchObject({ every: expect.closeTo(14 * 86.4, 0) })
  })
})

it.each(plannedStreams)('$name: the requests of a month are those that were forecast', ({ rules, every }) => {
  const { availableData, timeFrame, dataDelay, step, allowedLateness } = rules
  const limits = {
    plan: 'some',
    availableData,
    timeFrame,
    dataDelay,
    rates: [{ requests: 1_000_000, window: day }],
  }
  const stream: WindowFacts = { kind: 'windows', stream: 'one', series: 1, step, every, allowedLateness }
  const { streams } = forecastGroup({
    ...{ group: 'some', limits, higher: [], sharers: 1, streams: [stream], expected: undefined },
  })
  const { counts } = follow({ ...rules, margin: { start: 15, end: 3 } }, every, 30)
  const perDay = (counts.live + counts.revisit + counts.backfill) / 30
  // The first days have less past to confirm.
  expect(perDay / streams[0]!.requests!).toBeGreaterThan(0.9)
  expect(perDay / streams[0]!.requests!).toBeLessThan(1.01)
})

describe('whatever is asked for', () => {
  const group = fc.constantFrom(...analyticsGroups.filter(each => each !== 'call-details'))
  const plan = fc.constantFrom(...plans)
  const stream: fc.Arbitrary<WindowFacts> = fc.record({
    kind: fc.constant('windows' as const),
    stream: fc.constantFrom('one', 'two'),
    series: fc.integer({ min: 1, max: 300 }),
    step: fc.constantFrom(1, 20, 60, 3_600, day),
    every: fc.integer({ min: 20, max: 2 * day }),
    allowedLateness: fc.constantFrom(0, hours(1), hours(54)),
  })
  const facts = fc
    .tuple(group, plan, fc.array(stream, { minLength: 1, maxLength: 3 }), fc.integer({ min: 1, max: 5 }))
    .filter(([of, under]) => analyticsLimits[of][under] !== undefined)
    .map(([of, under, streams, sharers]) => ({ ...factsOf(of, under, streams), sharers }))

  it('the requests that follow fit in what is allowed, and nothing is asked oftener than wished', () => {
    fc.assert(
      fc.property(facts, of => {
        const { allowed, streams } = forecastGroup(of)
        const requests = streams.reduce((sum, each) => sum + (each.requests ?? 0), 0)
        expect(requests).toBeLessThanOrEqual(allowed * 1.000_001)
        streams.forEach((each, i) => {
          if (each.kind !== 'windows') throw new Error('no windows')
          expect(each.every).toBeGreaterThanOrEqual((of.streams[i] as WindowFacts).every)
          expect(each.lost).toBeGreaterThanOrEqual(0)
          expect(each.lost).toBeLessThanOrEqual(1)
        })
      }),
      { numRuns: 300 },
    )
  })

  it('after each change that is proposed nothing is lost', () => {
    fc.assert(
      fc.property(facts, of => {
        const { changes } = forecastGroup(of)
        for (const change of changes) {
          if (change.kind === 'higher-plan') {
            const limits = of.higher.find(each => each.plan === change.plan)!
            expect(forecastGroup({ ...of, limits, higher: [] })).toMatchObject({ lost: 0, unconfirmed: 0 })
          }
          if (change.kind === 'fewer-series') expect(change.to).toBeLessThan(change.from)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('more of the budget never loses more', () => {
    fc.assert(
      fc.property(facts, of => {
        const more = forecastGroup({ ...of, sharers: 1 })
        expect(more.lost).toBeLessThanOrEqual(forecastGroup(of).lost + 1e-9)
      }),
      { numRuns: 300 },
    )
  })
})

it.each([
  [0, '0 seconds'],
  [1, '1 second'],
  [86.4, '86 seconds'],
  [2_520, '42 minutes'],
  [3_600, '1 hour'],
  [5_400, '90 minutes'],
  [9_000, '2.5 hours'],
  [86_400, '1 day'],
  [129_600, '36 hours'],
  [259_200, '3 days'],
])('%d seconds are called %s', (seconds, words) => {
  expect(durationInWords(seconds)).toBe(words)
})

it.each([
  [0, '0 %'],
  [0.0004, 'less than 1 %'],
  [0.0718, '7 %'],
  [1, '100 %'],
])('a share of %d is called %s', (share, words) => {
  expect(formatShare(share)).toBe(words)
})

import { describe, expect, it } from 'vitest'
import type { Switches } from '../../sandbox/src/index.ts'
import type { Plan } from '../../src/provider/limits.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { type PlanDayOptions, runPlanDay } from './plan-day.ts'

const hour = 3_600_000
const patience = 1_200_000

function play(parts: Partial<PlanDayOptions>) {
  return runPlanDay({
    plan: 'premium',
    seed: 1,
    length: 1.5 * hour,
    profile: { callsPerDay: 200, users: 6, minutes: 30, days: 1 },
    delay: 3_000,
    cloneDatabase,
    ...parts,
    switches: { metricSeconds: 900, ...parts.switches },
  })
}

/** Every position of every switch that concerns limits stands in one of these. */
const worlds: readonly [Plan, Partial<Switches>, Pick<PlanDayOptions, 'otherPlan' | 'reading'>?][] = [
  [
    'standard',
    {
      counters: 'shared',
      countersPer: 'credential',
      day: 'utc-calendar',
      limiter: 'fixed',
      limitStatus: '429',
      emptyLists: 'absent',
      kvs: 'objects',
    },
  ],
  [
    'premium',
    {
      counters: 'separate',
      countersPer: 'app',
      day: 'rolling',
      limiter: 'sliding',
      limitStatus: '300',
      emptyLists: 'null',
      kvs: 'triples',
      hasMore: 'omitted',
      realtimeEnd: 'inclusive',
      missingValues: 0.02,
      lateValueSeconds: 300,
    },
    { reading: 'split' },
  ],
  [
    'enterprise',
    { callSearch: 'start', successCode: '0', limitsOutsideSearch: '429', hasMoreAbove: 20, limiter: 'fixed' },
    { otherPlan: 'standard' },
  ],
]

describe('hours of a plan, in virtual time', () => {
  it.each(worlds)(
    '%s: no limit is broken, and nothing that can be had is missing',
    async (plan, switches, others) => {
      const result = await play({ plan, switches, apps: 2, ...others })
      expect(result.violations).toEqual({})
      expect(result.unfair).toEqual([])
      expect(result.refusals).toBe(0)
      expect(result.missing).toEqual({ calls: 0, sessions: 0 })
      expect(result.invented).toEqual({ calls: 0, sessions: 0 })
      expect(result.points.stored).toBe(result.points.expected)
      expect(result.letters).toEqual({})
      expect(result.breaches).toEqual([])
      expect(result.requests['call-search']).toBeGreaterThan(50)
      expect(result.requests['call-details']).toBeGreaterThan(20)
    },
    patience,
  )

  it(
    'standing still for a minute again and again, with answers in hand and debits unused, breaks no limit',
    async () => {
      const profile = { callsPerDay: 2_000, users: 6, minutes: 20, days: 0.5 }
      const result = await play({ seed: 6, length: hour, profile, delay: 1_000, stalls: 1 / 60 })
      expect(result.violations).toEqual({})
      expect(result.refusals).toBe(0)
      expect(result.letters).toEqual({})
      expect(result.requests['call-details']).toBeGreaterThan(20)
      expect(result.requests.realtime).toBeGreaterThan(5)
    },
    patience,
  )

  it(
    'values in a form that nobody documented leave their calls pending, and stop nothing else',
    async () => {
      const result = await play({ plan: 'standard', length: 0.5 * hour, switches: { kvs: 'words' } })
      expect(result.worklist['call-metrics live pending']).toBeGreaterThan(5)
      expect(result.worklist['call-metrics live done']).toBeUndefined()
      expect(Object.keys(result.letters)).toEqual(['call-metrics not_an_object'])
      expect(result.worklist['call-sessions live done']).toBeGreaterThan(5)
      expect(result.violations).toEqual({})
    },
    patience,
  )

  it(
    'pages that take fewer than were asked for, and never say that others follow, are read to the last',
    async () => {
      const result = await play({
        plan: 'enterprise',
        length: 0.5 * hour,
        profile: { callsPerDay: 100, users: 6, minutes: 20, days: 0.3 },
        switches: { mostPerPage: 7, hasMore: 'omitted', unknownFields: 'present', ownPeer: 'absent' },
        streams: ['usage-insight', 'quality-insight', 'realtime-usage', 'realtime-quality']
          .map(name => `  ${name}: off`)
          .join('\n'),
      })
      expect(result.missing).toEqual({ calls: 0, sessions: 0 })
      expect(result.points.stored).toBe(result.points.expected)
      expect(result.violations).toEqual({})
    },
    patience,
  )

  it(
    'starter: without access nothing is asked at all',
    async () => {
      const result = await play({ plan: 'starter' })
      expect(result.requests).toEqual({})
      expect(result.violations).toEqual({})
    },
    patience,
  )

  it(
    'killed and started again every two minutes, with two processes on one database, breaks no limit',
    async () => {
      const result = await play({
        kills: 45,
        processes: 2,
        apps: 2,
        switches: { countersPer: 'credential', counters: 'shared' },
      })
      expect(result.boots).toBeGreaterThanOrEqual(40)
      expect(result.violations).toEqual({})
      expect(result.missing).toEqual({ calls: 0, sessions: 0 })
      expect(result.points.stored).toBe(result.points.expected)
      expect(result.breaches).toEqual([])
    },
    patience,
  )

  it(
    'channels are asked about while something goes on in them, and owe nothing before and after, across restarts',
    async () => {
      const result = await play({
        plan: 'enterprise',
        length: 1.25 * hour,
        kills: 3,
        channels: 'live',
        streams: '  call-sessions: off\n  call-metrics: off\n  usage-insight: off\n  quality-insight: off',
        profile: { callsPerDay: 400, users: 2, minutes: 15, days: 0.1 },
      })
      expect(result.channelsAsked).toBeGreaterThan(5)
      expect(result.wrongValues).toEqual([])
      expect(result.wrongGaps).toEqual([])
      expect(result.realtimeLost).toEqual({})
      expect(result.complete).toMatchObject({ 'app0 realtime-usage': true, 'app0 realtime-quality': true })
      expect(result.violations).toEqual({})
    },
    patience,
  )

  it(
    'an outage longer than the reach becomes exact gaps, and the streams go on',
    async () => {
      const outage = { from: 0.5 * hour, to: 2 * hour }
      const result = await play({ length: 3 * hour, outage })
      expect(result.wrongGaps).toEqual([])
      // It could have been had: the provider was there.
      expect(Object.keys(result.lostInVain)).toHaveLength(7)
      expect(result.gaps['realtime-quality expired lost']).toBe(5)
      expect(result.gaps['realtime-usage expired lost']).toBe(2)
      expect(result.complete['app0 realtime-quality']).toBe(false)
      expect(result.violations).toEqual({})
      expect(result.missing).toEqual({ calls: 0, sessions: 0 })
    },
    patience,
  )
})

import { describe, expect, it } from 'vitest'
import type { FaultRule } from '../../sandbox/src/index.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { type PlanDayOptions, runPlanDay } from './plan-day.ts'

const minute = 60_000
const hour = 60 * minute
const patience = 1_200_000

/** Real-time values alone: what is available of them is the shortest. */
const realtimeAlone = `  calls: off
  call-sessions: off
  call-metrics: off
  usage-insight: off
  quality-insight: off
  realtime-usage: { metrics: [userCount] }
  realtime-quality: { metrics: [networkDelay] }`

/** Answers about one entry for each time of which some are not served, or later. */
const thin = { missingValues: 0.1, lateValueSeconds: 600 }

function play(parts: Partial<PlanDayOptions>) {
  return runPlanDay({
    plan: 'premium',
    seed: 1,
    length: 2.75 * hour,
    profile: { callsPerDay: 50, users: 3, minutes: 30, days: 0.1 },
    delay: 500,
    streams: realtimeAlone,
    cloneDatabase,
    ...parts,
  })
}

const faults: readonly FaultRule[] = [
  { kind: 'malformed' },
  { kind: 'status', status: 400 },
  { kind: 'status', status: 200, code: 777 },
]

describe('forty-five minutes in which every answer is of no use', () => {
  it.each(faults)(
    '%o: little more is lost than cannot be had when they are over',
    async fault => {
      const from = hour
      const window = { from, to: from + 45 * minute, rules: [{ ...fault, rate: 1 }] }
      const { realtimeLost, wrongGaps, violations, gaps } = await play({ faults: [window] })
      for (const seconds of Object.values(realtimeLost)) expect(seconds).toBeLessThan(25 * 60)
      expect(wrongGaps).toEqual([])
      expect(Object.keys(gaps).filter(gap => !gap.includes('expired'))).toEqual([])
      expect(violations).toEqual({})
    },
    patience,
  )

  it(
    'of one series, cost the others nothing',
    async () => {
      const rule: FaultRule = { kind: 'status', status: 400, operation: 'realtimeQuality', rate: 1 }
      const result = await play({ faults: [{ from: hour, to: 2 * hour, rules: [rule] }] })
      expect(Object.keys(result.realtimeLost)).toEqual(['app0 realtime-quality Native/networkDelay'])
      expect(result.wrongGaps).toEqual([])
      expect(result.violations).toEqual({})
    },
    patience,
  )
})

describe('values that are promised and not served', () => {
  it(
    'are not covered, and absent when they can no longer be had',
    async () => {
      const empty: FaultRule = { kind: 'empty', rate: 1 }
      const result = await play({ faults: [{ from: 0.5 * hour, to: 1.75 * hour, rules: [empty] }] })
      expect(result.wrongGaps).toEqual([])
      expect(Object.keys(result.gaps)).toEqual([
        'realtime-quality not_served absent',
        'realtime-usage not_served absent',
      ])
      expect(result.realtimeLost).toEqual({})
      expect(result.violations).toEqual({})
    },
    patience,
  )

  it(
    'are stored when they are served later, and cost no more requests',
    async () => {
      const [whole, some] = [await play({}), await play({ switches: thin })]
      expect(some.wrongGaps).toEqual([])
      expect(some.realtimeLost).toEqual({})
      expect(some.gaps['realtime-usage not_served absent']).toBeGreaterThan(10)
      expect(some.requests.realtime).toBeLessThanOrEqual(whole.requests.realtime! * 1.1)
      expect(some.violations).toEqual({})
    },
    patience,
  )
})

describe('refusals of ranges that the plan allows', () => {
  it(
    'an hour of them: nothing is lost that can be had when they are over',
    async () => {
      const message = 'query time range limit error'
      const rule: FaultRule = { kind: 'status', status: 200, code: 300, message, rate: 1 }
      const result = await play({
        length: 5 * hour,
        faults: [{ from: hour, to: 2 * hour, rules: [rule] }],
      })
      for (const seconds of Object.values(result.realtimeLost)) expect(seconds).toBeLessThan(40 * 60)
      expect(result.wrongGaps).toEqual([])
      expect(result.violations).toEqual({})
    },
    patience,
  )

  it(
    'hours in which less is served: a few refusals each, and all that can be had is stored',
    async () => {
      const result = await play({ length: 4 * hour, switches: { tightHours: 0.4 } })
      expect(result.limitRefusals).toBeGreaterThan(0)
      expect(result.limitRefusals).toBeLessThan(40)
      expect(result.wrongGaps).toEqual([])
      expect(result.violations).toEqual({})
    },
    patience,
  )
})

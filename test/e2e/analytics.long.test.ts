import { describe, expect, it } from 'vitest'
import type { FaultRule } from '../../sandbox/src/index.ts'
import { drainWorld } from './analytics/drain.ts'
import type { CallWorld } from './analytics/stage.ts'

const kills = 6
/** Only what hangs ends here: the daemons take as long to start as the machine needs. */
const timeout = 1_200_000

const badness = [
  { kind: 'latency', rate: 0.25, ms: 200 },
  { kind: 'reset', rate: 0.02 },
  { kind: 'lost-response', rate: 0.02 },
  { kind: 'truncated', rate: 0.02 },
  { kind: 'status', status: 500, rate: 0.02 },
] as const satisfies readonly FaultRule[]

/** Every position of every switch that concerns limits stands in one of these. */
const worlds: readonly CallWorld[] = [
  {
    name: 'sliding limits, each endpoint with its own; a burst of calls in one second',
    switches: { limiter: 'sliding', counters: 'separate', countersPer: 'app', day: 'rolling' },
    quirks: { burstOfCalls: 110 },
    load: { callsPerDay: 48 },
  },
  {
    name: 'fixed limits, shared by endpoints and by two apps; days of the calendar; slow answers',
    apps: 2,
    switches: {
      ...{ limiter: 'fixed', counters: 'shared', countersPer: 'credential', day: 'utc-calendar' },
      ...{ limitStatus: '400', limitsOutsideSearch: '429', successCode: '0', restatement: 'off' },
      callSearch: 'start',
    },
    load: { callsPerDay: 48 },
    faults: [{ kind: 'latency', rate: 0.3, ms: 250 }],
  },
  {
    name: 'a provider that answers badly, and users of a channel one by one',
    switches: { limitStatus: '300', realtimeEnd: 'inclusive', realtimeUid: 'string', limiter: 'fixed' },
    watch: 'channel',
    faults: badness,
  },
  {
    name: 'strange calls: backward, unknown, vanishing, malformed, long ones in slices, a crowd without servers',
    switches: { counters: 'shared', metricSeconds: 120, callLatenessSeconds: 20 },
    quirks: {
      ...{ backwardCall: 0.15, unknownMid: 0.2, malformedValue: 0.01, vanishingSid: 0.1 },
      ...{ crowd: 130, longCallHours: 1.5 },
    },
    detailSpan: 1_200,
    servers: 'exclude',
    qualityBy: 'minute',
  },
  {
    name: 'more calls in a second than are listed, searches under load, and bad answers besides',
    switches: { callListPages: 1, hasMoreAbove: 20, day: 'utc-calendar', countersPer: 'credential' },
    quirks: { burstOfCalls: 115 },
    load: { callsPerDay: 24 },
    faults: badness,
  },
]

describe.concurrent('a daemon that drains calls in real time and is killed again and again', () => {
  for (const world of worlds) {
    it(`has the whole truth and breaks no limit: ${world.name}`, { timeout }, async () => {
      const outcome = await drainWorld(world, kills)
      const { findings, complete } = outcome
      const figures = Object.entries(findings.figures).map(([name, count]) => `${count} ${name}`)
      const { requests, debits } = outcome
      process.stderr.write(`${world.name}: ${requests} requests, ${debits} debits, ${figures.join(', ')}\n`)
      expect(outcome.complaint).toBe('')
      expect(outcome.violations).toEqual({})
      expect(outcome.leaks).toEqual([])
      expect(outcome).toMatchObject({ exit: 0, status: 0, audit: 0 })
      // Every request was debited before it was sent; a kill wastes what is under way at most.
      expect(requests).toBeLessThanOrEqual(debits)
      expect(debits - requests).toBeLessThanOrEqual(kills * 14)
      expect(findings.figures['calls measured']).toBeGreaterThan(15)
      expect(findings.figures['points compared']).toBeGreaterThan(10_000)
      const overflows = world.switches?.callListPages === 1
      const hasWords = world.quirks?.malformedValue !== undefined
      for (const [stream, isComplete] of Object.entries(complete)) {
        const isWhole = overflows
          ? stream.includes('realtime')
          : !(hasWords && stream.endsWith('call-metrics'))
        expect(`${stream} ${isComplete}`).toBe(`${stream} ${isWhole}`)
      }
    })
  }
})

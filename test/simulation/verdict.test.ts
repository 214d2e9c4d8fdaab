import { expect, it } from 'vitest'
import { avoidable, type PlanFindings } from './plan-oracle.ts'

const hour = 3_600_000
const findings = (parts: Partial<PlanFindings>) => {
  const used = { 'call-sessions': 0.5, 'call-metrics': 0.5, 'realtime-usage': 0.5, calls: 0.1, ...parts.used }
  return {
    gaps: {},
    unavoidable: {},
    lostInVain: {},
    complete: {},
    unservable: [],
    ...parts,
    used,
  } as PlanFindings
}

it('what was lost or is not complete is wrong where the plan had room for it, and only there', () => {
  const gaps = {
    'call-metrics expired lost': 3,
    'calls expired lost': 1,
    'calls unconfirmed repaired': 2,
  }
  const complete = { 'app0 calls': true, 'app0 call-sessions': false }
  expect(avoidable(findings({ gaps, complete }), 24 * hour)).toEqual({
    lost: { 'call-metrics expired lost': 3, 'calls expired lost': 1 },
    incomplete: ['app0 call-sessions'],
  })
  // Half a day has room for half of the requests: they were all made.
  expect(
    avoidable(findings({ gaps, complete, used: { 'call-sessions': 0.5, 'call-metrics': 0.5 } }), 12 * hour),
  ).toEqual({
    lost: { 'calls expired lost': 1 },
  })
  expect(avoidable(findings({ complete: { 'app0 calls': true } }), 24 * hour)).toEqual({})
  // What the world made unavoidable is not held against anybody.
  const unavoidable = { 'calls expired lost': 1, 'call-metrics expired lost': 2 }
  expect(avoidable(findings({ gaps, unavoidable }), 24 * hour)).toEqual({
    lost: { 'call-metrics expired lost': 1 },
  })
})

it('of real time only those windows are wrong that could be had; what can never be complete must not be said to be', () => {
  const gaps = { 'realtime-usage expired lost': 1 }
  const never = { 'app0 usage-insight': false }
  expect(avoidable(findings({ gaps, complete: { 'app0 realtime-usage': false } }), 24 * hour)).toEqual({})
  expect(avoidable(findings({ gaps, lostInVain: { 'app0 realtime-usage x': 4 } }), 24 * hour)).toEqual({
    lostInVain: { 'app0 realtime-usage x': 4 },
  })
  expect(avoidable(findings({ complete: never }), 24 * hour)).toEqual({ incomplete: ['app0 usage-insight'] })
  const unservable = ['app0 usage-insight']
  expect(avoidable(findings({ complete: never, unservable }), 24 * hour)).toEqual({})
  expect(avoidable(findings({ complete: { 'app0 usage-insight': true }, unservable }), 24 * hour)).toEqual({
    falselyComplete: unservable,
  })
})

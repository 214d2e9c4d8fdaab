import { expect, it } from 'vitest'
import { avoidable, type PlanFindings } from './plan-oracle.ts'

const hour = 3_600_000
const findings = (parts: Partial<PlanFindings>) => {
  const used = { 'call-details': 0.5, realtime: 0.5, 'call-search': 0.1, ...parts.used }
  return { gaps: {}, complete: {}, ...parts, used } as PlanFindings
}

it('what was lost or is not complete is wrong where the plan had room for it, and only there', () => {
  const gaps = {
    'call-metrics expired lost': 3,
    'realtime-usage expired lost': 1,
    'calls unconfirmed repaired': 2,
  }
  const complete = { 'app0 calls': true, 'app0 call-sessions': false }
  expect(avoidable(findings({ gaps, complete }), 24 * hour)).toEqual({
    lost: { 'call-metrics expired lost': 3, 'realtime-usage expired lost': 1 },
    incomplete: ['app0 call-sessions'],
  })
  // Half a day has room for half of the requests: they were all made.
  expect(avoidable(findings({ gaps, complete, used: { realtime: 0.2 } }), 12 * hour)).toEqual({
    lost: { 'realtime-usage expired lost': 1 },
  })
  expect(avoidable(findings({ complete: { 'app0 calls': true } }), 24 * hour)).toEqual({})
})

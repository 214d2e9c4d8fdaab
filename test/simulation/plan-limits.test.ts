import { expect, it } from 'vitest'
import { beyondRates, limitsOf, sharedRates, shareOfDay, unfair } from './plan-limits.ts'

const second = 1_000
const hour = 3_600 * second

/** Requests to one operation at these moments, ms. */
function asked(operation: string, times: readonly number[], app = 'a') {
  return times.map(time => ({ operation, arrival: { time, app } }))
}

it('projects of one credential may ask as often as the strictest of their plans that has access', () => {
  const plans = { a: 'enterprise', b: 'standard', c: 'starter' } as const
  expect(sharedRates(plans, 'call-details')).toEqual([
    { requests: 1, window: 1 },
    { requests: 1_000, window: 86_400 },
  ])
  expect(sharedRates(plans, 'realtime')).toEqual([
    { requests: 10, window: 60 },
    { requests: 1_440, window: 86_400 },
  ])
  expect(limitsOf('standard', 'realtime')).toBeUndefined()
  expect(limitsOf('enterprise', 'call-search')?.availableData).toBe(15 * 86_400)
})

it('two requests within a second are one too many of one a second, in any second or in one of the clock', () => {
  const plans = { a: 'standard', b: 'enterprise' } as const
  const both = (first: number, last: number) => {
    const requests = [...asked('callSearch', [first]), ...asked('callSearch', [last], 'b')]
    return Object.keys(beyondRates(requests, plans, 'joint'))
  }
  expect(both(600, 1_599)).toEqual(['call-search: 1 in any 1 s'])
  expect(both(1_000, 1_999)).toEqual(['call-search: 1 in any 1 s', 'call-search: 1 in 1 s of the clock'])
  expect(both(600, 1_600)).toEqual([])
})

it('endpoints with one table of limits count together, unless each has a counter of its own', () => {
  const plans = { a: 'standard' } as const
  const requests = [...asked('callSessions', [0]), ...asked('callMetrics', [0])]
  expect(beyondRates(requests, plans, 'joint')).not.toEqual({})
  expect(beyondRates(requests, plans, 'split')).toEqual({})
  expect([...shareOfDay(requests, { plans, reading: 'joint', start: 0 })]).toEqual([['call-details', 0.002]])
  expect([...shareOfDay(requests, { plans, reading: 'split', start: 0 })]).toEqual([
    ['callSessions', 0.001],
    ['callMetrics', 0.001],
  ])
})

it('of a spent counter nobody has much less than the others', () => {
  const plans = { a: 'premium', b: 'enterprise', c: 'standard' } as const
  const hours = (count: number) => Array.from({ length: count }, (_, n) => (n + 2) * hour)
  const shared = (ofA: number, isSpent = true) =>
    unfair([...asked('realtimeUsage', [0, 1, 2, ...hours(ofA)]), ...asked('realtimeUsage', hours(30), 'b')], {
      plans,
      reading: 'joint',
      start: 0,
      isSpent: counter => isSpent && counter === 'realtime',
    })
  expect(shared(12)).toEqual([])
  expect(shared(8)).toEqual(['realtime: a 8, b 30'])
  expect(shared(8, false)).toEqual([])
})

import { expect, it } from 'vitest'
import type { Arrival, FaultRule, Sandbox } from '../../sandbox/src/index.ts'
import type { Played } from './oracle/open.ts'
import { inventedReasons, isInvented } from './plan-invented.ts'

const hour = 3_600_000

/** The second hour serves less, and every answer about usage is struck all the time. */
function played(rule: FaultRule): Played {
  const analytics = () => ({ isTightHour: (_: string, at: number) => Math.floor(at / hour) === 1 })
  return {
    ...{ sandbox: { analytics } as unknown as Sandbox, start: 0, end: 3 * hour },
    faults: [{ from: 0, to: 3 * hour, rules: [rule] }],
  }
}

const arrived = (time: number, fault: string | undefined, refusal: string | undefined) => {
  return { app: 'app', time, fault, refusal } as Arrival
}

it('a refusal that a fault left as it was is judged as a refusal', () => {
  const empty = played({ kind: 'empty', rate: 1 })
  const refusal = 'query latency limit error'
  const tight = arrived(1.5 * hour, 'empty', refusal)
  expect(isInvented(empty, tight, 'realtime')).toBe(true)
  expect([...inventedReasons(empty, [{ arrival: tight, operation: 'realtimeUsage' }])]).toEqual([
    ['realtimeUsage latency_limit', 1],
  ])
  expect(isInvented(empty, arrived(0.5 * hour, 'empty', refusal), 'realtime')).toBe(false)
  expect(isInvented(empty, arrived(0.5 * hour, 'empty', undefined), 'realtime')).toBe(true)
})

it('an answer that a fault spoilt is judged by the fault', () => {
  const malformed = played({ kind: 'malformed', rate: 1 })
  const arrival = arrived(0.5 * hour, 'malformed', 'query latency limit error')
  expect(isInvented(malformed, arrival, 'realtime')).toBe(true)
  expect([...inventedReasons(malformed, [{ arrival, operation: 'realtimeUsage' }])]).toEqual([
    ['realtimeUsage malformed', 1],
  ])
})

import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../sandbox/src/index.ts'
import { hasRoom } from './details.ts'
import type { Examination } from './examination.ts'

const second = 1_000
const hour = 3_600 * second
const start = Date.UTC(2026, 0, 5, 8)

/** A day of a standard plan, 1,000 requests, of which one of details arrives every two minutes: 720. */
function room(said: Partial<Examination> = {}): boolean {
  const arrivals = Array.from({ length: 720 }, (_, n) => ({
    ...{ n: n + 1, app: 'one', operation: 'callMetrics', status: 200, time: start + n * 120 * second },
    target: '/?start_ts=0&end_ts=1',
  }))
  const sandbox = {
    settings: { apps: [{ id: 'one', rest: { key: 'k', secret: 's' } }] },
    arrivals: { count: arrivals.length, list: () => arrivals },
  }
  return hasRoom(
    {
      ...{ sandbox: sandbox as unknown as Sandbox, start, end: start + 24 * hour },
      apps: [{ id: 'one', plan: 'standard', regions: [] }],
      ...said,
    } as Examination,
    'one',
    'callMetrics',
  )
}

/** Between two requests. */
const failover = (n: number) => {
  const from = start + n * hour + 60 * second
  return { from, to: from + 10 * second }
}

describe('the room that a group has for what was not asked', () => {
  it('is there while the requests of a day are not spent', () => expect(room()).toBe(true))

  it('is less by what counts as spent since the last request of a history that went back', () => {
    expect(room({ rewound: [failover(3)] })).toBe(true)
    expect(room({ rewound: [failover(3), failover(9), failover(15)] })).toBe(false)
  })
})

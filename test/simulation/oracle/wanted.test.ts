import { describe, expect, it } from 'vitest'
import type { Arrival } from '../../../sandbox/src/index.ts'
import type { Examination } from './examination.ts'
import { examineWanted, type Wanted } from './wanted.ts'

const at = 1_000

/** What is said of what is wanted at 1 s, where this was asked: when in seconds, and the query. */
function judge(wanted: Omit<Wanted, 'app' | 'at'>, operation: string, ...asked: [number, string][]) {
  const arrivals = asked.map(([time, query], n) => ({
    ...{ n, app: 'alpha', operation, time: time * 1_000, status: 200, target: `/beta?${query}` },
  }))
  const sandbox = { arrivals: { count: arrivals.length, list: () => arrivals as Partial<Arrival>[] } }
  const examination = { sandbox } as unknown as Examination
  return examineWanted(examination, [{ ...wanted, app: 'alpha', at }]).map(({ text }) => text)
}

describe('a range that is wanted once more', () => {
  const range = { stream: 'calls', from: 10, to: 20 } as const

  it('is asked for in as many questions as it takes', () => {
    const halves = judge(range, 'callSearch', [2, 'start_ts=5&end_ts=15'], [3, 'start_ts=15&end_ts=20'])
    expect(halves).toEqual([])
  })

  it('is not where it was asked for before, or not all of it', () => {
    expect(judge(range, 'callSearch', [0, 'start_ts=10&end_ts=20'])).not.toEqual([])
    expect(judge(range, 'callSearch', [2, 'start_ts=10&end_ts=19'])).toEqual([
      expect.stringMatching(/^alpha calls: 1970-01-01T00:00:19Z is wanted once more/),
    ])
  })
})

it('details of a call that are wanted once more are asked for by its name', () => {
  const details = { stream: 'call-metrics', call: 'one', from: 10, to: 11 } as const
  expect(judge(details, 'callMetrics', [2, 'call_id=one'])).toEqual([])
  expect(judge(details, 'callMetrics', [2, 'call_id=other'], [0, 'call_id=one'])).toHaveLength(1)
  expect(judge(details, 'callSessions', [2, 'call_id=one'])).toHaveLength(1)
})

import { describe, expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineNearness } from './nearness.ts'

const minute = 60_000
const end = Date.UTC(2026, 0, 5, 12)

/** A run that ends an hour and five minutes after its faults, with a question about calls up to so many seconds ago. */
function judge(ago: number, tight = false, healed = end - 65 * minute) {
  const time = end - 5 * minute
  const target = `/beta/analytics/call/lists?start_ts=1&end_ts=${time / 1_000 - ago}`
  const all = [{ app: 'alpha', operation: 'callSearch', time, target }]
  const examination = {
    sandbox: {
      arrivals: { list: () => all, count: all.length },
      analytics: () => ({ isTightHour: () => tight }),
    },
    apps: [{ id: 'alpha', plan: 'premium', regions: ['eu'] }],
    ...{ end, healed, isEnd: true },
  } as unknown as Examination
  return examineNearness(examination).map(({ text }) => text)
}

describe('how near to now calls are searched in the end', () => {
  it('is as near as the delay allows', () => {
    expect(judge(64)).toEqual([])
    expect(judge(120)).toEqual([expect.stringContaining('60 s beyond the delay')])
  })

  it('is not judged where the provider served less, or what it refused may not have been tried again', () => {
    expect(judge(120, true)).toEqual([])
    expect(judge(120, false, end - 30 * minute)).toEqual([])
  })
})

import { expect, it } from 'vitest'
import type { Examination } from './examination.ts'
import { examineMoments } from './moments.ts'

const minute = 60_000
const start = Date.UTC(2026, 0, 5, 8)

interface Search {
  /** Minutes after the start. */
  readonly at: number
  readonly fault?: string
  /** How old the newest is that is asked for, minutes. */
  readonly old?: number
}

/** What is found where calls are searched for so, and are to be at the start, after four minutes and after eight. */
function judge(...searches: readonly Search[]): readonly string[] {
  const list = searches.map(({ at, old = 1, ...answer }, n) => {
    const time = start + at * minute
    const target = `/beta/analytics/call/lists?start_ts=0&end_ts=${time / 1_000 - old * 60}`
    return { n: n + 1, app: 'a', operation: 'callSearch', target, time, status: 200, ...answer }
  })
  const examination = {
    sandbox: { arrivals: { list: () => list, count: list.length } },
    apps: [{ id: 'a' }],
    ...{ callsAt: [4, 8].map(at => start + at * minute), isCalm: true },
    ...{ start, healed: start + 12 * minute, end: start + 12 * minute },
  } as unknown as Examination
  return examineMoments(examination).map(({ text }) => text)
}

it('is well that each moment has its search, and the start', () => {
  expect(judge({ at: 0.1 }, { at: 4.1 }, { at: 8.2 })).toEqual([])
})

it('is found that nobody searches at a moment, or at the start', () => {
  expect(judge({ at: 0.1 }, { at: 8.1 })).toEqual([expect.stringContaining('08:04:00Z')])
  expect(judge({ at: 4.1 }, { at: 8.1 })).toEqual([expect.stringContaining('08:00:00Z')])
})

it('is found that somebody searches in between, but for what is old or was not answered', () => {
  const at = [{ at: 0.1 }, { at: 4.1 }, { at: 8.1 }]
  expect(judge(...at, { at: 9.5 })).toEqual([expect.stringContaining('08:09:30Z')])
  expect(judge(...at, { at: 9.5, old: 3 })).toEqual([])
  expect(judge({ at: 0.1 }, { at: 4.1 }, { at: 8.1, fault: 'reset' }, { at: 9.5 })).toEqual([])
})

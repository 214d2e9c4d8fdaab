import { describe, expect, it } from 'vitest'
import type { Timeline } from '../../../src/engine/ports.ts'
import {
  cells,
  cellsOf,
  ribbonText,
  runsOf,
  type Standing,
  worstOf,
} from '../../../src/telemetry/page/ribbon.ts'

const hour = 3_600
/** Ninety-six hours, one for each stretch. */
const range = [0, cells * hour] as const

function statesOf(timeline: Partial<Timeline>, standing: Partial<Standing> = {}) {
  const ribbon = cellsOf(
    {
      ...{ app: 'a', stream: 's', isByTime: true, begins: 0 },
      ...{ complete: [], seen: [], waiting: [], lost: [], ...timeline },
    },
    { readAt: cells * hour, isLate: false, ...standing },
    range,
  )
  return runsOf(ribbon).map(({ state, length }) => `${length} ${state}`)
}

describe('the ribbon of a stream whose progress is time', () => {
  const read = {
    begins: 10 * hour,
    complete: [[10 * hour, 50 * hour]],
    seen: [[10 * hour, 60 * hour]],
  } as const

  it('is absent before it begins, complete where it is final, being read where it may change', () => {
    expect(statesOf(read)).toEqual(['10 absent', '40 complete', '10 reading', '36 absent'])
  })

  it('waits for what was not read before the newest that was', () => {
    const complete = [
      [10 * hour, 20 * hour],
      [30 * hour, 60 * hour],
    ] as const
    expect(statesOf({ ...read, complete, seen: complete })).toEqual([
      ...['10 absent', '10 complete', '10 waiting', '30 complete', '36 absent'],
    ])
  })

  it('that is late waits for what has been served since, not for what is not served yet', () => {
    expect(statesOf(read, { isLate: true, readAt: 90 * hour })).toEqual([
      ...['10 absent', '40 complete', '10 reading', '6 waiting', '30 absent'],
    ])
  })

  it('shows the worst that a stretch holds', () => {
    const lost = [[12.5 * hour, 12.6 * hour]] as const
    expect(statesOf({ ...read, lost })).toEqual([
      ...['10 absent', '2 complete', '1 lost', '37 complete', '10 reading', '36 absent'],
    ])
  })
})

describe('the ribbon of a stream that follows rooms or a list', () => {
  const rooms = { isByTime: false, begins: 90 * hour }

  it('is complete up to now, which is being read', () => {
    expect(statesOf(rooms)).toEqual(['90 absent', '5 complete', '1 reading'])
  })

  it('waits since its last page where it is late, and where a gap is open', () => {
    expect(statesOf(rooms, { isLate: true, readAt: 94 * hour })).toEqual([
      '90 absent',
      '4 complete',
      '2 waiting',
    ])
    expect(statesOf({ ...rooms, waiting: [[91 * hour, 92 * hour]] })).toEqual([
      ...['90 absent', '1 complete', '1 waiting', '3 complete', '1 reading'],
    ])
  })
})

it('the ribbon of several apps shows the worst of each stretch, and can be read out', () => {
  const of = (state: 'complete' | 'lost') => Array.from({ length: cells }, () => state)
  const mixed = worstOf([of('complete'), [...of('lost').slice(0, 24), ...of('complete').slice(24)]])
  expect(ribbonText(mixed)).toBe('complete 75 %, lost 25 %')
})

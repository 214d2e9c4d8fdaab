import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestLine } from '../../src/provider/operation.ts'
import { callMetrics } from '../../src/streams/call-metrics.ts'
import { callSessions } from '../../src/streams/call-sessions.ts'
import { everyCall } from '../../src/streams/calls/selection.ts'
import type { WorkItem } from '../../src/streams/page.ts'
import type { Substream } from '../../src/streams/stream.ts'
import { detailPageOf } from './pages.ts'

const newYear = 1_767_225_600
const { item: slice } = detailPageOf({})

function sidsOf({ ask }: WorkItem): readonly string[] {
  return (ask as { sids: string[] }).sids
}

const metricsItem: WorkItem = { ...slice, stream: 'call-metrics', part: 'p', ask: { sids: ['s1', 's2'] } }

describe('the metrics of sessions', () => {
  it('are asked for by their sids', () => {
    const asked = callMetrics.request('a1', metricsItem, 1)
    expect(requestLine(callMetrics.operation, asked).target).toBe(
      '/beta/analytics/call/metrics?start_ts=1767225660&end_ts=1767226860&appid=a1&call_id=c1&sids=s1%2Cs2',
    )
  })

  it('are found in the answer', () => {
    expect(callMetrics.read({ code: 0, message: null, metrics: [1] })).toEqual({ items: [1] })
    expect(callMetrics.read({ code: 0, metrics: [] })).toEqual({ items: [] })
    for (const metrics of [{}, null, undefined]) {
      expect(() => callMetrics.read({ code: 0, metrics })).toThrow()
    }
  })

  it('that cannot be read are set aside as an entry that can be read again by itself', () => {
    const entry = {
      sid: 's1',
      data: [
        {
          mid: 20_001,
          peer_uid: 0,
          kvs: [
            [newYear, 'x'],
            [newYear + 2, 1],
            [newYear + 4, {}],
          ],
        },
      ],
    }
    const { rejects } = callMetrics.toRows(detailPageOf({ item: metricsItem, items: [entry] }), null)
    expect(rejects).toEqual([
      {
        reason: 'wrong_type',
        detail: 'metrics.0.data.0.kvs.0: must be a second and a finite number (mid 20001; such pairs: 2)',
        item: {
          sid: 's1',
          data: [
            {
              mid: 20_001,
              peer_uid: 0,
              kvs: [
                [newYear, 'x'],
                [newYear + 4, {}],
              ],
            },
          ],
        },
      },
    ])
    const again = callMetrics.toRows(detailPageOf({ item: metricsItem, items: [rejects[0]!.item] }), null)
    expect(again.rejects).toHaveLength(1)
  })
})

describe('the metrics that are stored', () => {
  const mixed = {
    sid: 's1',
    data: [
      { mid: 20_001, peer_uid: 0, kvs: [[newYear, 1]] },
      { mid: 20_005, peer_uid: 7, kvs: [[newYear, 'x']] },
      { mid: 20_031, peer_uid: 7, kvs: [[newYear, 3]] },
      { mid: '20007', peer_uid: 7, kvs: 'none' },
    ],
  }
  const stored = (mids: readonly number[]) => {
    const settingsOf = (app: string) => ({ select: { ...everyCall, mids: app === 'a1' ? mids : [] } })
    const stream = callMetrics.configured!({ settingsOf } as never) as Substream
    const page = detailPageOf({ asked: { appid: 'a1' }, item: metricsItem, items: [mixed] })
    const { rows, rejects, reading } = stream.toRows(page, null)
    expect(reading).toBe('whole')
    expect(stream.request('a1', metricsItem, 1)).toEqual(callMetrics.request('a1', metricsItem, 1))
    return { mids: rows['analytics.session_series']!.map(row => row.mid), rejects: rejects.length }
  }

  it('are all of them where none is named, and ask for nothing else otherwise', () => {
    expect(stored([])).toEqual({ mids: [20_001, 20_031], rejects: 2 })
    expect(stored([20_031, 20_002])).toEqual({ mids: [20_031], rejects: 0 })
    expect(stored([20_005])).toEqual({ mids: [], rejects: 1 })
    expect(stored([20_007])).toEqual({ mids: [], rejects: 1 })
  })
})

/** All items that are left when each is split as often as it can be. */
function leaves(stream: Substream, item: WorkItem): readonly WorkItem[] {
  return stream.split(item)?.flatMap(half => leaves(stream, half)) ?? [item]
}

describe('an answer that is too large', () => {
  it('is asked for with half of the sids', () => {
    expect(callMetrics.split({ ...metricsItem, ask: { sids: ['s1', 's2', 's3'] } })).toEqual([
      { ...metricsItem, part: 'p.1', ask: { sids: ['s1', 's2'] } },
      { ...metricsItem, part: 'p.2', ask: { sids: ['s3'] } },
    ])
  })

  it('of one sid is asked for by halves of its time, and the second in the middle by both', () => {
    const one = { ...metricsItem, ask: { sids: ['s1'] } }
    const middle = newYear + 660
    expect(callMetrics.split(one)).toEqual([
      { ...one, part: 'p.1', to: middle },
      { ...one, part: 'p.2', from: middle },
    ])
    expect(callSessions.split(slice)?.map(({ from, to }) => [from, to])).toEqual([
      [slice.from, middle],
      [middle, slice.to],
    ])
  })

  it.each([
    ['call-metrics', callMetrics],
    ['call-sessions', callSessions],
  ] as const)('can be halved until there is nothing to halve: %s', (_, stream) => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 1, max: 20 }), (length, count) => {
        const sids = Array.from({ length: count }, (_, i) => `s${i}`)
        const whole = { ...metricsItem, to: metricsItem.from + length, ask: { sids } }
        const parts = leaves(stream, whole)
        expect(new Set(parts.map(({ part }) => part)).size).toBe(parts.length)
        const asked = new Set(
          parts.flatMap(({ from, to, ask }) => {
            expect(to - from).toBeLessThanOrEqual(1)
            return sidsOf({ ...whole, ask }).flatMap(sid => [`${sid} ${from}`, `${sid} ${to}`])
          }),
        )
        const backlog = sids.flatMap(sid =>
          Array.from({ length: length + 1 }, (_, i) => `${sid} ${whole.from + i}`),
        )
        expect([...asked].sort()).toEqual(backlog.sort())
      }),
      { numRuns: 20 },
    )
  })
})

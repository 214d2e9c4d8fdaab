import { describe, expect, it } from 'vitest'
import { callMetrics } from '../../src/streams/call-metrics.ts'
import { callSessions } from '../../src/streams/call-sessions.ts'
import { calls } from '../../src/streams/calls.ts'
import { realtimeUsage } from '../../src/streams/realtime-usage.ts'
import { detailPageOf, windowPageOf } from './pages.ts'

const newYear = 1_767_225_600

/** A call as the document shows it. */
const call = {
  ...{ call_id: 'c1', cname: 'algebra', created_ts: newYear + 60 },
  ...{ destroyed_ts: newYear + 660, finished: true },
}
const found = (item: object) => calls.toRows(windowPageOf({ items: [{ ...call, ...item }] }))

describe('a call', () => {
  it.each([
    ['times written as texts', { created_ts: String(newYear + 60), destroyed_ts: String(newYear + 660) }],
    ['a time with a fraction that is none', { created_ts: `${newYear + 60}.0` }],
  ])('with %s is the same call', (_, odd) => {
    const { rows, rejects, work } = found(odd)
    expect([rows, rejects, work]).toEqual([found({}).rows, [], found({}).work])
  })

  it('whose channel is a number is of the channel of that name', () => {
    expect(found({ cname: 101 })).toEqual(found({ cname: '101' }))
  })

  it('with nothing said but what must be is kept', () => {
    const nothing = { cname: null, destroyed_ts: null, finished: null }
    expect(found(nothing)).toMatchObject({ rejects: [], unfinished: [newYear + 60] })
    expect(found(nothing).rows['analytics.call']).toHaveLength(1)
  })

  it('that begins at no time is set aside, ends no list, and leaves its range open', () => {
    for (const none of [0, '0', 0.5]) {
      const { rows, rejects, isUncertain } = found({ created_ts: none })
      expect(rows['analytics.call']).toEqual([])
      expect(rejects).toMatchObject([{ reason: 'out_of_range' }])
      expect(isUncertain).toBe(true)
    }
    const full = [...Array.from({ length: 99 }, (_, n) => ({ ...call, call_id: `c${n}` })), { created_ts: 0 }]
    expect(calls.toRows(windowPageOf({ items: full })).reading).toBe('next')
  })

  it('with more than the document shows keeps that beside it', () => {
    const { rows } = found({ vendor: { id: 2n ** 60n }, tags: [null] })
    expect(rows['analytics.call']).toMatchObject([{ extra: { vendor: { id: 2n ** 60n }, tags: [null] } }])
  })

  it.each<[string, object]>([
    ['no name', { call_id: null }],
    ['an end that is no time', { destroyed_ts: 'soon' }],
    ['a word for whether it goes on', { finished: 'no' }],
  ])('with %s is set aside, and the second of its start stays in the backlog', (_, odd) => {
    const { rows, rejects, unfinished } = found(odd)
    expect(rows['analytics.call']).toEqual([])
    expect(rejects).toHaveLength(1)
    expect(unfinished).toEqual([newYear + 60])
    expect(found({ ...odd, created_ts: newYear - 5 }).unfinished).toEqual([])
  })
})

describe('a session', () => {
  const session = { sid: 's1', uid: 7, join_ts: newYear + 70, leave_ts: newYear + 700, finished: true }
  const listed = (item: object) =>
    callSessions.toRows(detailPageOf({ items: [{ ...session, ...item }] }), null)

  it('whose numbers are texts is the same session', () => {
    const odd = { uid: '7', join_ts: String(newYear + 70), leave_ts: String(newYear + 700) }
    expect(listed(odd)).toEqual(listed({}))
  })

  it('of a call that ends before it starts is asked for, whenever it was', () => {
    const { item } = detailPageOf({})
    const items = [{ ...session, leave_ts: newYear + 3_000 }]
    const { work } = callSessions.toRows(
      detailPageOf({ item: { ...item, to: item.from }, items, now: newYear + 4_000 }),
      null,
    )
    expect(work).toMatchObject([{ stream: 'call-metrics', ask: { sids: ['s1'] } }])
  })

  it.each<[string, object, object]>([
    ['a network', { network: 4 }, { network: null, extra: { network: 4 } }],
    ['a version', { sdk_version: 4.2 }, { sdk_version: null, extra: { sdk_version: 4.2 } }],
    ['a platform', { platform: { os: 'iOS' } }, { platform: null, extra: { platform: { os: 'iOS' } } }],
    ['a device', { device_type: ['x'] }, { device_type: null, extra: { device_type: ['x'] } }],
    ['a speaker', { speaker: 1 }, { speaker: null, extra: { speaker: 1 } }],
    ['a channel', { cname: 101 }, { cname: '101', extra: null }],
  ])('with %s of another kind lacks no more than that', (_, odd, stored) => {
    const { rows, rejects, work } = listed(odd)
    expect(rows['analytics.call_session']).toMatchObject([{ sid: 's1', uid: '7', ...stored }])
    expect([rejects, work.length]).toEqual([[], 1])
  })

  it('that only has its ID is kept, and asked for', () => {
    const rest = { uid: null, join_ts: null, leave_ts: null, finished: null }
    const { rows, rejects, work } = listed(rest)
    expect([rows['analytics.call_session']?.length, rejects, work.length]).toEqual([1, [], 1])
  })
})

describe('metrics', () => {
  const measured = (entry: object) =>
    callMetrics.toRows(detailPageOf({ items: [{ sid: 's1', ...entry }] }), null)
  const series = { mid: 20_001, peer_uid: 0, kvs: [[newYear + 70, 5]] }

  it('whose IDs are texts are the same', () => {
    const odd = { ...series, mid: '20001', peer_uid: '0' }
    expect(measured({ data: [odd] })).toEqual(measured({ data: [series] }))
  })

  it('that were not measured are none, beside those that were', () => {
    const { rows, rejects } = measured({ data: [{ ...series, kvs: [[newYear + 68, null], ...series.kvs] }] })
    expect(rows).toEqual(measured({ data: [series] }).rows)
    expect(rejects).toEqual([])
  })

  it.each<[string, object]>([
    ['a session without a list', {}],
    ['a session whose list is null', { data: null }],
    ['a metric whose list is null', { data: [{ ...series, kvs: null }] }],
    ['a list that is an object', { data: { 0: series } }],
    ['values that are an object', { data: [{ ...series, kvs: { [newYear + 70]: 5 } }] }],
    ['values without a list', { data: [{ mid: 20_001 }] }],
    ['a metric without an ID', { data: [{ ...series, mid: null }] }],
  ])('of %s are set aside', (_, entry) => {
    expect(measured(entry).rejects).toHaveLength(1)
  })
})

describe('a value of a window', () => {
  const series = { key: '', ask: { productType: 'Native', metric: 'userCount' }, step: 20 }
  const received = (point: object) =>
    realtimeUsage.toRows(windowPageOf({ series, items: [{ ts: newYear + 20, ...point }] })).received

  it('has been received where it is a number, also one written in a text', () => {
    expect(received({ userCount: 0 })).toEqual([newYear + 20])
    expect(received({ userCount: '5' })).toEqual([newYear + 20])
    expect(received({ count: 5 })).toEqual([newYear + 20])
  })

  it('has not been received where another metric is told, as by a provider that does not know the parameter', () => {
    expect(received({ channelCount: 5 })).toEqual([])
    const other = { ...series, ask: { ...series.ask, metric: 'user_count' } }
    const items = [{ ts: newYear + 20, userCount: 5 }]
    expect(realtimeUsage.toRows(windowPageOf({ series: other, items })).received).toEqual([newYear + 20])
  })

  it.each([{ userCount: null }, { userCount: 'n/a' }, { userCount: {} }, {}, { ts: null, userCount: 5 }])(
    'has not been received as %j',
    point => {
      expect(received(point)).toEqual([])
    },
  )
})

describe('values of one time', () => {
  const series = { key: '', ask: { productType: 'Native', metric: 'userCount' }, step: 20 }
  const read = (...points: readonly object[]) =>
    realtimeUsage.toRows(
      windowPageOf({ series, items: points.map(point => ({ ts: newYear + 20, ...point })) }),
    )
  const stored = (...points: readonly object[]) => read(...points).rows['analytics.usage_realtime']

  it('that differ are the last of them, with the others beside it', () => {
    expect(stored({ userCount: 3 }, { userCount: 4, note: 'n' }, { userCount: 5 })).toMatchObject([
      { value: 5, extra: { others: [{ value: 3 }, { value: 4, note: 'n' }] } },
    ])
    expect(stored({ userCount: 3 }, { userCount: 5, note: 'n' })).toMatchObject([
      { value: 5, extra: { note: 'n', others: [{ value: 3 }] } },
    ])
  })

  it('that say the same are one', () => {
    expect(stored({ userCount: 3 }, { userCount: 3 })).toMatchObject([{ value: 3, extra: null }])
    expect(stored({ userCount: 5 }, { userCount: 3 }, { userCount: 5 })).toMatchObject([
      { value: 5, extra: { others: [{ value: 3 }] } },
    ])
  })

  it('of a session are the last of them, with the others beside it', () => {
    const [at, later] = [newYear + 70, newYear + 72]
    const kvs = [[at, 1], [later, 7], [at, 2, 'x'], { k: at, v: 3, flag: 4 }, [at, 3]]
    const items = [{ sid: 's1', data: [{ mid: 20_001, kvs }] }]
    const [row, ...rows] = callMetrics.toRows(detailPageOf({ items }), null).rows['analytics.session_series']!
    expect([rows, row?.at, row?.value]).toEqual([[], [at, later], [3, 7]])
    const others = [{ value: 1 }, { value: 2, pair: ['x'] }, { value: 3, pair: { flag: 4 } }]
    expect(row?.extra).toEqual([{ others }, null])
  })

  it('of a session that say the same are one', () => {
    const kvs = [
      [newYear + 72, 7],
      [newYear + 70, 1],
      [newYear + 72, 7],
    ]
    const items = [{ sid: 's1', data: [{ mid: 20_001, kvs }] }]
    const [row] = callMetrics.toRows(detailPageOf({ items }), null).rows['analytics.session_series']!
    expect([row?.value, row?.extra]).toEqual([[7, 1], undefined])
  })
})

describe('values of times that nobody asked for', () => {
  it.each([
    ['a window', 20, [0, 3_580], [-20, 3_620]],
    ['an hour', 3_600, [0], [-3_600, 7_200]],
  ])('are counted, but for the end that %s may include', (_, step, inside, outside) => {
    const series = { key: '', ask: { productType: 'Native', metric: 'userCount' }, step }
    const items = [...inside, 3_600, ...outside].map(second => ({ ts: newYear + second, userCount: 1 }))
    const { rows, ignored, received } = realtimeUsage.toRows(windowPageOf({ series, items }))
    expect([rows['analytics.usage_realtime']?.length, received?.length]).toEqual([
      inside.length,
      inside.length,
    ])
    expect(ignored).toBe(outside.length)
  })
})

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

  it('with nothing said but what must be is kept', () => {
    const nothing = { cname: null, destroyed_ts: null, finished: null }
    expect(found(nothing)).toMatchObject({ rejects: [], unfinished: [newYear + 60] })
    expect(found(nothing).rows['analytics.call']).toHaveLength(1)
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

  it.each<[string, object]>([
    ['a session', { data: null }],
    ['a metric', { data: [{ ...series, kvs: null }] }],
  ])('of %s whose list is null are none', (_, entry) => {
    const { rows, rejects } = measured(entry)
    expect([rows['analytics.session_series'], rejects]).toEqual([[], []])
  })

  it.each<[string, object]>([
    ['a session without a list', {}],
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

  it.each([{ userCount: null }, { userCount: 'n/a' }, { userCount: {} }, {}, { ts: null, userCount: 5 }])(
    'has not been received as %j',
    point => {
      expect(received(point)).toEqual([])
    },
  )
})

import { expect, it } from 'vitest'
import { calls } from '../../src/streams/calls.ts'
import { streams } from '../../src/streams/index.ts'
import { detailPageOf, pageOf, windowPageOf } from './pages.ts'

/** Times beside the answer of the turn of the year 2026: a day and a minute ahead of it, and a minute less than a day. */
const far = 1_767_312_060_000
const near = 1_767_311_940_000

const named = { roomUuid: 'algebra-7b', version: 1 }
const started = (startTime: number) => ({ ...named, cmd: 1, sequence: 1, data: { state: 1, startTime } })
const rewarded = (updateTime: number) => ({
  ...named,
  cmd: 1101,
  sequence: 2,
  data: { rewardDetails: [], updateTime },
})

it.each(['room-events', 'app-events'] as const)(
  '%s stores a time more than a day ahead as it came, and dates nothing by it',
  name => {
    const series = name === 'app-events' ? '' : 'algebra-7b'
    const read = (time: number) =>
      streams[name].toRows(pageOf({ series, items: [started(time), rewarded(time)] }), null)
    const { rows, hints } = read(far)
    expect(rows['classroom.room_event']).toMatchObject([
      { event_time: '2026-01-02T00:01:00.000Z', at: '2026-01-01T00:00:00.000Z', at_source: 'provider' },
      { event_time: '2026-01-02T00:01:00.000Z', at: '2026-01-01T00:00:00.000Z', at_source: 'provider' },
    ])
    expect(rows['classroom.room_state_change']).toMatchObject([{ started_at: null }])
    expect(rows['classroom.room']).toMatchObject([
      { started_at: '2026-01-01T00:00:00.000Z', last_event_at: '2026-01-01T00:00:00.000Z' },
    ])
    expect(hints).toMatchObject([{ at: 1_767_225_600_000 }])
    expect(read(near).rows['classroom.room_event']?.[1]).toMatchObject({ at_source: 'event' })
  },
)

it.each([
  ['in seconds', 1_767_225_000, 1_767_225_060],
  ['as a text', '1767225000000', '1767225060000'],
  ['with a fraction', 1_767_225_000_000.5, 1_767_225_060_000.25],
])('a time %s is the same moment as in milliseconds', (_, begin, end) => {
  const operator = { userUuid: 'ann' }
  const items = [
    {
      changeProperties: { extra: { popupQuizId: 'q1', answerState: 1, receiveQuestionTime: begin } },
      operator,
    },
    { changeProperties: { popupQuizId: 'q1', selectedItems: ['A'], lastCommitTime: begin }, operator },
  ]
  const quizzes = streams['popup-quiz'].toRows(pageOf({ items }), null).rows
  const at = '2025-12-31T23:50:00.000Z'
  expect(quizzes['classroom.quiz']).toMatchObject([{ started_at: at }])
  expect(quizzes['classroom.quiz_submission']).toMatchObject([{ committed_at: at }])
  const list = [{ recordId: 'r1', startTime: begin, endTime: end }]
  expect(streams.recordings.toRows(pageOf({ items: list }), null).rows['classroom.recording']).toMatchObject([
    { started_at: at, ended_at: '2025-12-31T23:51:00.000Z' },
  ])
})

it('a time in seconds with a fraction is that second', () => {
  const call = { call_id: 'c1', created_ts: 1_767_225_660.9, destroyed_ts: 1_767_225_720.5, finished: true }
  const found = calls.toRows(windowPageOf({ items: [call] }))
  expect(found).toMatchObject({
    rows: {
      'analytics.call': [
        { created_at: '2026-01-01T00:01:00.000Z', destroyed_at: '2026-01-01T00:02:00.000Z', extra: null },
      ],
    },
    rejects: [],
    work: [{ from: 1_767_225_660, to: 1_767_225_720 }],
  })
  const session = { sid: 's1', join_ts: 1_767_225_660.9, leave_ts: '1767225720.5' }
  expect(streams['call-sessions'].toRows(detailPageOf({ items: [session] }), null)).toMatchObject({
    rows: {
      'analytics.call_session': [
        { joined_at: '2026-01-01T00:01:00.000Z', left_at: '2026-01-01T00:02:00.000Z' },
      ],
    },
    rejects: [],
  })
  const player = { id: 'p1', createTs: 1_767_225_600.5 }
  const list = streams['cloud-players'].toRows(pageOf({ series: '', items: [player], total: 1 }), null)
  expect(list.rows['players.cloud_player']).toMatchObject([
    { created_at: '2026-01-01T00:00:00.000Z', extra: null },
  ])
  expect(list.rejects).toEqual([])
})

it('a recording is stored whoever recorded it', () => {
  const list = [{ recordId: 'r1', recordUid: 2n ** 60n, startTime: 1_767_225_000_000, status: 1 }]
  const { rows, rejects } = streams.recordings.toRows(pageOf({ items: list }), null)
  expect([rows['classroom.recording']?.[0]?.extra, rejects]).toEqual([{ recordUid: 2n ** 60n }, []])
})

it('a time of 0 has not come', () => {
  const list = [{ recordId: 'r1', startTime: 1_767_225_000_000, endTime: 0, status: 1 }]
  const { rows, unfinished } = streams.recordings.toRows(pageOf({ items: list }), null)
  expect(rows['classroom.recording']).toMatchObject([{ ended_at: null }])
  expect(unfinished).toBe(true)
  const entered = {
    ...named,
    cmd: 20,
    sequence: 1,
    data: { onlineUsers: [{ userUuid: 'ann', updateTime: 0 }] },
  }
  const log = streams['room-events'].toRows(pageOf({ series: 'algebra-7b', items: [entered] }), null)
  expect(log.rows['classroom.attendance']).toMatchObject([
    { user_uuid: 'ann', at: '2026-01-01T00:00:00.000Z' },
  ])
})

it('a log whose times were a day ahead is known again when they are not any more', () => {
  const items = [started(far)]
  const { streamState } = streams['room-events'].toRows(pageOf({ items }), null)
  const later = streams['room-events'].toRows(pageOf({ items, answeredAt: far }), streamState)
  expect(later.room).toEqual({ kind: 'incarnation', incarnation: 1, opens: false })
})

it('lists keep a time more than a day ahead beside the columns, and do not take it for an end', () => {
  const recording = { recordId: 'r1', startTime: near, endTime: far, url: 'https://files.example/1' }
  const recordings = streams.recordings.toRows(pageOf({ items: [recording] }), null)
  expect(recordings.rows['classroom.recording']).toMatchObject([
    { started_at: '2026-01-01T23:59:00.000Z', ended_at: null, extra: { endTime: far } },
  ])
  const resource = { resourceUuid: 'r1', updateTime: far }
  expect(
    streams.resources.toRows(pageOf({ items: [resource] }), null).rows['classroom.resource'],
  ).toMatchObject([{ updated_at: null, extra: { updateTime: far } }])
})

it('a quiz is not begun, answered or ended in a time more than a day ahead', () => {
  const operator = { userUuid: 'ann' }
  const change = (extra: object) => ({ ts: far, changeProperties: { extra }, operator })
  const items = [
    change({ popupQuizId: 'q1', answerState: 1, receiveQuestionTime: far }),
    change({ popupQuizId: 'q1', selectedItems: ['A'], lastCommitTime: far }),
    change({ popupQuizId: 'q1', answerState: 0 }),
  ]
  const { rows } = streams['popup-quiz'].toRows(pageOf({ items }), null)
  expect(rows['classroom.quiz']).toMatchObject([{ started_at: null, ended_at: null }])
  expect(rows['classroom.quiz_submission']).toMatchObject([{ committed_at: null }])
})

it('a player that says it was made more than a day ahead is destroyed when two lists lack it', () => {
  const player = { id: 'p1', status: 'connected', createTs: far / 1_000 }
  const list = (items: readonly object[], streamState: ReturnType<typeof made>['streamState']) =>
    streams['cloud-players'].toRows(
      pageOf({ series: '', items, total: items.length, answeredAt: 1_767_225_700_000 }),
      streamState,
    )
  const made = () => streams['cloud-players'].toRows(pageOf({ series: '', items: [player], total: 1 }), null)
  const first = made()
  expect(first.rows['players.cloud_player']).toMatchObject([
    { created_at: null, extra: { createTs: far / 1_000 } },
  ])
  const gone = list([], list([], first.streamState).streamState)
  expect(gone.rows['players.cloud_player']).toMatchObject([{ status: 'destroyed' }])
})

it('a call that ends or begins more than a day ahead is set aside, and its second asked for again', () => {
  const newYear = 1_767_225_600
  const call = { call_id: 'c1', cname: 'algebra-7b', finished: true }
  const items = [
    { ...call, created_ts: newYear + 60, destroyed_ts: newYear + 172_800 },
    { ...call, call_id: 'c2', created_ts: newYear + 120, destroyed_ts: newYear + 180 },
    { ...call, call_id: 'c3', created_ts: newYear + 172_800 },
  ]
  const { rows, rejects, unfinished } = calls.toRows(windowPageOf({ items }))
  expect(rows['analytics.call']).toMatchObject([
    { call_id: 'c1', destroyed_at: null, extra: { destroyed_ts: newYear + 172_800 } },
    { call_id: 'c2', destroyed_at: '2026-01-01T00:03:00.000Z', extra: null },
  ])
  expect(rejects.map(({ detail }) => detail)).toEqual([
    'created_ts: more than a day ahead',
    'destroyed_ts: more than a day ahead',
  ])
  expect(unfinished).toEqual([newYear + 60])
})

/** The last second that 32 bits hold, as some tell of what has not come. */
const never = 2 ** 32 - 1

it('a stay begins and ends in no time more than a day ahead, and its metrics are asked for', () => {
  const session = { sid: 's1', join_ts: never, leave_ts: never, finished: false }
  const { rows, rejects, work } = streams['call-sessions'].toRows(detailPageOf({ items: [session] }), null)
  expect(rows['analytics.call_session']).toMatchObject([
    { joined_at: null, left_at: null, extra: { join_ts: never, leave_ts: never } },
  ])
  expect([rejects, work]).toMatchObject([[], [{ stream: 'call-metrics', ask: { sids: ['s1'] } }]])
})

it('a value that was measured more than a day ahead is set aside', () => {
  const [at, ahead] = [1_767_225_670, far / 1_000]
  const read = (late: unknown) => {
    const items = [{ sid: 's1', data: [{ mid: 20_001, kvs: [[at, 1], [near / 1_000, 2], late] }] }]
    return streams['call-metrics'].toRows(detailPageOf({ items }), null)
  }
  for (const late of [[ahead, 3], [String(ahead), 3], { ts: ahead, value: 3 }]) {
    const { rows, rejects } = read(late)
    expect(rows['analytics.session_series']).toMatchObject([{ at: [at, near / 1_000], value: [1, 2] }])
    expect(rejects).toMatchObject([{ reason: 'out_of_range', item: { sid: 's1', data: [{ kvs: [late] }] } }])
  }
})

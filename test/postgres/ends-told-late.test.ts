import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  app,
  event,
  listPage,
  logPage,
  me,
  openStore,
  roomRow,
  roomStreams,
  rowSet,
  type TestStore,
  time,
} from './harness.ts'
import { feed, freshRoom, roomOf } from './rooms.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

/** A start at minute 1, and an end that has the time of minute 5 by its neighbour and is told at minute `told`. */
function late(room: string, told: number) {
  const change = (sequence: number, state: number) => ({
    ...{ room_uuid: room, sequence, state, started_at: null, at: time(sequence), extra: null },
  })
  const row = roomRow(room, { state: 2, stateSequence: 5, started: 1, ended: 5, first: 1, last: 5 })
  return rowSet({
    'classroom.room': [{ ...row, ended_by: time(told), late_ends: [time(5)] }],
    'classroom.room_event': [
      event(room, 1, { cmd: 1 }),
      { ...event(room, 5, { cmd: 1, own: null, at: 5 }), at_source: 'neighbour', received_at: time(told) },
    ],
    'classroom.room_state_change': [change(1, 1), change(5, 2)],
  })
}

async function alone(): Promise<string> {
  const room = await freshRoom(db)
  await db.store.commit(logPage(room, 0, { rows: late(room, 30) }))
  return room
}

async function inCompany(): Promise<string> {
  const [room, other] = [await freshRoom(db), await freshRoom(db)]
  const nobody = (name: string) => db.store.commit(listPage('poll', name, 0, { fence: me }))
  await Promise.all([
    nobody('first'),
    nobody('second'),
    ...[room, other].map(each => db.store.commit(logPage(each, 0, { rows: late(each, 30) }))),
  ])
  return room
}

/** All of the room is read at minute 40, and its polls at another. */
async function read(room: string, polls: number): Promise<void> {
  await db.rows(
    `update ingest.progress set caught_up_at = case stream when 'poll' then $2 else $3 end::timestamptz where series = $1`,
    [room, time(polls), time(40)],
  )
}

const lacking = async (room: string) => [
  await db.value(`select lacking from classroom.class_complete where room_uuid = $1`, [room]),
  await db.value(
    `select coalesce(string_agg(stream, ', '), '') from ingest.room_complete where room_uuid = $1 and reason = 'unread'`,
    [room],
  ),
]

describe.each([
  ['by itself', alone],
  ['in company', inCompany],
])('the end of a class that its log tells late, committed %s', (_, commit) => {
  it('is reached by what was read since it was told', async () => {
    const room = await commit()
    await read(room, 20)
    expect(await lacking(room)).toEqual(['poll', 'poll'])
    await read(room, 31)
    expect(await lacking(room)).toEqual(['', ''])
  })

  it('stays as it was told first, however often and late it is told again', async () => {
    const room = await commit()
    await db.store.commit(logPage(room, 1, { rows: late(room, 60) }))
    const { ended_at, ended_by } = await roomOf(db, room)
    expect([ended_at, ended_by]).toEqual([new Date(time(5)), new Date(time(30))])
  })

  it('is told late too where what came after it was read before', async () => {
    const room = await freshRoom(db)
    const rows = late(room, 30)
    const [row] = rows['classroom.room'] ?? []
    await db.store.commit(
      logPage(room, 0, { rows: rowSet({ 'classroom.room': [roomRow(room, { first: 1, last: 7 })] }) }),
    )
    const untimed = rowSet({ ...rows, 'classroom.room': [{ ...row, ended_at: null }] })
    await db.store.commit(logPage(room, 1, { rows: untimed }))
    const { ended_at, ended_by } = await roomOf(db, room)
    expect([ended_at, ended_by]).toEqual([new Date(time(5)), new Date(time(30))])
  })

  it('is the earlier one of two, also where the feed told the first of them later than the other is dated', async () => {
    const room = await freshRoom(db)
    const row = roomRow(room, { state: 3, stateSequence: 6, first: 1, last: 7 })
    const change = (sequence: number, state: number, at: number) => ({
      ...{ room_uuid: room, sequence, state, started_at: null, at: time(at), extra: null },
    })
    const told = (sequence: number, at: number) => event(room, sequence, { cmd: 1, own: null, at })
    await db.store.follow(me, app, 'app-events', '')
    await feed(db, {
      rows: rowSet({
        'classroom.room': [roomRow(room, { state: 2, stateSequence: 5, ended: 12, first: 12, last: 12 })],
        'classroom.room_event': [told(5, 12)],
        'classroom.room_state_change': [change(5, 2, 12)],
      }),
    })
    const rows = rowSet({
      'classroom.room': [{ ...row, ended_at: time(4), ended_by: time(30), late_ends: [time(4), time(7)] }],
      'classroom.room_event': [5, 6].map(sequence => ({
        ...told(sequence, 2 * sequence - 6),
        at_source: 'neighbour',
      })),
      'classroom.room_state_change': [change(5, 2, 4), change(6, 3, 7)],
    })
    await db.store.commit(logPage(room, 0, { rows }))
    const { ended_at, ended_by } = await roomOf(db, room)
    expect([ended_at, ended_by]).toEqual([new Date(time(7)), new Date(time(30))])
  })

  it('has the time of the feed where that told it before', async () => {
    const room = await freshRoom(db)
    const heard = { room_uuid: room, sequence: 5, state: 2, started_at: null, at: time(12), extra: null }
    await db.store.follow(me, app, 'app-events', '')
    await feed(db, {
      rows: rowSet({
        'classroom.room': [roomRow(room, { state: 2, stateSequence: 5, ended: 12, first: 12, last: 12 })],
        'classroom.room_event': [event(room, 5, { cmd: 1, own: null, at: 12 })],
        'classroom.room_state_change': [heard],
      }),
    })
    await db.rows('update classroom.room set ended_at = null where room_uuid = $1', [room])
    await db.store.commit(logPage(room, 0, { rows: late(room, 30) }))
    const { ended_at, ended_by } = await roomOf(db, room)
    expect([ended_at, ended_by]).toEqual([new Date(time(12)), null])
  })

  it('is none once the class is started again', async () => {
    const room = await commit()
    const again = { room_uuid: room, sequence: 6, state: 1, started_at: null, at: time(35), extra: null }
    const rows = rowSet({
      'classroom.room': [roomRow(room, { state: 1, stateSequence: 6 })],
      'classroom.room_event': [event(room, 6, { cmd: 1 })],
      'classroom.room_state_change': [again],
    })
    await db.store.commit(logPage(room, 1, { rows }))
    const { ended_at, ended_by } = await roomOf(db, room)
    expect([ended_at, ended_by]).toEqual([null, null])
  })
})

describe('what was read before its end was told', () => {
  it('is unread of a room that is used again', async () => {
    const room = await alone()
    await read(room, 20)
    const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
    await db.store.commit(logPage(room, 1, { room: opens, rows: rowSet({}) }))
    expect((await roomOf(db, room)).unread).toEqual(['poll'])
    expect(await lost(room)).toEqual(['poll'])
  })

  it('is lost of a room that is forgotten', async () => {
    const room = await alone()
    await read(room, 20)
    await db.store.forgetRoom(me, app, room)
    expect(await lost(room)).toEqual(['poll'])
  })

  it('leaves its day incomplete', async () => {
    await db.rows('truncate ingest.progress, ingest.gap, classroom.room, classroom.room_event')
    const room = await alone()
    // A day counts that began when the app was known.
    await db.rows('update classroom.room set first_seen_at = $1', [time(-24 * 60)])
    const unread = async (polls: number) => {
      await read(room, polls)
      const rows = await db.rows(
        `select distinct stream from ingest.complete_day where stream = any ($1) and reasons like '%unread%'`,
        [roomStreams],
      )
      return rows.map(({ stream }) => stream)
    }
    expect(await unread(20)).toEqual(['poll'])
    expect(await unread(31)).toEqual([])
  })
})

async function lost(room: string): Promise<readonly unknown[]> {
  const rows = await db.rows(`select stream from ingest.gap where series = $1 and state = 'lost'`, [room])
  return rows.map(({ stream }) => stream)
}

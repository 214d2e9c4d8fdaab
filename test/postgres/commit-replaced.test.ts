import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  app,
  chat,
  event,
  eventRows,
  logPage,
  me,
  openStore,
  roomRow,
  rowSet,
  type TestStore,
  time,
} from './harness.ts'
import { feed, freshRoom, roomOf } from './rooms.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.follow(me, app, 'app-events', '')
})
afterAll(() => db.close())

describe('what the log takes back of the feed', () => {
  const enter = (room: string, sequence: number, ordinal: number, user: string, at: number) => ({
    ...{ room_uuid: room, sequence, ordinal, user_uuid: user, user_name: user, role: '2' },
    ...{ stream_uuid: null, action: 'enter', at: time(at), extra: null },
  })
  const attendance = (room: string) =>
    db.rows(
      'select sequence::int, ordinal, user_uuid, at from classroom.attendance where room_uuid = $1 order by 1, 2',
      [room],
    )

  it('leaves no row of an event that was another one, and the times are those of the right one', async () => {
    const room = await freshRoom(db)
    const wrong = [0, 1, 2].map(ordinal => enter(room, 1, ordinal, `old-${ordinal}`, 1))
    const kept = enter(room, 3, 0, 'kept', 3)
    const feedRows = {
      'classroom.room': [roomRow(room, { first: 1, last: 3 })],
      'classroom.room_event': [
        event(room, 1, { cmd: 20, own: 1 }),
        event(room, 2, { cmd: 3, own: 2 }),
        event(room, 3, { cmd: 20, own: 3 }),
      ],
      'classroom.attendance': [...wrong, kept],
      'classroom.chat_message': [chat(room, 2, 'of the former room', 2)],
    }
    await feed(db, { rows: rowSet(feedRows) })
    const logRows = {
      'classroom.room': [roomRow(room, { first: 21, last: 22 })],
      'classroom.room_event': [
        event(room, 1, { cmd: 20, own: 21, data: 'another' }),
        event(room, 2, { cmd: 20, own: 22 }),
      ],
      'classroom.attendance': [enter(room, 1, 0, 'new', 21), enter(room, 2, 0, 'newer', 22)],
    }
    await db.store.commit(logPage(room, 0, { rows: rowSet(logRows) }))
    expect(await attendance(room)).toEqual([
      { sequence: 1, ordinal: 0, user_uuid: 'new', at: new Date(time(21)) },
      { sequence: 2, ordinal: 0, user_uuid: 'newer', at: new Date(time(22)) },
      { sequence: 3, ordinal: 0, user_uuid: 'kept', at: new Date(time(3)) },
    ])
    expect(await db.rows('select 1 from classroom.chat_message where room_uuid = $1', [room])).toEqual([])
    const events = await db.rows(
      'select sequence::int, at, received_at from classroom.room_event where room_uuid = $1 order by 1',
      [room],
    )
    expect(events).toEqual(
      [21, 22, 3].map((minute, index) => ({
        ...{ sequence: index + 1, at: new Date(time(minute)), received_at: new Date(time(minute)) },
      })),
    )
    expect(await roomOf(db, room)).toMatchObject({ valid_from: new Date(time(3)), started_at: null })
  })

  it('leaves the items that both tell, with the time of the first sight, and none that only the feed told', async () => {
    const room = await freshRoom(db)
    const told = (users: readonly string[], at: number) =>
      rowSet({
        'classroom.room': [roomRow(room, { first: 0, last: 0 })],
        'classroom.room_event': [event(room, 1, { cmd: 20, own: null, at, data: users })],
        'classroom.attendance': users.map((user, ordinal) => enter(room, 1, ordinal, user, at)),
      })
    await feed(db, { rows: told(['ann', 'bob'], 1) })
    expect(await db.store.commit(logPage(room, 0, { rows: told(['ann'], 9) }))).toMatchObject({ diverged: 0 })
    expect(await attendance(room)).toEqual([
      { sequence: 1, ordinal: 0, user_uuid: 'ann', at: new Date(time(1)) },
    ])
  })

  it('makes the room what the changes of state say that are left', async () => {
    const room = await freshRoom(db)
    const change = (sequence: number, state: number, at: number) => ({
      ...{ room_uuid: room, sequence, state, at: time(at), extra: null },
      started_at: state === 1 ? time(at) : null,
    })
    const changed = (sequence: number, state: number, at: number, room_: object) =>
      rowSet({
        'classroom.room': [room_],
        'classroom.room_event': [event(room, sequence, { cmd: 1, own: at })],
        'classroom.room_state_change': [change(sequence, state, at)],
      })
    const started = roomRow(room, { state: 1, stateSequence: 1, started: 10, first: 10, last: 10 })
    await db.store.commit(logPage(room, 0, { rows: changed(1, 1, 10, started) }))
    const former = [change(7, 1, 1), change(8, 2, 5)]
    await feed(db, {
      rows: rowSet({
        'classroom.room': [
          roomRow(room, {
            ...{ state: 2, stateSequence: 8, started: 1 },
            ...{ ended: 5, first: 1, last: 5 },
          }),
        ],
        'classroom.room_event': [event(room, 7, { cmd: 1, own: 1 }), event(room, 8, { cmd: 1, own: 5 })],
        'classroom.room_state_change': former,
      }),
    })
    expect(await roomOf(db, room)).toMatchObject({ state: 2, ended_at: new Date(time(5)) })

    const messages = [event(room, 7, { own: 17 }), event(room, 8, { own: 18 })]
    await db.store.commit(
      logPage(room, 1, { rows: eventRows(messages, [roomRow(room, { first: 17, last: 18 })]) }),
    )
    const living = {
      state: 1,
      started_at: new Date(time(10)),
      ended_at: null,
      valid_from: new Date(time(10)),
    }
    expect(await roomOf(db, room)).toMatchObject({ ...living, state_sequence: '1' })

    const ended = roomRow(room, { state: 2, stateSequence: 9, ended: 30, first: 30, last: 30 })
    await db.store.commit(logPage(room, 2, { rows: changed(9, 2, 30, ended) }))
    expect(await roomOf(db, room)).toMatchObject({
      state: 2,
      state_sequence: '9',
      ended_at: new Date(time(30)),
    })
  })

  it('counts a change of state that stands in the place of a mistaken one', async () => {
    const room = await freshRoom(db)
    const told = (state: number, at: number, more: object) =>
      rowSet({
        'classroom.room': [roomRow(room, { state, stateSequence: 4, first: at, last: at, ...more })],
        'classroom.room_event': [event(room, 4, { cmd: 1, own: at })],
        'classroom.room_state_change': [
          { room_uuid: room, sequence: 4, state, started_at: null, at: time(at), extra: null },
        ],
      })
    await feed(db, { rows: told(3, 2, { ended: 2 }) })
    await db.store.commit(logPage(room, 0, { rows: told(1, 40, { started: 40 }) }))
    expect(await roomOf(db, room)).toMatchObject({
      ...{ state: 1, state_sequence: '4', ended_at: null },
      ...{ started_at: new Date(time(40)), valid_from: new Date(time(40)) },
    })
  })
})

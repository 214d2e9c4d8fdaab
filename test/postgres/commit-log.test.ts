import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  app,
  chat,
  event,
  eventRows,
  hour,
  logPage,
  me,
  openStore,
  roomRow,
  roomStreams,
  rowSet,
  start,
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

const progressOf = (room: string) => db.store.progress(app, 'room-events', room)

describe('a page of a log', () => {
  it('moves rows, stream state and progress together', async () => {
    const room = await freshRoom(db)
    const rows = eventRows([event(room, 1), event(room, 2)])
    const result = await db.store.commit(logPage(room, 0, { rows, cursor: 'next', streamState: { seen: 2 } }))
    const stored = { 'classroom.room': 1, 'classroom.room_event': 2, 'classroom.chat_message': 2 }
    expect(result).toMatchObject({ outcome: 'committed', version: 1, stored, diverged: 0 })
    expect(await progressOf(room)).toMatchObject({ version: 1, cursor: 'next', streamState: { seen: 2 } })
    expect(
      await db.value('select count(*)::int from classroom.chat_message where room_uuid = $1', [room]),
    ).toBe(2)
  })

  it('writes nothing at all when it was read from another version', async () => {
    const room = await freshRoom(db)
    const page = logPage(room, 0, { rows: eventRows([event(room, 1)]), streamState: 1, cursor: 'a' })
    await db.store.commit(page)
    const late = { ...page, rows: eventRows([event(room, 2)]), streamState: 2, cursor: 'b' }
    expect(await db.store.commit(late)).toEqual({ outcome: 'stale' })
    expect(await progressOf(room)).toMatchObject({ version: 1, cursor: 'a', streamState: 1 })
    expect(
      await db.value('select count(*)::int from classroom.room_event where room_uuid = $1', [room]),
    ).toBe(1)
  })

  it('without a row still moves on, and is a sign of life', async () => {
    const room = await freshRoom(db)
    expect(await db.store.commit(logPage(room, 0))).toMatchObject({ outcome: 'committed', version: 1 })
    expect(await roomOf(db, room)).toMatchObject({ verified_at: new Date(start), state: null, region: 'ap' })
  })

  it('told again changes nothing and counts nothing', async () => {
    const room = await freshRoom(db)
    const rows = eventRows([event(room, 1), event(room, 2)])
    await db.store.commit(logPage(room, 0, { rows }))
    const again = await db.store.commit(logPage(room, 1, { rows }))
    const stored = { 'classroom.room_event': 0, 'classroom.chat_message': 0, 'classroom.room': 0 }
    expect(again).toMatchObject({ outcome: 'committed', version: 2, stored, diverged: 0 })
  })

  it('with another event at a known place keeps the first and sets the other down', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1, { data: { a: 1 } })]) }))
    const other = eventRows([event(room, 1, { own: 5, data: { a: 2 } })])
    expect(await db.store.commit(logPage(room, 1, { rows: other }))).toMatchObject({ diverged: 1 })
    expect(await db.value('select data from classroom.room_event where room_uuid = $1', [room])).toEqual({
      a: 1,
    })
    const [row] = await db.rows(
      `select stream, key, kept -> 'data' as kept, other -> 'data' as other
      from ingest.divergence where series = $1`,
      [room],
    )
    expect(row).toEqual({ stream: 'room-events', key: '1', kept: { a: 1 }, other: { a: 2 } })
  })

  it('with other words for a known event keeps the first and notes one other, whatever else is said later', async () => {
    const room = await freshRoom(db)
    const says = (version: number, data: object) =>
      db.store.commit(logPage(room, version, { rows: eventRows([event(room, 1, { data })]) }))
    await says(0, { url: 'a', size: 1 })
    expect(await says(1, { size: 1, url: 'a' })).toMatchObject({ diverged: 0 })
    expect(await says(2, { url: 'b', size: 1 })).toMatchObject({ diverged: 1 })
    expect(await says(3, { url: 'c', size: 1 })).toMatchObject({ diverged: 0 })
    expect(await db.rows('select data from classroom.room_event where room_uuid = $1', [room])).toEqual([
      { data: { url: 'a', size: 1 } },
    ])
    const noted = await db.rows('select kept, other from ingest.divergence where series = $1', [room])
    expect(noted).toMatchObject([{ kept: { data: { url: 'a' } }, other: { data: { url: 'b' } } }])
  })

  it('keeps the time at which a derived row was first seen, and renews the rest', async () => {
    const room = await freshRoom(db)
    const told = (message: string, at: number) =>
      rowSet({
        'classroom.room_event': [event(room, 1, { own: null, at })],
        'classroom.chat_message': [chat(room, 1, message, at)],
      })
    await feed(db, {
      rows: { ...told('draft', 1), 'classroom.room': eventRows([event(room, 1)])['classroom.room']! },
    })
    await db.store.commit(logPage(room, 0, { rows: told('final', 9) }))
    const [row] = await db.rows('select message, at from classroom.chat_message where room_uuid = $1', [room])
    expect(row).toEqual({ message: 'final', at: new Date(time(1)) })
  })
})

describe('the log and the feed', () => {
  it('agree: the log confirms what the feed showed', async () => {
    const room = await freshRoom(db)
    await feed(db, { rows: eventRows([event(room, 1)]) })
    expect(await db.value('select source from classroom.room_event where room_uuid = $1', [room])).toBe(
      'feed',
    )
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1)]) }))
    expect(await db.value('select source from classroom.room_event where room_uuid = $1', [room])).toBe('log')
  })

  it('agree: the feed changes nothing that the log told', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1, { data: { by: 'log' } })]) }))
    const told = await feed(db, { rows: eventRows([event(room, 1, { data: { by: 'feed' } })]) })
    expect(told).toMatchObject({ outcome: 'committed', diverged: 0, stored: { 'classroom.room_event': 0 } })
    const [row] = await db.rows('select source, data from classroom.room_event where room_uuid = $1', [room])
    expect(row).toEqual({ source: 'log', data: { by: 'log' } })
  })

  it('differ: the log replaces what the feed showed and notes it', async () => {
    const room = await freshRoom(db)
    await feed(db, { rows: eventRows([event(room, 1, { cmd: 3 })]) })
    const result = await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1, { cmd: 20 })]) }))
    expect(result).toMatchObject({ diverged: 1 })
    const [row] = await db.rows('select source, cmd from classroom.room_event where room_uuid = $1', [room])
    expect(row).toEqual({ source: 'log', cmd: 20 })
    const [noted] = await db.rows(
      `select kept -> 'cmd' as kept, other -> 'cmd' as other from ingest.divergence
      where series = $1`,
      [room],
    )
    expect(noted).toEqual({ kept: 20, other: 3 })
  })

  it('differ: what the feed says against the log waits until the log says it too', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1, { cmd: 20 })]) }))
    await feed(db, { rows: eventRows([event(room, 1, { cmd: 3, own: 7 })]) })
    const waiting = 'select count(*)::int from ingest.divergence where series = $1 and resolved_at is null'
    expect(await db.value(waiting, [room])).toBe(1)
    expect(await db.value('select cmd from classroom.room_event where room_uuid = $1', [room])).toBe(20)
    const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
    await db.store.commit(
      logPage(room, 1, { room: opens, rows: eventRows([event(room, 1, { cmd: 3, own: 7 })]) }),
    )
    expect(await db.value(waiting, [room])).toBe(0)
  })

  it.each([
    ['on its last page', true],
    ['on a page before', false],
  ])(
    'differ no longer: what the feed tells waits for nothing that the log told and that was set aside %s',
    async (_, isLast) => {
      const room = await freshRoom(db)
      const over = { state: 3, stateSequence: 9, first: 0, last: 9 }
      const rows = eventRows([event(room, 9)], [roomRow(room, over)])
      const item = { cmd: 3, sequence: 39, data: { message: 'refused' } }
      const rejects = [{ reason: 'store_refused', detail: 'x', item }] as const
      await db.store.commit(logPage(room, 0, { rows, rejects: isLast ? [] : rejects }))
      await feed(db, { rows: eventRows([event(room, 39), event(room, 3)]) })
      const waiting = 'select key from ingest.divergence where series = $1 and resolved_at is null order by 1'
      expect(await db.rows(waiting, [room])).toEqual([{ key: '3' }, { key: '39' }])
      await db.store.commit(logPage(room, 1, { rows, rejects: isLast ? rejects : [] }))
      expect(await db.rows(waiting, [room])).toEqual([{ key: '3' }])
    },
  )

  it('differ no longer: what waited beside an earlier page is settled by the next one', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1)]) }))
    await db.rows(
      `insert into ingest.divergence (app_id, stream, series, key, other)
       select app_id, 'app-events', room_uuid, '1', jsonb_build_object('cmd', cmd, 'event_time', event_time)
       from classroom.room_event where room_uuid = $1`,
      [room],
    )
    await db.store.commit(logPage(room, 1, { rows: eventRows([event(room, 2)]) }))
    expect(await db.value('select resolved_at from ingest.divergence where series = $1', [room])).toEqual(
      new Date(start),
    )
  })
})

describe('the feed', () => {
  it('makes every stream follow a room that it is the first to name', async () => {
    await feed(db, { rows: eventRows([event('first-seen', 4)]) })
    const followed = await db.rows(
      `select stream, stream_state from ingest.progress where series = 'first-seen'`,
    )
    expect(followed.map(({ stream }) => stream).sort()).toEqual([...roomStreams].sort())
    expect(followed[0]!.stream_state).toEqual({ incarnation: 1 })
  })

  it('is not believed about a room that was not seen alive for longer than the provider remembers', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1)]) }))
    await db.advance(hour)
    const told = await feed(db, { rows: eventRows([event(room, 2, { own: 61 })]) })
    await db.setTime(start)
    expect(told).toMatchObject({ outcome: 'committed', diverged: 1, stored: { 'classroom.room_event': 0 } })
    const [held] = await db.rows('select key, kept, resolved_at from ingest.divergence where series = $1', [
      room,
    ])
    expect(held).toEqual({ key: '2', kept: null, resolved_at: null })
    expect(
      await db.value('select count(*)::int from classroom.chat_message where room_uuid = $1', [room]),
    ).toBe(1)
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  app,
  chat,
  event,
  eventRows,
  hour,
  listPage,
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

describe('a room that is used again', () => {
  it('is another incarnation: the former one ends, its holes are lost, the other streams start over', async () => {
    const room = await freshRoom(db)
    const events = [1, 2, 5].map(sequence => event(room, sequence))
    const holes = [{ from: 3, to: 4, state: 'open' }] as const
    await db.store.commit(logPage(room, 0, { rows: eventRows(events), holes }))
    await feed(db, { rows: eventRows([event(room, 9)]) })
    await db.store.commit(listPage('resources', room, 0, { streamState: { known: 1 }, cursor: 'x' }))
    const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
    const rows = eventRows([event(room, 1, { own: 90 })], [roomRow(room, { first: 90, last: 90 })])
    expect(await db.store.commit(logPage(room, 1, { room: opens, rows }))).toMatchObject({
      outcome: 'committed',
    })
    expect(await roomOf(db, room, 1)).toMatchObject({
      valid_from: new Date(time(0)),
      valid_to: new Date(time(90)),
    })
    expect(await roomOf(db, room, 2)).toMatchObject({ valid_from: new Date(time(90)), valid_to: null })
    expect(
      await db.value('select count(*)::int from classroom.room_event where room_uuid = $1', [room]),
    ).toBe(5)
    const resources = await db.store.progress(app, 'resources', room)
    expect(resources).toMatchObject({ version: 2, cursor: null, streamState: { incarnation: 2 } })
    const gaps = await db.rows(
      `select sequence_from::int as a, sequence_to::int as b, state, reason, incarnation
      from ingest.gap where series = $1 order by 1`,
      [room],
    )
    expect(gaps).toEqual([
      { a: 3, b: 4, state: 'lost', reason: 'hole', incarnation: 1 },
      { a: 6, b: 8, state: 'lost', reason: 'room_reused', incarnation: 1 },
    ])
  })

  it('gives nothing to the former one that fits where nothing was told of it, until its own log tells it', async () => {
    const stored =
      'select incarnation, sequence::int, source from classroom.room_event where room_uuid = $1 order by 1, 2'
    const over = { state: 3, stateSequence: 9, first: 0, last: 9 }
    for (const sequences of [[2], [1, 2]]) {
      const room = await freshRoom(db)
      const former = [1, 9].map(sequence => event(room, sequence))
      await db.store.commit(logPage(room, 0, { rows: eventRows(former, [roomRow(room, over)]) }))
      const told = sequences.map(sequence => event(room, sequence, { own: 40 + sequence }))
      await feed(db, { rows: eventRows(told) })
      expect(await db.rows(stored, [room])).toEqual(
        [1, 9].map(sequence => ({ incarnation: 1, sequence, source: 'log' })),
      )
      const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
      const present = eventRows([1, 2].map(sequence => event(room, sequence, { own: 40 + sequence })))
      await db.store.commit(logPage(room, 1, { room: opens, rows: present }))
      const open = 'select 1 from ingest.divergence where series = $1 and resolved_at is null'
      expect(await db.rows(open, [room])).toEqual([])
    }
  })

  it('waits for its log with all of an answer that tells another event at a known place', async () => {
    const room = await freshRoom(db)
    const former = eventRows([1, 9].map(sequence => event(room, sequence)))
    await db.store.commit(logPage(room, 0, { rows: former }))
    await feed(db, {
      rows: eventRows([1, 2, 10].map(sequence => event(room, sequence, { own: 40 + sequence }))),
    })
    const stored = 'select sequence::int from classroom.room_event where room_uuid = $1 order by 1'
    expect(await db.rows(stored, [room])).toEqual([{ sequence: 1 }, { sequence: 9 }])
  })

  it('takes nothing that the feed tells late of the former one, until its own log tells the same', async () => {
    const room = await freshRoom(db)
    const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
    const silent = event(room, 8, { own: null, at: 50 })
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1), silent]) }))
    const first = eventRows([event(room, 1, { own: 90 })], [roomRow(room, { first: 90, last: 90 })])
    await db.store.commit(logPage(room, 1, { room: opens, rows: first }))
    const late = [event(room, 7, { own: 50 }), event(room, 8, { own: null, at: 95 })]
    const present = [event(room, 2, { own: 95 }), event(room, 3, { own: null, at: 96 })]
    await feed(db, { rows: eventRows([...late, ...present]) })
    const stored = `select sequence::int from classroom.room_event where room_uuid = $1 and incarnation = 2 order by 1`
    const numbers = async () => (await db.rows(stored, [room])).map(({ sequence }) => sequence)
    expect(await numbers()).toEqual([1, 2, 3])
    const waiting = `select key::int from ingest.divergence where series = $1 and resolved_at is null order by 1`
    expect(await db.rows(waiting, [room])).toEqual([{ key: 7 }, { key: 8 }])
    const told = eventRows([...present, event(room, 8, { own: null, at: 95 })])
    await db.store.commit(logPage(room, 2, { room: { ...opens, opens: false }, rows: told }))
    expect(await numbers()).toEqual([1, 2, 3, 8])
    expect(await db.rows(waiting, [room])).toEqual([{ key: 7 }])
  })

  it('takes nothing of the rooms before the former one either, nor what is dated by a time that nobody believes', async () => {
    const room = await freshRoom(db)
    const opened = async (incarnation: number, events: ReturnType<typeof event>[]) => {
      const at = { first: 90 * incarnation, last: 90 * incarnation }
      const scope = { kind: 'incarnation', incarnation, opens: incarnation > 1 } as const
      const rows = eventRows(events, [roomRow(room, at)])
      await db.store.commit(logPage(room, incarnation - 1, { room: scope, rows }))
    }
    const far = { own: 86_400 * 3, at: 5 } as const
    const silent = event(room, 32, { own: null, at: 50 })
    const dated = { ...event(room, 33, far), at_source: 'provider' as const }
    await opened(1, [event(room, 1), silent, dated])
    await opened(2, [event(room, 1, { own: 180 })])
    await opened(3, [event(room, 1, { own: 270 })])
    const late = [silent, dated].map(each => ({ ...each, at: time(300), received_at: time(300) }))
    const present = { ...event(room, 3, { ...far, at: 301 }), at_source: 'provider' as const }
    await feed(db, { rows: eventRows([...late, present]) })
    const stored = `select sequence::int from classroom.room_event where room_uuid = $1 and incarnation = 3 order by 1`
    expect(await db.rows(stored, [room])).toEqual([{ sequence: 1 }, { sequence: 3 }])
    const waiting = `select key::int from ingest.divergence where series = $1 and resolved_at is null order by 1`
    expect(await db.rows(waiting, [room])).toEqual([{ key: 32 }, { key: 33 }])
  })

  const openGaps = (room: string) =>
    db.rows(
      `select sequence_from::int as a, sequence_to::int as b, state, reason, incarnation
       from ingest.gap where series = $1 and state <> 'repaired' order by 1`,
      [room],
    )
  const waiting = async (room: string) => {
    const keys = 'select key::int from ingest.divergence where series = $1 and resolved_at is null order by 1'
    return (await db.rows(keys, [room])).map(({ key }) => key)
  }

  it('lost one between two whose logs were read, where the feed alone told of it', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { rows: eventRows([1, 2, 3].map(n => event(room, n))) }))
    const between = [2, 3, 5].map(n => event(room, n, { own: 40 + n }))
    await feed(db, { rows: eventRows(between) })
    await db.advance(hour)
    const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
    const present = (...sequences: number[]) =>
      eventRows(
        sequences.map(n => event(room, n, { own: 90 + n })),
        [roomRow(room, { first: 90, last: 90 })],
      )
    await db.store.commit(logPage(room, 1, { room: opens, rows: present(1), caughtUp: false }))
    expect(await openGaps(room)).toEqual([])
    const goesOn = { ...opens, opens: false }
    await db.store.commit(logPage(room, 2, { room: goesOn, rows: present(2), holes: [] }))
    const lost = { state: 'lost', reason: 'room_reused', incarnation: null }
    expect(await openGaps(room)).toEqual([{ a: 2, b: 5, ...lost }])
    // What the log tells after all was of the present room.
    const late = eventRows([between[2]!])
    await db.store.commit(logPage(room, 3, { room: goesOn, rows: late, holes: [] }))
    expect(await openGaps(room)).toEqual([{ a: 2, b: 3, ...lost }])
    expect(await waiting(room)).toEqual([2, 3])
  })

  it('lost nothing that the feed tells late of the one before', async () => {
    const room = await freshRoom(db)
    const former = [1, 2, 3].map(n => event(room, n))
    await db.store.commit(logPage(room, 0, { rows: eventRows(former) }))
    await db.advance(hour)
    const silent = event(room, 4, { own: null })
    await db.store.commit(logPage(room, 1, { rows: eventRows([silent]) }))
    const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
    const first = eventRows([event(room, 1, { own: 90 })], [roomRow(room, { first: 90, last: 90 })])
    await feed(db, { rows: eventRows([...former.slice(1), silent]) })
    await db.advance(hour)
    await db.store.commit(logPage(room, 2, { room: opens, rows: first, holes: [] }))
    expect(await openGaps(room)).toEqual([])
  })

  it('is known by the words of what has no time, unless its log knows all else that the feed tells', async () => {
    const said = (room: string, message: string) => event(room, 2, { own: null, data: { message } })
    for (const others of [[], [event('', 3, { own: 44 })]]) {
      const room = await freshRoom(db)
      await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1), said(room, 'hello')]) }))
      const told = [said(room, 'good morning'), ...others.map(each => ({ ...each, room_uuid: room }))]
      await feed(db, { rows: eventRows(told) })
      expect(await waiting(room)).toEqual([2, ...others.map(() => 3)])
      await db.store.commit(logPage(room, 1, { rows: eventRows([event(room, 1)]), holes: [] }))
      expect(await waiting(room)).toEqual(others.length > 0 ? [2, 3] : [])
    }
  })
})

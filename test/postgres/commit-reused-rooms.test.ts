import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  app,
  event,
  eventRows,
  hour,
  listPage,
  logPage,
  me,
  openStore,
  roomRow,
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
      from ingest.gap where series = $1 and unit = 'sequence' order by 1`,
      [room],
    )
    expect(gaps).toEqual([
      { a: 3, b: 4, state: 'lost', reason: 'hole', incarnation: 1 },
      { a: 6, b: 8, state: 'lost', reason: 'room_reused', incarnation: 1 },
    ])
  })

  it('gives nothing to the former one that does not go on where that ends, until its own log tells it', async () => {
    const stored =
      'select incarnation, sequence::int, source from classroom.room_event where room_uuid = $1 order by 1, 2'
    const over = { state: 3, stateSequence: 9, first: 0, last: 9 }
    for (const [sequences, all] of [
      [[2], [1, 2]],
      [
        [1, 2],
        [1, 2],
      ],
      [[11], [10, 11]],
      [
        [1_000, 1_001],
        [1_000, 1_001],
      ],
    ] as const) {
      const room = await freshRoom(db)
      const former = [1, 9].map(sequence => event(room, sequence))
      await db.store.commit(logPage(room, 0, { rows: eventRows(former, [roomRow(room, over)]) }))
      const told = sequences.map(sequence => event(room, sequence, { own: 40 + sequence }))
      await feed(db, { rows: eventRows(told) })
      expect(await db.rows(stored, [room])).toEqual(
        [1, 9].map(sequence => ({ incarnation: 1, sequence, source: 'log' })),
      )
      const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
      const present = eventRows(all.map(sequence => event(room, sequence, { own: 40 + sequence })))
      await db.store.commit(logPage(room, 1, { room: opens, rows: present }))
      const open = 'select 1 from ingest.divergence where series = $1 and resolved_at is null'
      expect(await db.rows(open, [room])).toEqual([])
    }
  })

  it('is not the room whose events go on where they ended, one by one or together', async () => {
    const room = await freshRoom(db)
    const over = { state: 3, stateSequence: 2, first: 0, last: 2 }
    const rows = eventRows([event(room, 1), event(room, 2)], [roomRow(room, over)])
    await db.store.commit(logPage(room, 0, { rows }))
    for (const told of [[3], [4], [6, 5]]) {
      await feed(db, { rows: eventRows(told.map(sequence => event(room, sequence))) })
    }
    const stored = 'select sequence::int from classroom.room_event where room_uuid = $1 order by 1'
    expect((await db.rows(stored, [room])).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6])
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
       from ingest.gap where series = $1 and unit = 'sequence' and state <> 'repaired' order by 1`,
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

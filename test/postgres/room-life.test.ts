import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  app,
  event,
  eventRows,
  feedPage,
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

const change = (room: string, sequence: number, state: number) => ({
  room_uuid: room,
  sequence,
  state,
  started_at: null,
  at: time(sequence),
  extra: null,
})

describe('the life of a room', () => {
  async function told(
    ...pages: {
      readonly room: Parameters<typeof roomRow>[1]
      readonly changes: readonly [number, number][]
    }[]
  ) {
    const room = await freshRoom(db)
    for (const [version, { room: row, changes }] of pages.entries()) {
      const rows = rowSet({
        'classroom.room': [roomRow(room, row)],
        'classroom.room_event': changes.map(([sequence]) => event(room, sequence, { cmd: 1 })),
        'classroom.room_state_change': changes.map(([sequence, state]) => change(room, sequence, state)),
      })
      await db.store.commit(logPage(room, version, { rows }))
    }
    const { state, ended_at } = await roomOf(db, room)
    return [state, ended_at]
  }
  const started = {
    room: { state: 1, stateSequence: 1, started: 1 },
    changes: [[1, 1]] as [number, number][],
  }
  const ended = { room: { state: 2, stateSequence: 5, ended: 5 }, changes: [[5, 2]] as [number, number][] }
  const closed = { room: { state: 3, stateSequence: 8, ended: 8 }, changes: [[8, 3]] as [number, number][] }
  const restarted = { room: { state: 1, stateSequence: 10 }, changes: [[10, 1]] as [number, number][] }
  const restartedAndEnded = {
    room: { state: 2, stateSequence: 15, ended: 15 },
    changes: [
      [10, 1],
      [15, 2],
    ] as [number, number][],
  }

  it('ends when it is ended, not when it is closed after that', async () => {
    expect(await told(started, ended, closed)).toEqual([3, new Date(time(5))])
    expect(await told(closed, started, ended)).toEqual([3, new Date(time(5))])
  })

  it('does not end at a state that nobody knows', async () => {
    const unknown = { room: { state: 7, stateSequence: 3 }, changes: [[3, 7]] as [number, number][] }
    expect(await told(started, unknown)).toEqual([7, null])
    expect(await told(started, unknown, ended)).toEqual([2, new Date(time(5))])
  })

  it('has no end once it was started again, also when the end is told again', async () => {
    expect(await told(started, ended, restarted)).toEqual([1, null])
    expect(await told(started, ended, restarted, ended)).toEqual([1, null])
  })

  it('ends at its last end', async () => {
    expect(await told(started, ended, restarted, restartedAndEnded)).toEqual([2, new Date(time(15))])
    expect(await told(started, ended, restartedAndEnded, ended)).toEqual([2, new Date(time(15))])
  })

  it('ends at its last end, also where the start before that was told after it', async () => {
    const endedAgain = {
      room: { state: 2, stateSequence: 15, ended: 15 },
      changes: [[15, 2]] as [number, number][],
    }
    expect(await told(started, ended, endedAgain)).toEqual([2, new Date(time(5))])
    expect(await told(started, ended, endedAgain, restarted)).toEqual([2, new Date(time(15))])
  })
})

it('a room showed life last when its last event was heard first, also where its log tells it later', async () => {
  const room = await freshRoom(db)
  await db.store.follow(me, app, 'app-events', '')
  const heard = (at: number) => ({
    'classroom.room': [roomRow(room, { first: at, last: at })],
    'classroom.room_event': [event(room, 7, { own: null, at })],
  })
  await feed(db, { rows: rowSet(heard(10)) })
  await db.store.commit(logPage(room, 0, { rows: rowSet(heard(25)) }))
  expect((await roomOf(db, room)).last_event_at).toEqual(new Date(time(10)))
})

describe('a room of which the feed tells something that must wait', () => {
  const changed = (sequence: number, at: number, state: number) => ({
    event: (room: string) => event(room, sequence, { cmd: 1, own: at }),
    change: (room: string) => ({ ...change(room, sequence, state), at: time(at) }),
  })
  const silent = (room: string, at: number) => event(room, 8, { own: null, at })

  /** The second room of its name, which is started. */
  async function startedAgain() {
    const room = await freshRoom(db)
    await db.store.follow(me, app, 'app-events', '')
    const former = rowSet({ 'classroom.room_event': [event(room, 1), silent(room, 50)] })
    await db.store.commit(logPage(room, 0, { rows: former }))
    const start = changed(1, 90, 1)
    const rows = rowSet({
      'classroom.room': [roomRow(room, { state: 1, stateSequence: 1, started: 90, first: 90, last: 90 })],
      'classroom.room_event': [start.event(room)],
      'classroom.room_state_change': [start.change(room)],
    })
    const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
    await db.store.commit(logPage(room, 1, { room: opens, rows }))
    return room
  }

  it('becomes what the rest says that is stored', async () => {
    const room = await startedAgain()
    const end = changed(9, 95, 2)
    const rows = rowSet({
      'classroom.room': [roomRow(room, { state: 2, stateSequence: 9, ended: 95, first: 95, last: 97 })],
      'classroom.room_event': [silent(room, 97), end.event(room), event(room, 10, { own: 96 })],
      'classroom.room_state_change': [end.change(room)],
    })
    expect(await feed(db, { rows })).toMatchObject({ diverged: 1, stored: { 'classroom.room_event': 2 } })
    const ended = { state: 2, ended_at: new Date(time(95)), last_event_at: new Date(time(96)) }
    expect(await roomOf(db, room, 2)).toMatchObject({ ...ended, valid_from: new Date(time(90)) })
  })

  it('becomes nothing of what waits', async () => {
    const room = await startedAgain()
    const late = changed(7, 50, 3)
    const rows = rowSet({
      'classroom.room': [roomRow(room, { state: 3, stateSequence: 7, ended: 50, first: 50, last: 95 })],
      'classroom.room_event': [late.event(room), event(room, 9, { own: 95 })],
      'classroom.room_state_change': [late.change(room)],
    })
    expect(await feed(db, { rows })).toMatchObject({ diverged: 1, stored: { 'classroom.room_event': 1 } })
    const going = { state: 1, ended_at: null, valid_from: new Date(time(90)) }
    expect(await roomOf(db, room, 2)).toMatchObject({ ...going, last_event_at: new Date(time(95)) })
  })
})

describe('a class whose visits have ended', () => {
  const changed = (room: string, sequence: number, state: number) => ({
    rows: rowSet({
      'classroom.room': [
        roomRow(room, { state, stateSequence: sequence, ...(state > 1 && { ended: sequence }) }),
      ],
      'classroom.room_event': [event(room, sequence, { cmd: 1 })],
      'classroom.room_state_change': [change(room, sequence, state)],
    }),
  })

  async function closed() {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, changed(room, 1, 1)))
    await db.store.commit(logPage(room, 1, changed(room, 5, 2)))
    for (const stream of roomStreams) await db.store.closeSeries(me, app, stream, room)
    await db.store.follow(me, app, 'app-events', '')
    return room
  }
  async function open(room: string) {
    const rows = await db.rows(
      'select stream from ingest.progress where series = $1 and closed_at is null order by 1',
      [room],
    )
    return rows.map(({ stream }) => stream)
  }
  const all = roomStreams.toSorted()

  it('is followed by every stream again once it is started again, whoever tells it', async () => {
    const room = await closed()
    expect(await open(room)).toEqual([])
    await feed(db, changed(room, 6, 1))
    expect(await open(room)).toEqual(all)
    const other = await closed()
    await db.store.commit(logPage(other, 2, changed(other, 9, 1)))
    expect(await open(other)).toEqual(all)
    expect((await db.store.progress(app, 'recordings', other))!.life).toEqual({
      incarnation: 1,
      sequence: 9,
      endedAt: undefined,
    })
  })

  it('stays as it is when its first start is told again', async () => {
    const room = await closed()
    await feed(db, changed(room, 1, 1))
    expect(await open(room)).toEqual([])
    await db.store.commit(logPage(room, 2, changed(room, 1, 1)))
    expect(await open(room)).toEqual(['room-events'])
    const life = { incarnation: 1, sequence: 5, endedAt: Date.parse(time(5)) }
    expect((await db.store.progress(app, 'recordings', room))!.life).toEqual(life)
  })
})

describe('holes of a log', () => {
  const hole = (from: number, to: number, state: 'open' | 'absent') => ({ from, to, state })
  const gaps = (room: string) =>
    db.rows(
      'select sequence_from::int as a, sequence_to::int as b, state from ingest.gap where series = $1 order by 1',
      [room],
    )

  it('are open until the log fills them or has shown them often enough', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { holes: [hole(3, 4, 'open'), hole(7, 7, 'open')] }))
    expect(await gaps(room)).toEqual([
      { a: 3, b: 4, state: 'open' },
      { a: 7, b: 7, state: 'open' },
    ])
    await db.store.commit(logPage(room, 1, { caughtUp: false }))
    expect((await gaps(room)).map(({ state }) => state)).toEqual(['open', 'open'])
    const told = eventRows([event(room, 3), event(room, 4)])
    await db.store.commit(logPage(room, 2, { rows: told, holes: [hole(7, 7, 'absent')] }))
    expect((await gaps(room)).map(({ state }) => state)).toEqual(['repaired', 'absent'])
  })

  it('were none where the log turns out not to be numbered densely', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { holes: [hole(3, 4, 'open'), hole(7, 7, 'open')] }))
    await db.store.commit(logPage(room, 1, { rows: eventRows([event(room, 4)]), holes: [] }))
    expect((await gaps(room)).map(({ state }) => state)).toEqual(['repaired', 'absent'])
  })

  it('are repaired by what the log tells late, however often it was read without', async () => {
    const room = await freshRoom(db)
    const absent = (from: number, to: number) => ({ from, to, state: 'absent' }) as const
    await db.store.commit(
      logPage(room, 0, {
        rows: eventRows([event(room, 1), event(room, 6)]),
        holes: [absent(2, 2), absent(4, 5)],
      }),
    )
    await db.store.commit(logPage(room, 1, { rows: eventRows([event(room, 2)]), holes: [absent(4, 5)] }))
    expect((await gaps(room)).map(({ state }) => state)).toEqual(['repaired', 'absent'])
    // A log that has too many holes to be numbered densely tells of none.
    await db.store.commit(logPage(room, 2, { holes: [] }))
    expect((await gaps(room)).map(({ state }) => state)).toEqual(['repaired', 'absent'])
  })

  it('are as large as what is left of them', async () => {
    const room = await freshRoom(db)
    const open = (from: number, to: number) => ({ from, to, state: 'open' }) as const
    await db.store.commit(logPage(room, 0, { holes: [open(2, 5)] }))
    const seen = () => db.rows('select first_seen_at from ingest.gap where series = $1', [room])
    const [first] = await seen()
    await db.store.commit(
      logPage(room, 1, { rows: eventRows([event(room, 4)]), holes: [open(2, 3), open(5, 5)] }),
    )
    expect(await gaps(room)).toEqual([
      { a: 2, b: 3, state: 'open' },
      { a: 5, b: 5, state: 'open' },
    ])
    expect(await seen()).toEqual([first, first])
  })

  it('are repaired in a group too', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { holes: [{ from: 2, to: 2, state: 'absent' }] }))
    await Promise.all([
      db.store.commit(logPage(room, 1, { rows: eventRows([event(room, 2)]), holes: [] })),
      db.store.commit(logPage(await freshRoom(db), 0, { holes: [] })),
    ])
    expect((await gaps(room)).map(({ state }) => state)).toEqual(['repaired'])
  })
})

describe('a room whose visits have ended', () => {
  it('is followed by no stream any more, also where the database has forgotten that one was closed', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1)]) }))
    const open = async () =>
      (
        await db.rows('select stream from ingest.progress where series = $1 and closed_at is null', [room])
      ).map(({ stream }) => stream)
    await db.store.closeSeries(me, app, 'poll', room)
    expect((await open()).toSorted()).toEqual(roomStreams.filter(stream => stream !== 'poll').toSorted())
    // The others were closed just before a failover: of that whoever closes the log knows, and the database does not.
    await db.store.closeSeries(me, app, 'room-events', room)
    expect(await open()).toEqual([])
  })

  it('is followed again when the feed brings news of it, even where no process was there to hear them', async () => {
    const room = await freshRoom(db)
    await db.store.commit(logPage(room, 0, { rows: eventRows([event(room, 1)]) }))
    await db.store.closeSeries(me, app, 'room-events', room)
    const open = async () => (await db.store.openSeries(app, 'room-events')).map(({ series }) => series)
    expect(await open()).not.toContain(room)
    await db.store.follow(me, app, 'app-events', '')
    const { version } = (await db.store.progress(app, 'app-events', ''))!
    await db.store.commit(feedPage(version, { rows: eventRows([event(room, 2)]) }))
    expect(await open()).toContain(room)
  })
})

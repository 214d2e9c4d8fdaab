import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { PageCommit } from '../../src/engine/ports.ts'
import {
  app,
  event,
  eventRows,
  feedPage,
  listPage,
  logPage,
  me,
  openStore,
  roomRow,
  start,
  type TestStore,
  time,
} from './harness.ts'

const minute = 60_000
const db: TestStore = await openStore()
beforeEach(async () => {
  await db.setTime(start)
  await db.rows(
    `truncate ingest.debit, ingest.budget, ingest.gap, ingest.progress, classroom.room, classroom.room_event, ingest.dead_letter, ingest.divergence,
              ingest.stream_off`,
  )
  await db.store.follow(me, app, 'app-events', '')
})
afterAll(() => db.close())

const minutes = (n: number) => new Date(time(n))

describe('a room that the provider forgot', () => {
  const holes = () =>
    db.rows(
      `select sequence_from::int as a, sequence_to::int as b, reason, state from ingest.gap where unit = 'sequence' order by 1`,
    )
  const told = (...sequences: number[]) => eventRows(sequences.map(sequence => event('r', sequence)))
  async function feed(...sequences: number[]): Promise<void> {
    const { version } = (await db.store.progress(app, 'app-events', ''))!
    await db.store.commit(feedPage(version, { rows: told(...sequences) }))
  }

  it('takes its open holes with it, and what lies around events of the feed', async () => {
    await feed(1)
    const open = [
      { from: 3, to: 4, state: 'open' },
      { from: 6, to: 6, state: 'absent' },
    ] as const
    await db.store.commit(logPage('r', 0, { rows: told(1, 2, 5, 7), holes: open }))
    await feed(10, 11, 15)
    await db.store.forgetRoom(me, app, 'r')
    expect(await holes()).toEqual([
      { a: 3, b: 4, reason: 'hole', state: 'lost' },
      { a: 6, b: 6, reason: 'hole', state: 'absent' },
      { a: 8, b: 9, reason: 'room_forgotten', state: 'lost' },
      { a: 12, b: 14, reason: 'room_forgotten', state: 'lost' },
    ])
  })

  it('has no open holes left when nobody reads its log any more', async () => {
    await feed(1)
    const holesOf = [
      { from: 3, to: 4, state: 'open' },
      { from: 6, to: 6, state: 'absent' },
    ] as const
    await db.store.commit(logPage('r', 0, { rows: told(1, 2, 5, 7), holes: holesOf }))
    await db.store.closeSeries(me, app, 'popup-quiz', 'r')
    expect(await holes()).toMatchObject([{ state: 'open' }, { state: 'absent' }])
    await db.store.closeSeries(me, app, 'room-events', 'r')
    expect(await holes()).toMatchObject([{ state: 'lost' }, { state: 'absent' }])
  })

  it('is lost from its beginning when its log was never read', async () => {
    await feed(4, 5)
    await db.store.forgetRoom(me, app, 'r')
    expect(await holes()).toEqual([{ a: 1, b: 3, reason: 'room_forgotten', state: 'lost' }])
  })

  it('leaves what the feed told of it afterwards to the divergences, and tells where', async () => {
    await feed(1, 2)
    await db.store.forgetRoom(me, app, 'r')
    await feed(5, 6, 9)
    await db.store.forgetRoom(me, app, 'r')
    expect(await db.value('select count(*)::int from ingest.divergence where resolved_at is null')).toBe(3)
    expect(await holes()).toEqual([{ a: 3, b: 9, reason: 'room_forgotten', state: 'lost' }])
  })

  it('goes on when its log is served again, and what that tells is missing no more', async () => {
    await feed(1, 4)
    await db.store.forgetRoom(me, app, 'r')
    await feed(6)
    await db.store.forgetRoom(me, app, 'r')
    expect(await holes()).toMatchObject([
      { a: 2, b: 3 },
      { a: 5, b: 6, state: 'lost' },
    ])
    const { version } = (await db.store.progress(app, 'room-events', 'r'))!
    await db.store.commit(logPage('r', version, { rows: told(1, 2, 3, 4), caughtUp: false }))
    expect(await db.value('select forgotten_at from classroom.room')).toBeNull()
    expect(await holes()).toMatchObject([{ state: 'lost' }, { state: 'lost' }])
    await db.store.commit(logPage('r', version + 1, { rows: told(5), holes: [] }))
    expect(await holes()).toMatchObject([{ state: 'repaired' }, { state: 'lost' }])
    await db.store.commit(logPage('r', version + 2, { rows: told(6), holes: [] }))
    expect(await holes()).toMatchObject([{ state: 'repaired' }, { state: 'repaired' }])
  })

  it('lacks no more than what still waits, once its log has told the rest', async () => {
    await feed(1)
    await db.store.forgetRoom(me, app, 'r')
    await feed(5, 6, 9)
    await db.store.forgetRoom(me, app, 'r')
    expect(await holes()).toMatchObject([{ a: 2, b: 9, state: 'lost' }])
    // What the feed told as 6 was of another room.
    const log = [1, 2, 3, 4, 5, 6, 7, 8, 9].map(n => event('r', n, n === 6 ? { cmd: 20 } : {}))
    const { version } = (await db.store.progress(app, 'room-events', 'r'))!
    await db.store.commit(logPage('r', version, { rows: eventRows(log), holes: [] }))
    expect(await holes()).toMatchObject([{ a: 6, b: 6, state: 'lost' }])
  })

  it('lacks anew what waits then, and nothing that was read meanwhile', async () => {
    await feed(1)
    await db.store.forgetRoom(me, app, 'r')
    await feed(5, 9)
    await db.store.forgetRoom(me, app, 'r')
    const { version } = (await db.store.progress(app, 'room-events', 'r'))!
    await db.store.commit(logPage('r', version, { rows: told(1, 2, 3, 4, 5, 6, 7, 8, 9), holes: [] }))
    expect(await holes()).toMatchObject([{ state: 'repaired' }])
    await db.store.forgetRoom(me, app, 'r')
    await feed(12)
    await db.store.forgetRoom(me, app, 'r')
    expect(await holes()).toMatchObject([{ a: 10, b: 12, state: 'lost' }])
  })

  it('is followed again by a configuration that lists it', async () => {
    await feed(1)
    await db.store.forgetRoom(me, app, 'r')
    await db.store.discoverRooms(me, app, ['r'])
    const open = await db.store.openSeries(app, 'room-events')
    expect(open.map(({ series }) => series)).toEqual(['r'])
  })

  it('is followed by no stream any more, and forgetting it again changes nothing', async () => {
    await feed(1, 3)
    await db.store.forgetRoom(me, app, 'r')
    await db.advance(minute)
    await db.store.forgetRoom(me, app, 'r')
    expect(
      await db.value(`select count(*)::int from ingest.progress where series = 'r' and closed_at is null`),
    ).toBe(0)
    expect(await db.value('select forgotten_at from classroom.room')).toEqual(minutes(0))
    expect(await holes()).toHaveLength(1)
  })

  it('has no holes where one numbering runs over all rooms', async () => {
    const other = await openStore({ sequenceScope: 'app' })
    await other.store.follow(me, app, 'app-events', '')
    await other.store.commit(feedPage(0, { rows: told(4, 9) }))
    await other.store.forgetRoom(me, app, 'r')
    expect(await other.value(`select count(*)::int from ingest.gap where unit = 'sequence'`)).toBe(0)
    await other.close()
  })
})

describe('the streams of a room that is gone', () => {
  const losses = () =>
    db.rows(
      `select stream, range_from as a, range_to as b, reason, state from ingest.gap where unit = 'time' order by stream`,
    )
  const lists = ['poll', 'popup-quiz', 'recordings', 'resources'] as const
  const lost = (stream: string, a: number, b: number, reason = 'room_forgotten') => ({
    ...{ stream, a: minutes(a), b: minutes(b), reason, state: 'lost' },
  })
  /** A class from minute 0, which the log tells up to `until`, by a reading of that minute. */
  async function begun(ended: number | undefined, until: number): Promise<void> {
    const states = { state: ended === undefined ? 1 : 2, stateSequence: 2, started: 0, first: 0 }
    const row = roomRow('r', { ...states, ...(ended !== undefined && { ended }), last: ended ?? 0 })
    const rows = eventRows([event('r', 1), event('r', 2, { cmd: 1, own: ended ?? 0 })], [row])
    await db.store.discoverRooms(me, app, ['r'])
    await db.setTime(time(until))
    await db.store.commit(logPage('r', 0, { rows, holes: [] }))
  }
  async function read(stream: (typeof lists)[number], more: Partial<PageCommit> = {}): Promise<void> {
    const { version } = (await db.store.progress(app, stream, 'r'))!
    expect(await db.store.commit(listPage(stream, 'r', version, more))).toMatchObject({
      outcome: 'committed',
    })
  }

  it('were lost as far as nobody read them to their end since the class began, up to its end', async () => {
    await begun(40, 45)
    await read('popup-quiz')
    await read('poll', { caughtUp: false })
    await db.setTime(time(100))
    await db.store.forgetRoom(me, app, 'r')
    expect(await losses()).toEqual(['poll', 'recordings', 'resources'].map(stream => lost(stream, 0, 40)))
    expect(await db.rows(`select stream from ingest.room_complete where complete order by 1`)).toEqual([
      { stream: 'popup-quiz' },
      { stream: 'room-events' },
    ])
  })

  it('were lost since they were read last where that was before the end', async () => {
    await begun(undefined, 10)
    for (const stream of lists) await read(stream)
    await db.rows(`update classroom.room set state = 2, ended_at = $1, last_event_at = $1`, [time(40)])
    await db.setTime(time(100))
    await db.store.forgetRoom(me, app, 'r')
    expect(await losses()).toEqual(
      ['poll', 'popup-quiz', 'recordings', 'resources', 'room-events'].map(stream => lost(stream, 10, 40)),
    )
  })

  it.each([
    { minute: 69, rows: [] },
    {
      minute: 71,
      rows: [
        ...['poll', 'popup-quiz', 'recordings'].map(stream => lost(stream, 10, 71)),
        lost('room-events', 10, 71),
      ],
    },
  ])('had an end that nobody saw, at minute $minute of a log read at 10', async ({ minute, rows }) => {
    await begun(undefined, 10)
    for (const stream of lists) if (stream !== 'resources') await read(stream)
    await db.setTime(time(20))
    await read('resources')
    await db.setTime(time(minute))
    await db.store.forgetRoom(me, app, 'r')
    expect(await losses()).toEqual(rows)
  })

  it('had an end that nobody saw, and were read all the same while their log was', async () => {
    await begun(undefined, 10)
    for (const stream of lists) await read(stream)
    await db.setTime(time(80))
    const { version } = (await db.store.progress(app, 'room-events', 'r'))!
    await db.store.commit(logPage('r', version, { holes: [] }))
    await db.setTime(time(90))
    await db.store.forgetRoom(me, app, 'r')
    expect(await losses()).toEqual([])
  })

  it('are lost no more once they are read to their end after all', async () => {
    await begun(40, 45)
    for (const stream of lists) if (stream !== 'poll') await read(stream)
    await db.store.forgetRoom(me, app, 'r')
    expect(await losses()).toMatchObject([{ stream: 'poll', state: 'lost' }])
    const { version } = (await db.store.progress(app, 'room-events', 'r'))!
    await db.store.commit(logPage('r', version, { holes: [] }))
    await read('poll', { caughtUp: false })
    expect(await losses()).toMatchObject([{ state: 'lost' }])
    await read('poll')
    expect(await losses()).toMatchObject([{ state: 'repaired' }])
  })

  it('are lost again where they are not read again', async () => {
    await begun(40, 30)
    for (const stream of lists) if (stream !== 'poll') await read(stream)
    for (const n of [1, 2, 3]) {
      await db.setTime(time(50 + n))
      await db.store.forgetRoom(me, app, 'r')
    }
    expect(await losses()).toHaveLength(5)
  })

  it('are no loss where they were off when the class began', async () => {
    const facts = { timeZone: 'UTC', userLink: 'stream' } as const
    await db.store.noteApp(me, app, { ...facts, on: [], off: [...lists] })
    await db.advance(minute)
    await begun(40, 45)
    await db.store.forgetRoom(me, app, 'r')
    expect(await losses()).toEqual([])
  })

  it('were lost as much where the room is used again', async () => {
    await begun(40, 45)
    for (const stream of lists) if (stream !== 'poll') await read(stream)
    const opens = { kind: 'incarnation', incarnation: 2, opens: true } as const
    const rows = eventRows([event('r', 1, { own: 90 })], [roomRow('r', { first: 90, last: 90 })])
    const { version } = (await db.store.progress(app, 'room-events', 'r'))!
    await db.store.commit(logPage('r', version, { room: opens, rows }))
    expect(await losses()).toEqual([lost('poll', 0, 40, 'room_reused')])
    await read('poll', { room: { ...opens, opens: false } })
    expect(await losses()).toMatchObject([{ state: 'lost' }])
  })
})

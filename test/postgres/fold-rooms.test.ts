import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { markRoom } from '../../src/postgres/backfill.ts'
import { readStatus } from '../../src/postgres/status.ts'
import { roomEvents } from '../../src/streams/room-events.ts'
import type { Json } from '../../src/tables/json.ts'
import { pageOf } from '../streams/pages.ts'
import { day, h, school, told } from './fold-harness.ts'
import {
  app,
  event,
  eventRows,
  feedPage,
  logPage,
  me,
  openStore,
  roomStreams,
  type TestStore,
} from './harness.ts'

let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  await db.rows(
    `truncate ingest.progress, ingest.gap, ingest.tally, ingest.divergence, classroom.room, classroom.room_event, classroom.recording`,
  )
  await db.setTime(h(0))
})
afterAll(async () => (await opened)?.close())

describe('a room that is long over', () => {
  const lines = (words: string) =>
    [1, 2, 3].map(n => ({
      cmd: 3,
      sequence: n,
      data: { fromUser: { userUuid: 'ann' }, message: `${words} ${n}` },
    }))
  const read = (words: string, streamState: Json, cursor: string | null) =>
    roomEvents.toRows(
      pageOf({
        series: 'maths',
        items: lines(words),
        cursor,
        nextId: cursor === null ? 'page 2' : undefined,
      }),
      streamState,
    )
  const first = read('good morning', { incarnation: 2 }, null)
  const log = read('and on', first.streamState, 'page 2').streamState
  const carries: Readonly<Record<string, Json>> = {
    'room-events': log,
    'popup-quiz': {
      incarnation: 2,
      seen: 7,
      caughtUp: true,
      lost: false,
      fold: { position: 100, question: 'q' },
    },
    poll: null,
    recordings: { incarnation: 2 },
    resources: { incarnation: 2, known: ['slides'], silent: 0 },
  }

  /** The school, whose rooms are closed; that of music last; of the other the polls are still open. */
  async function close(): Promise<void> {
    await school(db)
    await db.rows(
      `update ingest.progress set version = 9, cursor = 'page 2', closed_at = caught_up_at + case series when 'music' then interval '2 hours' else interval '1 hour' end, stream_state = $1::jsonb -> stream
       where series <> '' and (series, stream) <> ('whole', 'poll')`,
      [JSON.stringify(carries)],
    )
    await db.rows(
      `update ingest.progress set stream_state = stream_state || '{"incarnation": 1}' where series <> 'maths' and stream_state <> 'null'`,
    )
    await db.rows(`update ingest.progress set stream_state = null where stream_state = 'null'`)
    await db.rows(
      `update ingest.progress set caught_up_at = null where (series, stream) = ('whole', 'popup-quiz')`,
    )
    await db.rows(
      `insert into classroom.recording (app_id, room_uuid, incarnation, record_id, status) values ($1, 'whole', 1, 'r', 1)`,
      [app],
    )
  }
  async function fold(): Promise<void> {
    await close()
    await db.advance(407 * day)
    await db.keepHouse()
    expect(await series('maths')).toMatchObject([{ stream: 'room-events' }])
  }
  const series = (room: string) =>
    db.rows(
      `select stream, closed_at is null as open, to_char(caught_up_at at time zone 'UTC', 'DD HH24:MI') as read, cursor, stream_state
       from ingest.progress where series = $1 order by stream`,
      [room],
    )
  const open = async () => (await series('maths')).filter(each => each.open).map(({ stream }) => stream)
  const rows = () =>
    db.rows(
      `select series, count(*)::int as rows from ingest.progress where series <> '' group by 1 order by 1`,
    )
  /** As all of its series come back, whether open or not. */
  const back = [
    { stream: 'poll', read: '06 16:00', cursor: null, stream_state: { incarnation: 2 } },
    {
      stream: 'popup-quiz',
      read: '06 16:00',
      cursor: null,
      stream_state: { incarnation: 2, seen: 7, caughtUp: true },
    },
    { stream: 'recordings', read: '06 16:00', cursor: null, stream_state: { incarnation: 2 } },
    {
      stream: 'resources',
      read: '06 16:00',
      cursor: null,
      stream_state: { incarnation: 2, known: ['slides'], silent: 0 },
    },
  ]
  /** What is closed is counted, and nothing else. */
  async function expectCounts(): Promise<void> {
    const { streams } = await readStatus(db.pool)
    await db.rows('select ingest.recount()')
    expect((await readStatus(db.pool)).streams).toEqual(streams)
  }

  it('has one row, and all that is told of days and rooms stays', async () => {
    await close()
    await db.advance(399 * day)
    await db.keepHouse()
    const many = ['maths', 'music', 'whole'].map(room => ({ series: room, rows: 5 }))
    expect(await rows()).toEqual(many)
    await db.advance(8 * day)
    const before = await told(db)
    expect(before.rooms.map(({ reason }) => reason)).toContain('still_recording')
    await db.keepHouse()
    expect(await rows()).toEqual([1, 5, 2].map((rows, n) => ({ ...many[n], rows })))
    expect(await told(db)).toEqual(before)
    await expectCounts()
  })

  it('is known again by the beginning of its log, or is another one', async () => {
    await fold()
    const { cursor, streamState } = (await db.store.progress(app, 'room-events', 'maths'))!
    expect({ cursor, streamState }).toEqual({
      cursor: null,
      streamState: { ...(log as object), fold: undefined },
    })
    expect(read('good morning', streamState, null).room).toMatchObject({ incarnation: 2, opens: false })
    expect(read('good evening', streamState, null).room).toMatchObject({ incarnation: 3, opens: true })
  })

  it.each([
    ['is followed again', () => db.store.discoverRooms(me, app, ['maths']), [...roomStreams]],
    [
      'is wanted again by hand',
      () => markRoom(db.pool, { app, room: 'maths', streams: roomStreams }),
      [...roomStreams],
    ],
    ['is asked for its polls', () => db.store.follow(me, app, 'poll', 'maths'), ['poll']],
    [
      'is told of by the feed',
      async () => {
        await db.store.follow(me, app, 'app-events', '')
        const { version } = (await db.store.progress(app, 'app-events', ''))!
        await db.store.commit(feedPage(version, { rows: eventRows([event('maths', 30)]) }))
      },
      ['room-events'],
    ],
    [
      'has its log read',
      () =>
        db.store.commit(
          logPage('maths', 10, {
            room: { kind: 'incarnation', incarnation: 2, opens: false },
            streamState: { incarnation: 2 },
          }),
        ),
      [...roomStreams],
    ],
  ])('has all of its series again when it %s', async (_, meet, followed) => {
    await fold()
    await meet()
    expect(await series('maths')).toMatchObject([...back, { stream: 'room-events' }])
    expect(await open()).toEqual([...followed].sort())
    await expectCounts()
  })

  it('begins anew in all of its series when it is another room by now', async () => {
    await fold()
    const room = { kind: 'incarnation', incarnation: 3, opens: true } as const
    await db.store.commit(logPage('maths', 10, { room, streamState: { incarnation: 3 } }))
    expect(await series('maths')).toMatchObject(
      roomStreams
        .toSorted()
        .map(stream => ({ stream, open: true, cursor: null, stream_state: { incarnation: 3 } })),
    )
    expect((await series('maths')).filter(({ read }) => read)).toMatchObject([{ stream: 'room-events' }])
    await expectCounts()
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readStatus, readStoreGauges } from '../../src/postgres/status.ts'
import {
  app,
  event,
  eventRows,
  feedPage,
  hour,
  logPage,
  me,
  openStore,
  roomStreams,
  type TestStore,
  time,
} from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.follow(me, app, 'app-events', '')
})
afterAll(() => db.close())

describe('the spans of attendance', () => {
  async function spans(
    room: string,
    ended: number | null,
    ...actions: readonly (readonly [user: string | null, action: string, at: number])[]
  ) {
    await db.rows(
      'insert into classroom.room (app_id, room_uuid, incarnation, ended_at) values ($1, $2, 1, $3)',
      [app, room, ended === null ? null : time(ended)],
    )
    for (const [place, [user, action, at]] of actions.entries()) {
      await db.rows(
        `insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, action, at)
         values ($1, $2, 1, $3, 0, $4, $5, $6)`,
        [app, room, place, user, action, time(at)],
      )
    }
    const found = await db.rows(
      `select user_uuid as who, entered_at, left_at, extract(epoch from stayed)::int / 60 as stayed
       from classroom.attendance_interval where room_uuid = $1 order by 1, 2`,
      [room],
    )
    const minute = (at: unknown) =>
      at === null ? null : ((at as Date).getTime() - Date.parse(time(0))) / 60_000
    return found.map(({ who, entered_at, left_at, stayed }) => [
      who,
      minute(entered_at),
      minute(left_at),
      stayed,
    ])
  }

  it('go from entering to leaving, each time anew', async () => {
    const actions = [
      ['ann', 'enter', 0],
      ['bob', 'enter', 1],
      ['ann', 'leave', 10],
      ['ann', 'enter', 20],
      ['ann', 'leave', 25],
      ['bob', 'leave', 30],
    ] as const
    expect(await spans('plain', 60, ...actions)).toEqual([
      ['ann', 0, 10, 10],
      ['ann', 20, 25, 5],
      ['bob', 1, 30, 29],
    ])
  })

  it('of one who enters twice without leaving are one', async () => {
    const actions = [
      ['ann', 'enter', 0],
      ['ann', 'enter', 5],
      ['ann', 'leave', 10],
      ['ann', 'enter', 12],
    ] as const
    expect(await spans('twice in', 60, ...actions)).toEqual([
      ['ann', 0, 10, 10],
      ['ann', 12, null, 48],
    ])
  })

  it('of one who leaves twice end the first time', async () => {
    const actions = [
      ['ann', 'leave', 0],
      ['ann', 'enter', 5],
      ['ann', 'leave', 10],
      ['ann', 'leave', 40],
    ] as const
    expect(await spans('twice out', 60, ...actions)).toEqual([['ann', 5, 10, 5]])
  })

  it('of those who are told without an ID are nobody’s', async () => {
    const actions = [
      ['ann', 'enter', 0],
      [null, 'enter', 1],
      [null, 'leave', 2],
      ['ann', 'leave', 10],
    ] as const
    expect(await spans('nameless', 60, ...actions)).toEqual([['ann', 0, 10, 10]])
  })

  it('of one who never leaves last until the class ends, and are open until then', async () => {
    expect(await spans('ended', 60, ['ann', 'enter', 5], ['bob', 'enter', 70])).toEqual([
      ['ann', 5, null, 55],
      ['bob', 70, null, null],
    ])
    expect(await spans('going on', null, ['ann', 'enter', 5])).toEqual([['ann', 5, null, null]])
  })
})

it('who came back and is still there has not left, as far as participation tells', async () => {
  const room = 'comes-back'
  await db.rows('insert into classroom.room (app_id, room_uuid, incarnation, state) values ($1, $2, 1, 1)', [
    app,
    room,
  ])
  await db.rows(
    `insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, action, at)
     select $1, $2, 1, n, 0, who, action, timestamptz '2026-01-05 10:00Z' + n * interval '1 minute'
     from (values (1, 'ann', 'enter'), (2, 'bob', 'enter'), (3, 'ann', 'leave'), (4, 'bob', 'leave'), (5, 'ann', 'enter')) a(n, who, action)`,
    [app, room],
  )
  const left = await db.rows(
    `select user_uuid as who, left_at is null as is_there, stays, minutes from classroom.participation where room_uuid = $1 order by 1`,
    [room],
  )
  expect(left).toEqual([
    { who: 'ann', is_there: true, stays: 2, minutes: 2 },
    { who: 'bob', is_there: false, stays: 1, minutes: 2 },
  ])
})

it('every answer to a quiz of one without an ID counts, of others the last', async () => {
  await db.rows(
    "insert into classroom.quiz (app_id, room_uuid, incarnation, quiz_id) values ($1, 'q', 1, 'q1')",
    [app],
  )
  await db.rows(
    `insert into classroom.quiz_submission (app_id, room_uuid, incarnation, quiz_id, user_uuid, ordinal, is_correct)
     values ($1, 'q', 1, 'q1', '', 1, true), ($1, 'q', 1, 'q1', '', 2, false), ($1, 'q', 1, 'q1', 'ann', 3, false),
            ($1, 'q', 1, 'q1', 'ann', 4, true)`,
    [app],
  )
  const found = await db.rows("select answered, correct from classroom.quiz_result where room_uuid = 'q'")
  expect(found).toEqual([{ answered: 3, correct: 2 }])
})

it('a quiz or poll that nobody ended is over with its class', async () => {
  const states = async (room: string, room_ends: string | null) => {
    await db.rows(
      'insert into classroom.room (app_id, room_uuid, incarnation, ended_at) values ($1, $2, 1, $3)',
      [app, room, room_ends],
    )
    await db.rows(
      `insert into classroom.quiz (app_id, room_uuid, incarnation, quiz_id, state)
       values ($1, $2, 1, 'left', 'running'), ($1, $2, 1, 'over', 'ended'), ($1, $2, 1, 'unknown', null)`,
      [app, room],
    )
    await db.rows(
      `with p as (insert into classroom.poll (app_id, room_uuid, incarnation, poll_id, state)
                  values ($1, $2, 1, 'left', 'running') returning *)
       insert into classroom.poll_tally (app_id, room_uuid, incarnation, poll_id, option_index)
       select app_id, room_uuid, incarnation, poll_id, 0 from p`,
      [app, room],
    )
    const found = await db.rows(
      `select state from (select quiz_id as id, state from classroom.quiz_result where room_uuid = $1 union all
                          select poll_id || ' poll', state from classroom.poll_result where room_uuid = $1) a order by id`,
      [room],
    )
    return found.map(({ state }) => state)
  }
  expect(await states('goes on', null)).toEqual(['running', 'running', 'ended', null])
  expect(await states('is over', '2026-01-01')).toEqual(['ended', 'ended', 'ended', null])
})

describe('whether a log is whole', () => {
  const log = async (room: string) =>
    (
      await db.rows(
        'select incarnation, events::int, unconfirmed::int, holes::int, whole from ingest.room_log where room_uuid = $1',
        [room],
      )
    )[0]
  const told = (room: string, ...sequences: number[]) =>
    eventRows(sequences.map(sequence => event(room, sequence)))
  async function feed(rows: ReturnType<typeof told>): Promise<void> {
    const { version } = (await db.store.progress(app, 'app-events', ''))!
    await db.store.commit(feedPage(version, { rows }))
  }

  it('is known once it was read to its end, has no hole, and confirms what the feed showed', async () => {
    await feed(told('w', 1, 2))
    expect(await log('w')).toEqual({ incarnation: 1, events: 2, unconfirmed: 2, holes: 0, whole: false })
    await db.store.commit(logPage('w', 0, { rows: told('w', 1, 2), caughtUp: false }))
    expect(await log('w')).toMatchObject({ unconfirmed: 0, whole: false })
    await db.store.commit(logPage('w', 1, { rows: told('w', 2, 3), holes: [] }))
    expect(await log('w')).toEqual({ incarnation: 1, events: 3, unconfirmed: 0, holes: 0, whole: true })
    await feed(told('w', 5))
    expect(await log('w')).toMatchObject({ unconfirmed: 1, whole: false })
    await db.store.commit(logPage('w', 2, { rows: told('w', 5), holes: [{ from: 4, to: 4, state: 'open' }] }))
    expect(await log('w')).toMatchObject({ unconfirmed: 0, holes: 1, whole: false })
    await db.store.commit(logPage('w', 3, { holes: [{ from: 4, to: 4, state: 'absent' }] }))
    expect(await log('w')).toMatchObject({ holes: 0, whole: true })
  })

  it('speaks of the latest incarnation alone', async () => {
    await db.store.discoverRooms(me, app, ['again'])
    await db.store.commit(
      logPage('again', 0, { rows: told('again', 1, 3), holes: [{ from: 2, to: 2, state: 'open' }] }),
    )
    const room = { kind: 'incarnation', incarnation: 2, opens: true } as const
    await db.store.commit(logPage('again', 1, { rows: told('again', 1), room, holes: [] }))
    expect(await log('again')).toEqual({ incarnation: 2, events: 1, unconfirmed: 0, holes: 0, whole: true })
  })
})

describe('the status and the figures', () => {
  it('tell of a stream that is off what is stored, and no backlog that nobody reads', async () => {
    const other = await openStore()
    await other.store.discoverRooms(me, app, ['a'])
    await other.store.commit(logPage('a', 0, { caughtUp: false }))
    await other.advance(90_000)
    const roomEvents = async () =>
      (await readStatus(other.pool)).streams.find(({ stream }) => stream === 'room-events')
    expect(await roomEvents()).toMatchObject({ open: 1, backlog: 1, oldestSeconds: 90 })
    await other.rows(
      `insert into ingest.stream_off (app_id, stream, off_at) values ($1, 'room-events', ingest.clock())`,
      [app],
    )
    expect(await roomEvents()).toMatchObject({ open: 1, backlog: 0, oldestSeconds: null })
    await other.rows('update ingest.stream_off set on_at = ingest.clock()')
    expect(await roomEvents()).toMatchObject({ open: 1, backlog: 1, oldestSeconds: 90 })
    await other.close()
  })

  it('tell what is followed, owed, missing and set aside', async () => {
    const other = await openStore()
    await other.store.follow(me, app, 'app-events', '')
    await other.store.discoverRooms(me, app, ['a', 'b', 'c'])
    await other.rows(
      `insert into ingest.replica (owner, since, seen_at, knows) values ('me', ingest.clock(), '2026-01-05T08:01:25Z', '{1}')`,
    )
    const started = {
      ...eventRows([event('a', 1)]),
      'classroom.room': [
        { ...eventRows([event('a', 1)])['classroom.room']![0]!, state: 1, state_sequence: 1 },
      ],
    }
    await other.store.commit(logPage('a', 0, { rows: started, holes: [{ from: 2, to: 3, state: 'open' }] }))
    await other.advance(90_000)
    await other.store.commit(
      logPage('b', 0, { caughtUp: false, rejects: [{ reason: 'wrong_type', detail: 'x', item: 1 }] }),
    )
    await other.store.forgetRoom(me, app, 'b')
    await other.store.closeSeries(me, app, 'room-events', 'b')
    const status = await readStatus(other.pool)
    expect(status.now).toBe('2026-01-05T08:01:30Z')
    expect(status.streams.find(({ stream }) => stream === 'room-events')).toEqual({
      app,
      stream: 'room-events',
      open: 2,
      closed: 1,
      backlog: 1,
      lastCommit: '2026-01-05T08:01:30Z',
      oldestSeconds: 90,
    })
    expect(status.rooms).toEqual([
      { app, state: 'forgotten', rooms: 1 },
      { app, state: 'started', rooms: 1 },
    ])
    const lost = {
      app,
      state: 'lost',
      reason: 'room_forgotten',
      gaps: 1,
      recoverableUntil: null,
      lostToday: 1,
    }
    const open = { app, state: 'open', reason: 'hole', gaps: 1, recoverableUntil: null, lostToday: 0 }
    expect(status.gaps).toEqual([
      ...roomStreams.toSorted().map(stream => ({ ...lost, stream })),
      { ...open, stream: 'room-events' },
    ])
    expect(status.deadLetters).toEqual([
      { app, stream: 'room-events', reason: 'wrong_type', letters: 1, lastSeen: '2026-01-05T08:01:30Z' },
    ])
    expect(status.owners).toEqual([{ owner: 'me', shards: 1, expiresAt: '2026-01-05T08:01:35Z' }])
    expect(await readStoreGauges(other.pool)).toEqual({
      gaps: status.gaps,
      leftBehind: ['session_series', 'usage_realtime', 'quality_realtime'].map(name => {
        return { table: `analytics.${name}`, rows: 0 }
      }),
      losses: roomStreams.toSorted().map(stream => ({ stream, hour: 1, day: 1 })),
      orphans: [],
      players: [],
      rooms: [{ app, state: 'started', count: 1 }],
    })
    await other.advance(hour)
    await other.close()
  })
  it('tell of each stream once, of a work queue by its items as soon as there are any', async () => {
    const other = await openStore()
    await other.store.follow(me, app, 'call-sessions', '')
    const streams = async () => (await readStatus(other.pool)).streams
    expect(await streams()).toMatchObject([{ stream: 'call-sessions', open: 1, closed: 0 }])
    await other.rows(
      `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
       select $1, 'call-sessions', 'call ' || state, '0', ingest.clock(), ingest.clock(), state from unnest(array['done', 'pending', 'lost']) state`,
      [app],
    )
    expect(await streams()).toMatchObject([{ stream: 'call-sessions', open: 1, closed: 2, backlog: 1 }])
    await other.close()
  })
})

describe('the files of a class', () => {
  it('are those of the list and those that the log alone tells, each once', async () => {
    const place = [app, 'files shared']
    await db.rows('insert into classroom.room (app_id, room_uuid, incarnation) values ($1, $2, 1)', place)
    const listed = (file: string) =>
      db.rows(
        'insert into classroom.resource (app_id, room_uuid, incarnation, resource_uuid) values ($1, $2, 1, $3)',
        [...place, file],
      )
    const told = (sequence: number, file: string, action: string) =>
      db.rows(
        `insert into classroom.resource_change (app_id, room_uuid, incarnation, sequence, ordinal, resource_uuid, action, at)
         values ($1, $2, 1, $3, 0, $4, $5, $6)`,
        [...place, sequence, file, action, time(1)],
      )
    await listed('slides')
    await listed('made beforehand')
    await told(1, 'slides', 'upsert')
    await told(2, 'removed at once', 'upsert')
    await told(3, 'removed at once', 'delete')
    const files = 'select files from classroom.class where app_id = $1 and room_uuid = $2'
    expect(await db.value(files, place)).toBe(3)
  })
})

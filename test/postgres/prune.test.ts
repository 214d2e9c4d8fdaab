import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { PageCommit } from '../../src/engine/ports.ts'
import { at, commitNext, span } from './analytics.ts'
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
  rowSet,
  type TestStore,
} from './harness.ts'

const day = 24 * hour
const retention = { dead_letter: 90 * day, notification: 90 * day, cloud_player_change: 400 * day }

let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore({ retention })
  db = await opened
  await db.rows(
    `truncate ingest.progress, ingest.gap, ingest.dead_letter, ingest.unkept_letter, ingest.divergence, ingest.work_item,
              classroom.room, classroom.room_event, players.notification, players.cloud_player_change`,
  )
})
afterAll(async () => (await opened)?.close())

const count = (table: string) => db.value(`select count(*)::int from ${table}`)
const unkept = () => db.rows('select series, letters::int from ingest.unkept_letter order by 1')

/** So many items, each unlike all others. */
const bad = (many: number, from = 0): PageCommit['rejects'] =>
  Array.from({ length: many }, (_, n) => ({ reason: 'missing_key', detail: 'x: missing', item: from + n }))

describe('dead letters', () => {
  const ended = rowSet({
    ...eventRows([event('maths', 1, { at: -1 }), event('music', 1, { at: -1 })]),
    'classroom.room': ['maths', 'music'].map(room =>
      roomRow(room, { state: 2, stateSequence: 1, ended: -1 }),
    ),
  })
  async function begin() {
    await db.store.discoverRooms(me, app, ['maths', 'music'])
    await db.store.commit(logPage('maths', 0, { rows: ended }))
    await db.store.commit(logPage('music', 0, { rows: ended }))
  }
  async function read(room: string, rejects: PageCommit['rejects']) {
    const { version } = (await db.store.progress(app, 'poll', room))!
    return db.store.commit(listPage('poll', room, version, { source: 'log', rejects }))
  }
  const reasons = () =>
    db.rows(`select room_uuid, reason from ingest.room_complete where stream = 'poll' order by room_uuid`)
  const unreadable = [
    { room_uuid: 'maths', reason: 'unreadable' },
    { room_uuid: 'music', reason: 'unreadable' },
  ]

  it('of a stream and reason are a thousand a day, and what is not kept leaves its room incomplete', async () => {
    await begin()
    expect(await read('maths', bad(990))).toMatchObject({ deadLetters: { missing_key: 990 } })
    expect(await read('maths', bad(1_010))).toMatchObject({ deadLetters: { missing_key: 20 } })
    expect(await read('music', bad(3, 5_000))).toMatchObject({ deadLetters: { missing_key: 3 } })
    expect(await count('ingest.dead_letter')).toBe(1_000)
    expect(await unkept()).toEqual([
      { series: 'maths', letters: 10 },
      { series: 'music', letters: 3 },
    ])
    expect(await reasons()).toEqual(unreadable)
  })

  it('of whole pages have the same end', async () => {
    await db.rows(
      `insert into ingest.dead_letter (app_id, stream, series, reason, body)
       select $1, 'poll', 'r' || n, 'malformed', convert_to(n::text, 'UTF8') from generate_series(1, 1000) n`,
      [app],
    )
    const letter = { app, stream: 'poll', reason: 'malformed', detail: 'not JSON', alike: 'by body' } as const
    const tell = (text: string) =>
      db.store.deadLetter({ ...letter, series: `r${text}`, body: Buffer.from(text) })
    expect(await tell('7')).toBe('again')
    expect(await tell('1001')).toBe('new')
    expect(await count('ingest.dead_letter')).toBe(1_000)
    expect(await unkept()).toEqual([{ series: 'r1001', letters: 1 }])
    await db.advance(day)
    await tell('1002')
    expect(await count('ingest.dead_letter')).toBe(1_001)
  })

  it('go when they are old, in several statements, and their room stays incomplete', async () => {
    await begin()
    await read('maths', bad(2))
    await read('music', bad(1, 10))
    await db.rows(
      `insert into ingest.dead_letter (app_id, stream, series, reason, body)
       select $1, 'app-events', '', 'wrong_type', convert_to(n::text, 'UTF8') from generate_series(1, 11000) n`,
      [app],
    )
    await db.advance(89 * day)
    await db.keepHouse()
    expect(await count('ingest.dead_letter')).toBe(11_003)
    await db.advance(2 * day)
    await db.keepHouse()
    expect(await count('ingest.dead_letter')).toBe(0)
    expect(await unkept()).toEqual([
      { series: 'maths', letters: 2 },
      { series: 'music', letters: 1 },
    ])
    expect(await reasons()).toEqual(unreadable)
  })
})

it('a channel that came and went goes after a week where all of it was read, and else when no answer can change it', async () => {
  const stream = 'realtime-usage'
  for (const series of ['whole', 'with a gap', 'going on', 'project']) {
    await db.store.beginWindows(me, app, stream, [series], at(0), 20, series !== 'project')
  }
  await commitNext(db, stream, 'whole', { covers: [span(0, 600)], sees: [span(0, 600)] })
  await commitNext(db, stream, 'with a gap', { covers: [span(0, 300)], sees: [span(0, 600)] })
  for (const series of ['whole', 'with a gap', 'project'])
    await db.store.leaveWindows(me, app, stream, series)
  const left = async (days: number) => {
    await db.advance(days * day)
    await db.keepHouse()
    return db.value(`select string_agg(series, ', ' order by series) from ingest.progress`)
  }
  expect(await left(6)).toBe('going on, project, whole, with a gap')
  expect(await left(2)).toBe('going on, project, with a gap')
  expect(await left(393)).toBe('going on, project')
})

it('what is settled goes first, then what no log or list will tell any more, and what is lost stays', async () => {
  await db.rows(
    `insert into ingest.gap (app_id, stream, series, unit, sequence_from, sequence_to, reason, state, updated_at)
     select $1, 'room-events', 'r' || n, 'sequence', 1, 1, 'hole', (array['repaired', 'absent', 'lost'])[n], ingest.clock()
     from generate_series(1, 3) n`,
    [app],
  )
  await db.rows(
    `insert into ingest.divergence (app_id, stream, series, key, other, resolved_at)
     select $1, 'room-events', 'r', n::text, '{}', case n when 1 then ingest.clock() end from generate_series(1, 2) n`,
    [app],
  )
  const left = async () => ({
    gaps: await db.value(`select string_agg(state, ' ' order by id) from ingest.gap`),
    divergences: await db.value(`select string_agg(key, ' ' order by id) from ingest.divergence`),
  })
  await db.advance(89 * day)
  await db.keepHouse()
  expect(await left()).toEqual({ gaps: 'repaired absent lost', divergences: '1 2' })
  await db.advance(2 * day)
  await db.keepHouse()
  expect(await left()).toEqual({ gaps: 'absent lost', divergences: '2' })
  await db.advance(308 * day)
  await db.keepHouse()
  expect(await left()).toEqual({ gaps: 'absent lost', divergences: '2' })
  await db.advance(2 * day)
  await db.keepHouse()
  expect(await left()).toEqual({ gaps: 'lost', divergences: null })
})

it('notices and changes of players go when they are as old as the configuration says', async () => {
  await db.rows(
    `insert into players.notification (app_id, notice_id, event_type, received_at)
     select $1, n::text, 4, ingest.clock() from generate_series(1, 6000) n`,
    [app],
  )
  await db.rows(
    `insert into players.cloud_player_change (app_id, player_id, changed_at, to_status, source)
     select $1, n::text, ingest.clock(), 'idle', 'list' from generate_series(1, 6000) n`,
    [app],
  )
  const left = () => Promise.all(['players.notification', 'players.cloud_player_change'].map(count))
  await db.advance(91 * day)
  await db.keepHouse()
  expect(await left()).toEqual([0, 6_000])
  await db.advance(310 * day)
  await db.keepHouse()
  expect(await left()).toEqual([0, 0])
})

describe('work that is long done', () => {
  const item = (call: string, part: string, state: string) =>
    db.rows(
      `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, ask, state)
       values ($1, 'call-sessions', $2, $3, ingest.clock(), ingest.clock(), '{"sids": ["s"]}', $4)`,
      [app, call, part, state],
    )
  const items = () => db.rows('select item, part, state, ask from ingest.work_item order by 1, 2')

  it('leaves one item a call, so that what was complete is', async () => {
    const from = await db.value('select ingest.clock()')
    await db.rows(
      `insert into ingest.progress (app_id, stream, series, backlog_from, step, covered)
       values ($1, 'calls', '', $2, 1, tstzmultirange(tstzrange($2, $2::timestamptz + interval '1 day')))`,
      [app, from],
    )
    await db.rows(
      `insert into analytics.call (app_id, call_id, created_at, finished) values ($1, 'whole', $2, true)`,
      [app, from],
    )
    for (const part of ['a', 'b', 'c']) await item('whole', part, 'done')
    await item('whole', 'abc', 'split')
    await item('open', 'a', 'pending')
    for (const part of ['a', 'b']) await item('gone', part, 'lost')
    for (const [part, state] of Object.entries({ a: 'done', b: 'lost', c: 'split' }))
      await item('torn', part, state)
    const complete = () =>
      db.value(
        `select ingest.is_complete('call-sessions', $1, $2::timestamptz, $2::timestamptz + interval '1 hour')`,
        [app, from],
      )
    expect(await complete()).toBe(true)
    await db.advance(399 * day)
    await db.keepHouse()
    expect(await items()).toHaveLength(10)
    for (let run = 0; run < 2; run++) {
      await db.advance(2 * day)
      await db.keepHouse()
      expect(await items()).toEqual([
        { item: 'gone', part: 'a', state: 'lost', ask: null },
        { item: 'open', part: 'a', state: 'pending', ask: { sids: ['s'] } },
        { item: 'torn', part: 'b', state: 'lost', ask: null },
        { item: 'whole', part: 'a', state: 'done', ask: null },
      ])
      expect(await complete()).toBe(true)
    }
  })

  it('leaves of a call, of which something was left out on purpose, what says so', async () => {
    for (const part of ['a', 'b', 'c']) await item('short', part, 'done')
    await db.rows(`update ingest.work_item set left_out = true where part = 'b'`)
    await db.advance(401 * day)
    await db.keepHouse()
    expect(await db.rows('select part, left_out from ingest.work_item')).toEqual([
      { part: 'b', left_out: true },
    ])
  })

  it('is taken away in several statements, a call that is cut by one of them too', async () => {
    await db.rows(
      `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
       select $1, 'call-metrics', 'c' || n / 8, n::text, ingest.clock(), ingest.clock() + n * interval '1 second', 'done'
       from generate_series(0, 11999) n`,
      [app],
    )
    await db.rows(
      `insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, state)
       select $1, 'call-metrics', 'l' || n / 8, n::text, ingest.clock(), ingest.clock() + n * interval '1 second', 'lost'
       from generate_series(0, 11999) n`,
      [app],
    )
    await db.advance(401 * day)
    await db.keepHouse()
    expect(await count('ingest.work_item')).toBe(3_000)
  })
})

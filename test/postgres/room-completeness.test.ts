import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { rejectReasons } from '../../src/streams/page.ts'
import { commitNext } from './analytics.ts'
import {
  app,
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

let db: TestStore
let opened: Promise<TestStore> | undefined
beforeEach(async () => {
  opened ??= openStore()
  db = await opened
  await db.rows(
    `truncate ingest.progress, ingest.gap, ingest.dead_letter, ingest.stream_off, classroom.room, classroom.room_event,
              classroom.recording, classroom.recording_file`,
  )
})
afterAll(async () => (await opened)?.close())

describe('the view of rooms', () => {
  it('says of every stream that follows rooms whether the room is whole', async () => {
    await db.store.discoverRooms(me, app, ['r'])
    const complete = () =>
      db.rows(`select stream, complete from ingest.room_complete where room_uuid = 'r' order by stream`)
    const rows = rowSet({
      'classroom.room': [roomRow('r', { state: 2, stateSequence: 1, ended: 10, first: 0, last: 10 })],
    })
    await db.store.commit(logPage('r', 0, { rows }))
    expect((await complete()).map(each => each.complete)).toEqual([false, false, false, false, false])
    await db.setTime(time(11))
    await db.store.commit(logPage('r', 1))
    expect(await complete()).toContainEqual({ stream: 'room-events', complete: true })
    await db.rows(
      `insert into ingest.gap (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason)
       values ($1, 'room-events', 'r', 1, 'sequence', 3, 4, 'hole')`,
      [app],
    )
    expect(await complete()).toContainEqual({ stream: 'room-events', complete: false })
    expect(await complete()).toContainEqual({ stream: 'poll', complete: false })
    await db.setTime(time(0))
  })
})

/** Class `name` from minute 1 of a day to minute 10, of which every stream but those named was read two minutes later. */
async function held(name: string, day: number, unread: readonly string[] = []): Promise<void> {
  const begin = Date.parse(start) - 8 * hour + day * 24 * hour
  const minute = (minutes: number) => new Date(begin + minutes * 60_000).toISOString()
  await db.rows(
    `insert into classroom.room (app_id, room_uuid, incarnation, state, state_sequence, first_seen_at, started_at, ended_at,
                                 valid_from, last_event_at)
     values ($1, $2, 1, 2, 2, $3, $4, $5, $4, $5)`,
    [app, name, minute(0), minute(1), minute(10)],
  )
  await db.rows(
    `insert into classroom.room_event (app_id, room_uuid, incarnation, sequence, cmd, at, at_source, received_at, source)
     values ($1, $2, 1, 2, 1, $3, 'event', $3, 'log')`,
    [app, name, minute(10)],
  )
  for (const stream of roomStreams) {
    await db.rows(
      'insert into ingest.progress (app_id, stream, series, caught_up_at) values ($1, $2, $3, $4)',
      [...[app, stream, name, unread.includes(stream) ? null : minute(12)]],
    )
  }
}

/** What the days tell: with a question mark where they are not complete, with the reasons behind them. */
async function days(stream: string): Promise<unknown> {
  const rows = await db.rows(
    `select (day - $2::date) || case when complete then '' else '?' end || coalesce(' ' || nullif(reasons, ''), '') as told
     from ingest.complete_day where app_id = $3 and stream = $1 order by day`,
    [stream, start, app],
  )
  return rows.map(({ told }) => told)
}

async function feedReadUntil(iso: string): Promise<void> {
  await db.rows(
    `insert into ingest.progress (app_id, stream, series, caught_up_at) values ($1, 'app-events', '', $2)
     on conflict (app_id, stream, series) do update set caught_up_at = excluded.caught_up_at`,
    [app, iso],
  )
}

const noon = (day: number) => new Date(Date.parse(start) + (4 + 24 * day) * hour).toISOString()
const others = roomStreams.filter(stream => stream !== 'recordings')
const everything = ['app-events', ...roomStreams] as const

describe('a class whose room is used again', () => {
  it('stays incomplete by what was not read of it to its end, and by nothing else', async () => {
    await held('again', 0, ['poll'])
    await feedReadUntil(noon(1))
    await db.setTime(noon(1))
    const told = async () => {
      const all = [await days('poll'), await days('popup-quiz'), await days('room-events')]
      return all.map(each => (each as readonly unknown[])[0])
    }
    expect(await told()).toEqual(['0? unread', '0', '0'])
    const { version } = (await db.store.progress(app, 'room-events', 'again'))!
    const own = (Date.parse(noon(1)) - Date.parse(start)) / 60_000
    const next = logPage('again', version, {
      room: { kind: 'incarnation', incarnation: 2, opens: true },
      rows: eventRows([event('again', 1, { own })], [roomRow('again', { first: own, last: own })]),
      caughtUp: false,
    })
    expect(await db.store.commit(next)).toMatchObject({ outcome: 'committed' })
    expect(await db.rows('select incarnation, unread from classroom.room order by 1')).toEqual([
      { incarnation: 1, unread: ['poll'] },
      { incarnation: 2, unread: null },
    ])
    expect(await told()).toEqual(['0? room_reused, unread', '0', '0'])
  })
})

describe('the recordings of a class', () => {
  const told = () =>
    db.rows(
      `select complete, reason from ingest.room_complete where room_uuid = 'film' and stream = 'recordings'`,
    )
  const record = (status: number | null, endedAt: string | null, url: string | null) =>
    db.rows(
      `insert into classroom.recording (app_id, room_uuid, incarnation, record_id, status, ended_at, url)
       values ($1, 'film', 1, 'r1', $2, $3, $4)
       on conflict (app_id, room_uuid, incarnation, record_id) do update
         set status = excluded.status, ended_at = excluded.ended_at, url = excluded.url`,
      [app, status, endedAt, url],
    )

  it.each([
    ['ended and have an address', 2, 'https://x/a.mp4', null],
    ['ended without one', 2, null, 'files_missing'],
    ['ended with an empty one', 2, '', 'files_missing'],
    ['say when they ended, and nothing else', null, null, 'files_missing'],
    ['were not seen ending', 1, null, 'still_recording'],
  ])('that %s', async (_, status, url, reason) => {
    await held('film', 0)
    await feedReadUntil(noon(1))
    await db.setTime(noon(1))
    await record(status, status === 1 ? null : start, url)
    expect(await told()).toEqual([{ complete: reason === null, reason }])
    expect(await days('recordings')).toEqual([
      reason === null ? '0' : `0? ${reason}`,
      '1? app-events, not_over',
    ])
    expect(await days('poll')).toEqual(['0', '1? app-events, not_over'])
  })

  it('are whole once a file is there, and not while the list was not read since the end', async () => {
    await held('film', 0)
    await record(2, start, null)
    await db.rows(
      `insert into classroom.recording_file (app_id, room_uuid, incarnation, record_id, ordinal, url)
       values ($1, 'film', 1, 'r1', 0, 'https://x/a.mp4')`,
      [app],
    )
    expect(await told()).toEqual([{ complete: true, reason: null }])
    await db.rows(`update ingest.progress set caught_up_at = null where series = 'film'`)
    expect(await told()).toEqual([{ complete: false, reason: 'unread' }])
  })
})

describe('an item that could not be read', () => {
  const told = (stream: string) =>
    db.rows(`select complete, reason from ingest.room_complete where room_uuid = 'r' and stream = $1`, [
      stream,
    ])
  const deadLetter = (stream: string, reason: string, seenAt: string) =>
    db.rows(
      `insert into ingest.dead_letter (app_id, stream, series, reason, body, received_at, last_seen_at)
       values ($1, $2, 'r', $3, 'x', $4, $4)`,
      [app, stream, reason, seenAt],
    )
  const minute = (minutes: number) => new Date(Date.parse(start) - 8 * hour + minutes * 60_000).toISOString()
  const whole = [{ complete: true, reason: null }]
  const unreadable = [{ complete: false, reason: 'unreadable' }]

  it.each(rejectReasons)(
    'as %s keeps its log from being complete, and nothing else of the room',
    async reason => {
      await held('r', 0)
      await feedReadUntil(noon(1))
      await db.setTime(noon(1))
      expect(await told('poll')).toEqual(whole)
      await deadLetter('poll', reason, minute(5))
      expect(await told('poll')).toEqual(unreadable)
      expect(await told('popup-quiz')).toEqual(whole)
      expect(await days('poll')).toEqual(['0? unreadable', '1? app-events, not_over'])
      expect(await days('popup-quiz')).toEqual(['0', '1? app-events, not_over'])
    },
  )

  it('counts of a list only while the last reading still met it', async () => {
    await held('r', 0)
    await deadLetter('resources', 'missing_key', minute(5))
    expect(await told('resources')).toEqual(whole)
    await deadLetter('resources', 'wrong_type', minute(12))
    expect(await told('resources')).toEqual(unreadable)
  })

  it('counts neither for the next life of its room nor where a page was read after all', async () => {
    await held('r', 0)
    await deadLetter('poll', 'missing_key', minute(-60))
    await deadLetter('popup-quiz', 'malformed', minute(5))
    expect(await told('poll')).toEqual(whole)
    expect(await told('popup-quiz')).toEqual(whole)
  })
})

describe('a stream that was on and is switched off', () => {
  it('is judged up to then and not from then on, and spoils no other', async () => {
    await held('before', 0, ['recordings'])
    await held('after', 1, ['recordings'])
    await feedReadUntil(noon(3))
    await db.setTime(new Date(Date.parse(start) - 7 * hour).toISOString())
    await db.store.noteApp(me, app, {
      timeZone: 'UTC',
      userLink: 'stream',
      on: [...others, 'app-events'],
      off: ['recordings', 'calls'],
    })
    await db.setTime(noon(3))
    expect(await days('recordings')).toEqual(['0? unread'])
    for (const stream of others)
      expect(await days(stream)).toEqual(['0', '1', '2', '3? app-events, not_over'])
    const rooms = `select room_uuid, reason from ingest.room_complete where stream = 'recordings'`
    expect(await db.rows(rooms)).toEqual([{ room_uuid: 'before', reason: 'unread' }])
    await db.store.noteApp(me, app, { timeZone: 'UTC', userLink: 'stream', on: everything, off: [] })
    await held('again', 4, ['recordings'])
    await feedReadUntil(noon(5))
    await db.setTime(noon(5))
    expect(await days('recordings')).toEqual(['0? unread', '3', '4? unread', '5? app-events, not_over'])
  })

  it('does not spoil rooms that are found without the feed, where that is off', async () => {
    await held('first', 0)
    await held('second', 1)
    await held('third', 2, ['poll'])
    await feedReadUntil(noon(0))
    await db.setTime(noon(3))
    expect(await days('room-events')).toEqual([
      ...[0, 1, 2].map(day => `${day}? app-events`),
      '3? app-events, not_over',
    ])
    await db.setTime(noon(0))
    await db.store.noteApp(me, app, {
      timeZone: 'UTC',
      userLink: 'stream',
      on: roomStreams,
      off: ['app-events'],
    })
    await db.setTime(noon(3))
    expect(await days('app-events')).toEqual(['0'])
    expect(await days('room-events')).toEqual(['0', '1', '2', '3'])
    expect(await days('poll')).toEqual(['0', '1', '2? unread', '3'])
    await db.rows(`update ingest.progress set caught_up_at = $1 where stream = 'app-events'`, [start])
    expect(await days('app-events')).toEqual(['0? unread'])
    expect(await days('room-events')).toEqual(['0? app-events', '1', '2', '3'])
  })

  it('leaves the days before complete, and those of its rooms, when it is switched on again', async () => {
    await held('first', 0)
    await feedReadUntil(noon(0))
    await db.setTime(noon(0))
    const facts = { timeZone: 'UTC', userLink: 'stream' }
    await db.store.noteApp(me, app, { ...facts, on: roomStreams, off: ['app-events'] })
    await db.setTime(noon(3))
    await db.store.noteApp(me, app, { ...facts, on: [...roomStreams, 'app-events'], off: [] })
    expect(await db.store.recordUnread(me, app, '')).toBe(0)
    await feedReadUntil(noon(4))
    await db.setTime(noon(4))
    expect(await days('app-events')).toEqual(['0', '3', '4? not_over, unread'])
    expect(await days('room-events')).toEqual(['0', '1', '2', '3', '4? app-events, not_over'])
  })

  it('of the feeds of several regions is judged by the last of them, without those that are no more', async () => {
    await held('first', 0)
    for (const region of ['', 'ap', 'eu']) await db.store.follow(me, app, 'app-events', region)
    await db.store.closeSeries(me, app, 'app-events', '')
    const read = (region: string, iso: string) =>
      db.rows(`update ingest.progress set caught_up_at = $2 where stream = 'app-events' and series = $1`, [
        region,
        iso,
      ])
    await read('ap', noon(2))
    await db.setTime(noon(2))
    expect(await days('app-events')).toEqual(['0? unread', '1? unread', '2? not_over, unread'])
    await read('eu', noon(1))
    expect(await days('app-events')).toEqual(['0', '1? unread', '2? not_over, unread'])
    expect(await days('room-events')).toEqual(['0', '1? app-events', '2? app-events, not_over'])
  })

  it('of ranges of time is judged by the days before, though its series were closed with it', async () => {
    const from = Date.parse(start) / 1_000 - 8 * 3_600
    await db.store.beginWindows(me, app, 'calls', ['all'], from)
    await commitNext(db, 'calls', 'all', { covers: [{ from, to: from + 30 * 3_600 }], sees: [] })
    await db.setTime(noon(1))
    await db.store.closeSeries(me, app, 'calls', 'all')
    await db.setTime(noon(3))
    expect(await days('calls')).toEqual([])
    await db.setTime(new Date(Date.parse(noon(1)) + 5_000).toISOString())
    await db.store.noteApp(me, app, { timeZone: 'UTC', userLink: 'stream', on: [], off: ['calls'] })
    await db.store.noteApp(me, app, { timeZone: 'UTC', userLink: 'stream', on: [], off: ['calls'] })
    await db.setTime(noon(3))
    expect(await days('calls')).toEqual(['0', '1? unread'])
  })
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readStatus } from '../../src/postgres/status.ts'
import { app, me, openStore, type TestStore } from './harness.ts'

const minute = 60_000

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

const noteZone = (timeZone: string, id = app) =>
  db.store.noteApp(me, id, { timeZone, userLink: 'stream', on: [], off: [] })

/** The day that people there write at a moment, by the time zones of Node instead of those of Postgres. */
function dayThere(timeZone: string): (at: number) => string {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
  return at => format.format(at)
}

describe('the days of a time zone', () => {
  const zones = [
    ...['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe'],
    // Clocks are changed at midnight there: a midnight never comes in spring, and one comes twice in autumn.
    ...['America/Havana', 'Africa/Cairo', 'Asia/Beirut'],
  ]

  it.each(zones)('of %s are those of people there, each quarter of an hour of a year', async zone => {
    await noteZone(zone, zone)
    const days = (await db.rows(
      `select day::text, begins_at, ends_at, utc_day::text from ingest.calendar
       where time_zone = $1 and day between '2026-01-01' and '2026-12-31' order by begins_at, utc_day`,
      [zone],
    )) as unknown as readonly { day: string; begins_at: Date; ends_at: Date; utc_day: string }[]
    const there = dayThere(zone)
    const wrong: string[] = []
    let told = 0
    for (const { day, begins_at, ends_at, utc_day } of days)
      for (let at = begins_at.getTime(); at < ends_at.getTime(); at += 15 * minute) {
        if (!new Date(at).toISOString().startsWith(utc_day)) continue
        told += 1
        if (there(at) !== day) wrong.push(`${new Date(at).toISOString()} ${day}`)
      }
    expect(wrong).toEqual([])
    // A year of 365 days has as many quarters of an hour everywhere, where summer time ends in it.
    expect(told).toBe(365 * 96)
  })

  it('are known to Postgres wherever the configuration may be', async () => {
    const known = await db.rows('select name from pg_timezone_names')
    const names = new Set(known.map(({ name }) => name))
    expect(Intl.supportedValuesOf('timeZone').filter(name => !names.has(name))).toEqual([])
  })

  it('have 23 and 25 hours when clocks are changed', async () => {
    const rows = await db.rows(
      `select day::text, extract(epoch from ends_at - begins_at)::int / 3600 as hours from classroom.school_day
       where app_id = 'Europe/Berlin' and extract(epoch from ends_at - begins_at) <> 86400 and day >= '2025-01-01' order by day`,
    )
    expect(rows).toEqual([
      { day: '2025-03-30', hours: 23 },
      { day: '2025-10-26', hours: 25 },
    ])
  })

  it('are written once, and mended by the next migration where the rules have changed', async () => {
    const days = `select md5(string_agg(c::text, ';' order by utc_day, day)) from ingest.calendar c where time_zone = 'Europe/Berlin'`
    const before = await db.value(days)
    await db.rows(
      `update ingest.calendar set begins_at = begins_at - interval '1 hour' where time_zone = 'Europe/Berlin' and day = '2026-04-01';
       insert into ingest.calendar values ('Europe/Berlin', '2026-06-01', '2026-06-02', '2026-06-01', '2026-06-02')
         on conflict do nothing;
       delete from ingest.calendar where time_zone = 'Europe/Berlin' and day = '2026-05-01'`,
    )
    expect(await db.value(days)).not.toBe(before)
    await db.rows(`select ingest.keep_calendar('Europe/Berlin')`)
    expect(await db.value(days)).toBe(before)
  })

  it('tell which of them is today there', async () => {
    await db.setTime('2026-01-05T18:20:00Z')
    const rows = await db.rows(
      `select app_id, day::text, week::text from classroom.school_day
       where days_ago = 1 and app_id in ('UTC', 'Asia/Kathmandu', 'America/New_York') order by app_id`,
    )
    expect(rows).toEqual([
      { app_id: 'America/New_York', day: '2026-01-04', week: '2025-12-29' },
      { app_id: 'Asia/Kathmandu', day: '2026-01-05', week: '2026-01-05' },
      { app_id: 'UTC', day: '2026-01-04', week: '2025-12-29' },
    ])
  })
})

it('an app in a zone that Postgres does not know has days of UTC, and that is told, until it knows it', async () => {
  const told = () =>
    db.rows(
      `select a.time_zone, a.unknown_zone, (select count(*) > 0 from ingest.whole_days('martian', '2026-01-01')) as has_days
       from ingest.app a where app_id = 'martian'`,
    )
  const unknown = async () => (await readStatus(db.pool)).unknownZones
  await noteZone('Mars/Olympus_Mons', 'martian')
  expect(await told()).toEqual([{ time_zone: 'UTC', unknown_zone: 'Mars/Olympus_Mons', has_days: true }])
  expect(await unknown()).toEqual([{ app: 'martian', zone: 'Mars/Olympus_Mons' }])
  await noteZone('Asia/Kathmandu', 'martian')
  expect(await told()).toEqual([{ time_zone: 'Asia/Kathmandu', unknown_zone: null, has_days: true }])
  expect(await unknown()).toEqual([])
})

describe('what views say of a day', () => {
  const zone = 'Europe/Berlin'
  /** About the 23 hours of 29 March 2026 in Berlin: from 23:00 the day before to 22:00. */
  const moments = [
    '2026-03-28T22:59:00Z',
    '2026-03-28T23:00:00Z',
    '2026-03-29T21:59:00Z',
    '2026-03-29T22:00:00Z',
  ]

  beforeAll(async () => {
    await db.setTime('2026-03-31T12:00:00Z')
    await noteZone(zone)
    await db.rows(
      `insert into classroom.room (app_id, room_uuid, incarnation, started_at, valid_from, first_seen_at)
       select $1, 'r' || n, 1, at, at, '2026-03-20' from unnest($2::timestamptz[]) with ordinality m(at, n)`,
      [app, moments],
    )
    await db.rows(
      `insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at)
       select $1, 'c' || n, 'r' || n, at, at + interval '5 minutes' from unnest($2::timestamptz[]) with ordinality m(at, n)`,
      [app, moments],
    )
    await db.rows(
      `insert into analytics.call_session (app_id, call_id, sid, uid, joined_at, left_at)
       select app_id, call_id, call_id, call_id, created_at, destroyed_at from analytics.call where app_id = $1`,
      [app],
    )
    await db.rows(
      `with room as (select r.app_id, r.room_uuid, r.started_at from classroom.room r where r.app_id = '${app}'),
            quiz as (insert into classroom.quiz (app_id, room_uuid, incarnation, quiz_id) select app_id, room_uuid, 1, 'q' from room),
            poll as (insert into classroom.poll (app_id, room_uuid, incarnation, poll_id) select app_id, room_uuid, 1, 'p' from room),
            tally as (insert into classroom.poll_tally (app_id, room_uuid, incarnation, poll_id, option_index) select app_id, room_uuid, 1, 'p', 0 from room),
            read as (insert into ingest.progress (app_id, stream, series) select app_id, 'poll', room_uuid from room)
       insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, role, action, at)
       select app_id, room_uuid, 1, 1, 0, 'ann', '2', 'enter', started_at + interval '10 minutes' from room`,
    )
  })

  const expected = ['2026-03-28', '2026-03-29', '2026-03-29', '2026-03-30']

  it.each([
    ['classroom.class', 'room_uuid'],
    ['classroom.class_complete', 'room_uuid'],
    ['classroom.late_arrival', 'room_uuid'],
    ['classroom.participation', 'room_uuid'],
    ['classroom.quiz_result', 'room_uuid'],
    ['classroom.quiz_accuracy', 'room_uuid'],
    ['classroom.poll_result', 'room_uuid'],
    ['classroom.user_call', 'room_uuid'],
    ['ingest.room_complete', 'room_uuid'],
    ['analytics.call_quality', 'call_id'],
    ['analytics.class_quality', 'room_uuid'],
    ['analytics.session_quality', 'sid'],
  ])('is of the school’s in %s', async (view, order) => {
    const rows = await db.rows(`select day::text from ${view} where app_id = $1 order by ${order}`, [app])
    expect(rows.map(({ day }) => day)).toEqual(expected)
    const [one] = await db.rows(`select count(*)::int as n from ${view} where app_id = $1 and day = $2`, [
      ...[app, '2026-03-29'],
    ])
    expect(one).toEqual({ n: 2 })
  })

  it('is of the school’s in analytics.usage_by_day', async () => {
    const rows = await db.rows(
      `select day::text, calls, sessions from analytics.usage_by_day where app_id = $1 order by day`,
      [app],
    )
    expect(rows).toEqual([
      { day: '2026-03-28', calls: 1, sessions: 1 },
      { day: '2026-03-29', calls: 2, sessions: 2 },
      { day: '2026-03-30', calls: 1, sessions: 1 },
    ])
  })

  it('follows the configuration, whatever was stored before', async () => {
    await noteZone('Asia/Kathmandu')
    const rows = await db.rows(`select day::text from classroom.class where app_id = $1 order by room_uuid`, [
      app,
    ])
    await noteZone(zone)
    expect(rows.map(({ day }) => day)).toEqual(['2026-03-29', '2026-03-29', '2026-03-30', '2026-03-30'])
  })

  it('is of UTC where nobody has said anything else', async () => {
    await db.rows(
      `insert into analytics.call (app_id, call_id, created_at) values ('unsaid', 'c', '2026-03-28T23:30:00Z')`,
    )
    expect(await db.value(`select day::text from analytics.usage_by_day where app_id = 'unsaid'`)).toBe(
      '2026-03-28',
    )
  })
})

describe('a school day is complete', () => {
  const series = async (zone: string, step: number | null, covered: string) => {
    await db.rows('delete from ingest.progress')
    await noteZone(zone)
    await db.rows(
      `insert into ingest.progress (app_id, stream, series, backlog_from, covered, seen, step)
       values ($1, 'quality-insight', 'a', '2026-03-20', $2, $2, $3)`,
      [app, covered, step],
    )
  }
  const days = async (from: string, to: string) =>
    (
      await db.rows(
        `select concat_ws(' ', day, complete, expected, received, nullif(reasons, '')) as told from ingest.complete_day
         where app_id = $1 and stream = 'quality-insight' and day between $2 and $3 order by day`,
        [app, from, to],
      )
    ).map(({ told }) => told)

  it('with all of its own hours, be they 23', async () => {
    await db.setTime('2026-03-31T12:00:00Z')
    await series('Europe/Berlin', 3_600, '{[2026-03-20, 2026-03-29 22:00)}')
    expect(await days('2026-03-28', '2026-03-31')).toEqual([
      '2026-03-28 t 24 24',
      '2026-03-29 t 23 23',
      '2026-03-30 f 24 0 unread',
      '2026-03-31 f 24 0 not_over, unread',
    ])
  })

  it('or 25', async () => {
    await db.setTime('2026-10-26T12:00:00Z')
    await series('Europe/Berlin', 20, '{[2026-10-20, 2026-10-25 22:59)}')
    await db.rows(
      `update ingest.progress set backlog_from = '2026-10-20', seen = '{[2026-10-20, 2026-10-26)}'`,
    )
    expect(await days('2026-10-24', '2026-10-25')).toEqual([
      '2026-10-24 t 4320 4320',
      '2026-10-25 f 4500 4497 not_final',
    ])
  })

  it('where it begins a quarter of an hour off', async () => {
    await db.setTime('2026-03-31T12:00:00Z')
    await series('Asia/Kathmandu', 3_600, '{[2026-03-20, 2026-03-29 18:15)}')
    expect(await days('2026-03-29', '2026-03-30')).toEqual(['2026-03-29 t 24 24', '2026-03-30 f 24 0 unread'])
  })

  it('by the one daily value that begins in it', async () => {
    await series('America/New_York', 86_400, '{[2026-03-20, 2026-03-29)}')
    expect(await days('2026-03-27', '2026-03-28')).toEqual(['2026-03-27 t 1 1', '2026-03-28 f 1 0 unread'])
  })
})

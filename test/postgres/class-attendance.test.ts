import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { openStore, session, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

const day = '2026-02-02'
const at = (minutes: number) => `timestamptz '${day} 09:00Z' + interval '${minutes} minutes'`

/** Two of Monday and one of the Monday after it, ended; ann comes to all of them, bob twice to the first. */
beforeEach(async () => {
  await db.setTime('2026-02-10T12:00:00Z')
  await db.rows(`
    delete from classroom.attendance; delete from classroom.room; delete from ingest.class_attendance;
    insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at, verified_at)
    select 'school', room, 1, 2, ${at(0)} + later, ${at(60)} + later, ${at(0)} + later, ${at(60)} + later, ${at(60)} + later
    from (values ('maths', interval '0'), ('art', '2 hours'), ('music', '7 days')) r(room, later);
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, role, action, at)
    select 'school', r.room_uuid, 1, c.n, 0, c.who, c.role, c.action, r.started_at + c.minute * interval '1 minute'
    from classroom.room r
    join (values (1, 'ann', '2', 'enter', 0), (2, 'mr x', '1', 'enter', 1), (3, 'bob', '2', 'enter', 5), (4, 'bob', '2', 'leave', 15),
                 (5, 'bob', '2', 'enter', 50)) c(n, who, role, action, minute) on c.who <> 'bob' or r.room_uuid = 'maths'`)
})

const kept = async () => Number(await db.value('select count(*) from ingest.class_attendance'))
const days = () =>
  db.rows(
    `select day::text, classes, students, visits, stays, student_minutes as minutes from classroom.attendance_by_day where app_id = 'school' order by day`,
  )
const weeks = () =>
  db.rows(
    `select week::text, classes, students, visits, student_minutes as minutes, students_before, student_minutes_before as before, round(change::numeric, 2)::text as change
     from classroom.attendance_by_week where app_id = 'school' order by week`,
  )
const expectedDays = [
  { day, classes: 2, students: 2, visits: 3, stays: 4, minutes: 140 },
  { day: '2026-02-09', classes: 1, students: 1, visits: 1, stays: 1, minutes: 60 },
]
const first = {
  classes: 2,
  students: 2,
  visits: 3,
  minutes: 140,
  students_before: 0,
  before: 0,
  change: null,
}
const second = { classes: 1, students: 1, visits: 1, minutes: 60, students_before: 2, before: 140 }
const expectedWeeks = [
  { week: day, ...first },
  { week: '2026-02-09', ...second, change: '-0.57' },
]

it('what is kept of classes that are over says the same as their comings and goings', async () => {
  expect([await days(), await weeks(), await kept()]).toEqual([expectedDays, expectedWeeks, 0])
  await db.keepHouse()
  expect([await days(), await weeks(), await kept()]).toEqual([expectedDays, expectedWeeks, 3])
  // It is what is asked: a mistake in it is seen.
  await db.rows(`update ingest.class_attendance set seconds = 0 where room_uuid = 'music'`)
  expect((await days())[1]).toMatchObject({ minutes: 0 })
})

it('nothing is kept of a class that goes on, or showed a sign of life within hours', async () => {
  await db.rows(`update classroom.room set ended_at = null where room_uuid = 'maths'`)
  await db.rows(
    `update classroom.room set verified_at = ingest.clock() - interval '5 hours' where room_uuid = 'art'`,
  )
  await db.keepHouse()
  expect(await db.rows('select room_uuid from ingest.class_attendance')).toEqual([{ room_uuid: 'music' }])
})

const changes = [
  [
    'a coming',
    `insert into classroom.attendance select app_id, room_uuid, incarnation, 9, 0, 'eve', null, '2', null, 'enter', ${at(30)} from classroom.attendance where room_uuid = 'maths' and sequence = 1`,
    170,
  ],
  [
    'another moment of one',
    `update classroom.attendance set at = at + interval '10 minutes' where room_uuid = 'maths' and sequence = 1`,
    130,
  ],
  ['the end of one', `delete from classroom.attendance where room_uuid = 'maths' and user_uuid = 'bob'`, 120],
  [
    'another end of the class',
    `update classroom.room set ended_at = ended_at + interval '30 minutes' where room_uuid = 'maths'`,
    200,
  ],
  [
    'that the class never ended, and its room is gone',
    `update classroom.room set ended_at = null, forgotten_at = ingest.clock(), last_event_at = last_event_at + interval '1 minute' where room_uuid = 'maths'`,
    142,
  ],
] as const

it.each(changes)('%s is told at once, and kept by the next housekeeping', async (_, change, minutes) => {
  await db.keepHouse()
  await db.rows(change)
  expect((await days())[0]).toMatchObject({ minutes })
  await db.keepHouse()
  expect([(await days())[0], await kept()]).toMatchObject([{ minutes }, 3])
})

it('nothing is kept while comings and goings are on their way', async () => {
  const writer = await session(db.url)
  await writer.query(
    `begin; update classroom.attendance set at = at + interval '10 minutes' where room_uuid = 'maths' and sequence = 1`,
  )
  const keeping = db.keepHouse()
  await expect
    .poll(() =>
      db.value(
        `select count(*)::int from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
      ),
    )
    .toBe(1)
  await writer.query('commit')
  await keeping
  expect([(await days())[0], await kept()]).toMatchObject([{ minutes: 130 }, 3])
})

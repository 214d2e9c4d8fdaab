import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { Forgetting } from '../../src/postgres/forget.ts'
import { streams } from '../../src/streams/index.ts'
import { openStore, session, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore({ retention: { classroom: 400 * 86_400_000 } })
})
afterAll(() => db.close())

const day = '2026-02-02'
const at = (minutes: number) => `timestamptz '${day} 09:00Z' + interval '${minutes} minutes'`

/** Two of Monday and one of the Monday after it, ended; ann comes to all of them, bob twice to the first. */
beforeEach(async () => {
  await db.setTime('2026-02-10T12:00:00Z')
  await db.rows(`
    delete from classroom.attendance; delete from classroom.room; delete from ingest.day_attendance;
    delete from ingest.changed_attendance; update ingest.app set time_zone = 'UTC';
    insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at, verified_at)
    select 'school', room, 1, 2, ${at(0)} + later, ${at(60)} + later, ${at(0)} + later, ${at(60)} + later, ${at(60)} + later
    from (values ('maths', interval '0'), ('art', '2 hours'), ('music', '7 days')) r(room, later);
    insert into classroom.attendance (app_id, room_uuid, incarnation, sequence, ordinal, user_uuid, role, action, at)
    select 'school', r.room_uuid, 1, c.n, 0, c.who, c.role, c.action, r.started_at + c.minute * interval '1 minute'
    from classroom.room r
    join (values (1, 'ann', '2', 'enter', 0), (2, 'mr x', '1', 'enter', 1), (3, 'bob', '2', 'enter', 5), (4, 'bob', '2', 'leave', 15),
                 (5, 'bob', '2', 'enter', 50)) c(n, who, role, action, minute) on c.who <> 'bob' or r.room_uuid = 'maths'`)
})

/** Classes of days that are kept. */
const kept = async () => Number(await db.value('select coalesce(sum(classes), 0) from ingest.day_attendance'))
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

it('what is kept of days that are over says the same as the comings and goings of their classes', async () => {
  expect([await days(), await weeks(), await kept()]).toEqual([expectedDays, expectedWeeks, 0])
  await db.keepHouse()
  expect([await days(), await weeks(), await kept()]).toEqual([expectedDays, expectedWeeks, 3])
  // It is what is asked: a mistake in it is seen.
  await db.rows(`update ingest.day_attendance set seconds = 0 where begins_at = '2026-02-09'`)
  expect([(await days())[1], (await weeks())[1]]).toMatchObject([{ minutes: 0 }, { minutes: 0 }])
})

it('nothing is kept of a day that was over hours ago at most', async () => {
  await db.setTime('2026-02-10T05:00:00Z')
  await db.keepHouse()
  expect(await kept()).toBe(2)
  await db.setTime('2026-02-10T07:00:00Z')
  await db.keepHouse()
  expect(await kept()).toBe(3)
})

const another = (room: string, began: string) => `
  insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at)
  select app_id, '${room}', 1, 2, ${began}, ${began} + interval '1 hour', ${began}, ${began} + interval '1 hour'
  from classroom.room where room_uuid = 'maths'`
const changes = [
  [
    'a coming',
    `insert into classroom.attendance select app_id, room_uuid, incarnation, 9, 0, 'eve', null, '2', null, 'enter', ${at(30)} from classroom.attendance where room_uuid = 'maths' and sequence = 1`,
    { minutes: 170 },
  ],
  [
    'another moment of one',
    `update classroom.attendance set at = at + interval '10 minutes' where room_uuid = 'maths' and sequence = 1`,
    { minutes: 130 },
  ],
  [
    'the end of one',
    `delete from classroom.attendance where room_uuid = 'maths' and user_uuid = 'bob'`,
    { minutes: 120 },
  ],
  [
    'who is forgotten',
    `update classroom.attendance set user_uuid = 'forgotten' where user_uuid = 'ann' and room_uuid = 'maths'`,
    { students: 3, visits: 3 },
  ],
  [
    'another end of the class',
    `update classroom.room set ended_at = ended_at + interval '30 minutes' where room_uuid = 'maths'`,
    { minutes: 200 },
  ],
  [
    'that the class never ended, and its room is gone',
    `update classroom.room set ended_at = null, forgotten_at = ingest.clock(), last_event_at = last_event_at + interval '1 minute' where room_uuid = 'maths'`,
    { minutes: 142 },
  ],
  [
    'a later sign of life of a room that is gone',
    `update classroom.room set ended_at = null, valid_to = ingest.clock() where room_uuid = 'maths';
     update classroom.room set last_event_at = last_event_at + interval '2 minutes' where room_uuid = 'maths'`,
    { minutes: 144 },
  ],
  ['a class that is met late', another('late', at(180)), { classes: 3, minutes: 140 }],
  [
    'a class that is gone',
    `delete from classroom.attendance where room_uuid = 'maths'; delete from classroom.room where room_uuid = 'maths'`,
    { classes: 1, minutes: 60 },
  ],
  [
    'a class that began on another day',
    `update classroom.room set started_at = started_at - interval '1 day' where room_uuid = 'maths'`,
    { day: '2026-02-01', classes: 1, minutes: 80 },
  ],
  [
    'another time zone of the school',
    `insert into ingest.app (app_id, time_zone) values ('school', 'Pacific/Kiritimati') on conflict (app_id) do update set time_zone = excluded.time_zone`,
    { day, classes: 1, minutes: 80 },
  ],
] as const

it.each(changes)('%s is told at once, and kept by the next housekeeping', async (_, change, told) => {
  await db.keepHouse()
  await db.rows(change)
  expect((await days())[0]).toMatchObject(told)
  await db.keepHouse()
  expect((await days())[0]).toMatchObject(told)
  expect(
    await db.value(
      'select count(*)::int from ingest.class_day where not is_kept and ends_at < ingest.clock() - $1::interval',
      ['6 hours'],
    ),
  ).toBe(0)
})

it('a day on which nothing changed stays as it was kept', async () => {
  await db.keepHouse()
  await db.rows(`update ingest.day_attendance set seconds = 0`)
  await db.rows(
    `update classroom.room set verified_at = ingest.clock(), state = 3, last_event_at = ingest.clock()`,
  )
  expect(await days()).toMatchObject([{ minutes: 0 }, { minutes: 0 }])
})

const later = `update classroom.attendance set at = at + interval '10 minutes' where room_uuid = 'maths' and sequence = 1`

const emptied = () => db.rows('select room_uuid from classroom.room where emptied_at is not null order by 1')

it('what is kept of a day stays when its classes are emptied, which is no change of them', async () => {
  await db.keepHouse()
  await db.setTime('2027-03-11T12:00:00Z')
  await db.keepHouse()
  expect(await emptied()).toEqual([{ room_uuid: 'art' }, { room_uuid: 'maths' }])
  await db.keepHouse()
  expect([await days(), await weeks(), await kept()]).toEqual([expectedDays, expectedWeeks, 3])
})

it('what is kept of a day stays when only some of its classes are emptied, whatever changes of the others', async () => {
  await db.keepHouse()
  // 400 days after the first class, and before that is true of the second.
  await db.setTime('2027-03-09T11:00:00Z')
  await db.keepHouse()
  expect(await emptied()).toEqual([{ room_uuid: 'maths' }])
  await db.rows(
    `update classroom.attendance set user_uuid = 'forgotten' where user_uuid = 'ann' and room_uuid = 'art'`,
  )
  expect((await days())[0]).toEqual(expectedDays[0])
  await db.setTime('2027-03-11T12:00:00Z')
  await db.keepHouse()
  expect((await emptied()).length).toBe(2)
  expect((await days())[0]).toEqual(expectedDays[0])
})

it('whoever is forgotten cannot be looked for in what is kept, and counts as before', async () => {
  await db.keepHouse()
  await db.setTime('2027-03-11T12:00:00Z')
  await db.keepHouse()
  const forgetting = new Forgetting(db.pool, { chat: 'on', names: 'on' }, Object.values(streams))
  await forgetting.forget({ app: 'school', kind: 'user', id: 'ann' })
  const hashes = (who: string) =>
    db.value(
      'select count(*)::int from ingest.day_attendance where hashtextextended($1, 0) = any (students)',
      [who],
    )
  expect([await hashes('ann'), await hashes('bob')]).toEqual([0, 1])
  expect((await days())[0]).toEqual(expectedDays[0])
})

it('a day on which something changed is reckoned before its classes are emptied', async () => {
  await db.keepHouse()
  await db.rows(later)
  await db.setTime('2027-03-11T12:00:00Z')
  const writer = await session(db.url)
  await writer.query(`begin; select ingest.note_attendance('school', 'maths', 1, ${at(0)})`)
  await db.keepHouse()
  expect(await emptied()).toEqual([])
  await writer.query('commit')
  await db.keepHouse()
  expect([(await days())[0], (await emptied()).length]).toMatchObject([{ minutes: 130 }, 2])
  await db.keepHouse()
  expect((await days())[0]).toMatchObject({ minutes: 130 })
})

it('an app is left alone while comings and goings are on their way, and others are not', async () => {
  await db.rows(another('theirs', at(0)).replace('select app_id', `select 'another school'`))
  const writer = await session(db.url)
  await writer.query(`begin; ${later}`)
  await db.keepHouse()
  expect(await db.rows('select distinct app_id from ingest.day_attendance')).toEqual([
    { app_id: 'another school' },
  ])
  await writer.query('commit')
  await db.keepHouse()
  expect([(await days())[0], await kept()]).toMatchObject([{ minutes: 130 }, 4])
})

it('who comes while it is kept is told afterwards', async () => {
  const keeper = await session(db.url)
  await keeper.query(`begin; select ingest.keep_attendance('2026-02-09', 100)`)
  const writing = db.rows(later)
  await expect
    .poll(() =>
      db.value(
        `select count(*)::int from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
      ),
    )
    .toBe(1)
  await keeper.query('commit')
  await writing
  expect([(await days())[0], await kept()]).toMatchObject([{ minutes: 130 }, 2])
})

it('two who change classes of the same days wait for nobody', async () => {
  await db.keepHouse()
  const [one, other] = [await session(db.url), await session(db.url)]
  await one.query(`begin; ${later}`)
  await other.query(`begin; update classroom.attendance set at = at + interval '10 minutes' where room_uuid = 'music' and sequence = 1;
    update classroom.attendance set at = at + interval '10 minutes' where room_uuid = 'art' and sequence = 1`)
  await other.query('commit')
  await one.query(
    `update classroom.room set ended_at = ended_at + interval '1 minute' where room_uuid = 'maths'; commit`,
  )
  expect(await days()).toMatchObject([{ minutes: 122 }, { minutes: 50 }])
})

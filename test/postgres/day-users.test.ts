import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { openStore, session, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore({ retention: { calls: 400 * 86_400_000 } })
})
afterAll(() => db.close())

const monday = '2026-02-02'
const tuesday = '2026-02-03'

/** Two calls of Monday, to both of which ann came, one of Tuesday, and one of Wednesday. */
beforeEach(async () => {
  await db.setTime('2026-02-10T12:00:00Z')
  await db.rows(`
    truncate analytics.call, analytics.call_summary, ingest.day_users, ingest.changed_users;
    insert into analytics.call (app_id, call_id, created_at, destroyed_at)
    select 'school', c.call, c.at, c.at + interval '1 hour'
    from (values ('maths', timestamptz '${monday} 09:00Z'), ('art', '${monday} 23:30Z'), ('music', '${tuesday} 00:00Z'),
                 ('sport', '2026-02-04 08:00Z')) c(call, at);
    insert into analytics.call_summary (app_id, call_id, persons)
    values ('school', 'maths', '{ann,bob}'), ('school', 'art', '{ann,cid}'), ('school', 'music', '{ann}'), ('school', 'sport', '{dee}')`)
})

const between = (from: string, to: string) =>
  db.value(`select analytics.users_between('school', '${from}', '${to}')::int`)
const usersOf = (day: string) =>
  db.value(
    `select analytics.users_between('school', '${day} 00:00Z', timestamptz '${day} 00:00Z' + interval '24 hours')::int`,
  )
const kept = () =>
  db.rows(
    `select to_char(begins_at at time zone 'UTC', 'YYYY-MM-DD') as day, users::int from ingest.day_users order by 1`,
  )
const asCounted = [
  { day: monday, users: 3 },
  { day: tuesday, users: 1 },
  { day: '2026-02-04', users: 1 },
]

it('says what is kept of a day that is over, and counts whatever is no whole day', async () => {
  expect([await usersOf(monday), await usersOf(tuesday), await kept()]).toEqual([3, 1, []])
  await db.keepHouse()
  expect([await usersOf(monday), await usersOf(tuesday), await kept()]).toEqual([3, 1, asCounted])
  // It is what is asked: a mistake in it is seen.
  await db.rows(`update ingest.day_users set users = 99`)
  expect(await usersOf(monday)).toBe(99)
  expect(await between(`${monday} 00:00Z`, `${monday} 12:00Z`)).toBe(2)
  expect(await between(`${monday} 00:00Z`, `${tuesday} 00:00:01Z`)).toBe(3)
})

it('means a day of 24 hours, in whatever zone the clocks of who asks are changed on it', async () => {
  await db.rows(`update analytics.call set created_at = '2025-10-26 09:00Z' where call_id = 'maths'`)
  await db.keepHouse()
  await db.rows(`update ingest.day_users set users = 99`)
  const berlin = await session(db.url)
  await berlin.query(`set time zone 'Europe/Berlin'`)
  const { rows } = await berlin.query(
    `select analytics.users_between('school', '2025-10-26 00:00Z', '2025-10-27 00:00Z')::int as users`,
  )
  expect(rows).toEqual([{ users: 99 }])
})

it('keeps nothing of a day that was over hours ago at most', async () => {
  await db.setTime('2026-02-05T05:00:00Z')
  await db.keepHouse()
  expect(await kept()).toEqual(asCounted.slice(0, 2))
})

it.each([
  [
    'its users are others',
    `update analytics.call_summary set persons = '{ann,eve,bob}' where call_id = 'maths'`,
    [4, 1],
  ],
  [
    'it is summed up at last',
    `insert into analytics.call (app_id, call_id, created_at) values ('school', 'late', '${tuesday} 10:00Z');
     insert into analytics.call_summary (app_id, call_id, persons) values ('school', 'late', '{eve}')`,
    [3, 2],
  ],
  [
    'it turns out to have begun on another day',
    `update analytics.call set created_at = '${tuesday} 00:10Z' where call_id = 'art'`,
    [2, 2],
  ],
  ['retention took it', `delete from analytics.call_summary where call_id = 'art'`, [2, 1]],
])('counts a day anew whose call changed: %s', async (_, change, expected) => {
  await db.keepHouse()
  await db.rows(change)
  expect([await usersOf(monday), await usersOf(tuesday)]).toEqual(expected)
  await db.keepHouse()
  expect((await kept()).map(({ users }) => users)).toEqual([...expected, 1])
  expect(await db.rows('select call_id from ingest.changed_users')).toEqual([])
})

it('notes nothing of a call whose users stay, nor of one whose day is not kept', async () => {
  await db.rows(`update analytics.call_summary set persons = '{zoe}' where call_id = 'sport'`)
  await db.keepHouse()
  await db.rows(
    `update analytics.call_summary set samples = 5; update analytics.call set destroyed_at = created_at`,
  )
  expect(await db.rows('select call_id from ingest.changed_users')).toEqual([])
})

it('keeps days before those that are kept, of calls that came later, and leaves none out', async () => {
  await db.keepHouse()
  await db.rows(`
    insert into analytics.call (app_id, call_id, created_at) values ('school', 'older', '2026-01-25 10:00Z');
    insert into analytics.call_summary (app_id, call_id, persons) values ('school', 'older', '{eve}')`)
  expect(await db.value(`select ingest.keep_users('2026-02-09', 3)`)).toBe(3)
  expect((await kept()).map(({ day }) => day)).toEqual([
    ...['2026-01-30', '2026-01-31', '2026-02-01'],
    ...asCounted.map(({ day }) => day),
  ])
  await db.keepHouse()
  const days = (await kept()).map(({ day }) => day)
  expect([days[0], days.length]).toEqual(['2026-01-25', 11])
  expect(await db.value(`select ingest.keep_users('2026-02-09', 100)`)).toBe(0)
})

it('leaves an app alone while calls of it are on their way', async () => {
  await db.keepHouse()
  const writer = await session(db.url)
  await writer.query(
    `begin; update analytics.call_summary set persons = '{eve,ann,bob}' where call_id = 'maths';
     update analytics.call_summary set persons = '{fay}' where call_id = 'sport'`,
  )
  await db.keepHouse()
  expect([await usersOf(monday), await kept()]).toEqual([3, asCounted])
  await writer.query('commit')
  expect(await usersOf(monday)).toBe(4)
  await db.keepHouse()
  expect((await kept()).map(({ users }) => users)).toEqual([4, 1, 1])
})

it('tells afterwards who changed while it was kept', async () => {
  const keeper = await session(db.url)
  await keeper.query(`begin; select ingest.keep_users('2026-02-09', 100)`)
  const writing = db.rows(
    `update analytics.call_summary set persons = '{eve,ann,bob}' where call_id = 'maths'`,
  )
  await expect
    .poll(() =>
      db.value(
        `select count(*)::int from pg_stat_activity where wait_event = 'advisory' and datname = current_database()`,
      ),
    )
    .toBe(1)
  await keeper.query('commit')
  await writing
  expect(await usersOf(monday)).toBe(4)
})

it('has two who sum up calls of the same days wait for nobody', async () => {
  await db.keepHouse()
  const [one, other] = [await session(db.url), await session(db.url)]
  const change = (call: string) =>
    `update analytics.call_summary set persons = '{zoe}' where call_id = '${call}'`
  await one.query(`begin; ${change('maths')}`)
  await other.query(`begin; ${change('music')}; ${change('art')}; commit`)
  await one.query(`${change('sport')}; commit`)
  expect([await usersOf(monday), await usersOf(tuesday)]).toEqual([1, 1])
})

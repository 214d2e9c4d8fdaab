import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../support/databases.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { connectAs } from './filled.ts'

let database: TestDatabase
let client: pg.Client

/** A year and more, on each day of which are 10 calls of 10 minutes, with 4 people who stay for 5. */
const manyDays = `
  insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at)
  select 'usage', 'call-' || d || '-' || n, 'hall', t.at, t.at + interval '10 minutes'
  from generate_series(0, 399) d cross join generate_series(0, 9) n
  cross join lateral (select timestamptz '2025-01-01' + d * interval '1 day' + n * interval '1 hour' as at) t;
  insert into analytics.call_session (app_id, call_id, sid, uid, joined_at, left_at)
  select c.app_id, c.call_id, c.call_id || s, s, c.created_at, c.created_at + interval '5 minutes'
  from analytics.call c cross join generate_series(1, 4) s;
  insert into analytics.usage_insight (app_id, metric, granularity, at, value, fetched_at)
  select 'usage', m, 'day', timestamptz '2025-01-01' + d * interval '1 day', d, '2026-03-01'
  from generate_series(0, 400) d cross join unnest(array['userCount', 'channelCount']) m;
  select analytics.summarize_tried('usage', array_agg(call_id)) from analytics.call;
  analyze analytics.call, analytics.call_session, analytics.usage_insight`

beforeAll(async () => {
  database = await cloneDatabase()
  client = await connectAs(database.url)
  await client.query(manyDays)
})

afterAll(async () => {
  await client?.end()
  await database?.drop()
})

interface Plan {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Plan[]
}

/** Rows that a plan looked at in tables and indexes. */
function rowsRead(plan: Plan): number {
  const {
    Plans = [],
    'Rows Removed by Filter': filtered = 0,
    'Rows Removed by Index Recheck': rechecked = 0,
  } = plan
  const isScan = /Scan$/.test(plan['Node Type'])
  const own = isScan ? (plan['Actual Rows'] + filtered + rechecked) * plan['Actual Loops'] : 0
  return Plans.reduce((sum, part) => sum + rowsRead(part), own)
}

describe('usage by day', () => {
  const asked = `from analytics.usage_by_day where app_id = 'usage' and day between '2025-06-01' and '2025-06-02'`

  it('adds up what is of each day', async () => {
    const { rows } = await client.query(`select * ${asked} order by day`)
    const day = { calls: 10, call_minutes: 100, users: 4, sessions: 40, user_minutes: 200 }
    expect(rows).toMatchObject([
      { ...day, reported: { userCount: 151, channelCount: 151 } },
      { ...day, reported: { userCount: 152, channelCount: 152 } },
    ])
  })

  it('reads no more than what is of the days that are asked for', async () => {
    const { rows } = await client.query<{ 'QUERY PLAN': readonly { readonly Plan: Plan }[] }>(
      `explain (analyze, timing off, format json) select * ${asked}`,
    )
    const read = rowsRead(rows[0]!['QUERY PLAN'][0]!.Plan)
    // 20 calls, once for themselves and once for their 80 sessions, and 4 insights; all that is there is 20,802 rows.
    expect(read).toBeGreaterThan(100)
    expect(read).toBeLessThan(400)
  })
})

describe('users between two moments', () => {
  const asked = 'select analytics.users_between($1, $2, $3)::int as users'

  it.each([
    ['one hour of a day', '2025-06-01T03:00:00Z', '2025-06-01T04:00:00Z', 4],
    ['a year, each user once', '2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z', 4],
    [
      'from the moment of a call until before that of the next',
      '2025-06-01T09:00:00Z',
      '2025-06-02T00:00:00Z',
      4,
    ],
    ['from after a call until the moment of the next', '2025-06-01T09:00:01Z', '2025-06-02T00:00:00Z', 0],
  ])('counts those of %s', async (_, from, to, users) => {
    expect((await client.query(asked, ['usage', from, to])).rows).toEqual([{ users }])
  })

  it('counts nobody of another app', async () => {
    const year = ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z']
    expect((await client.query(asked, ['other', ...year])).rows).toEqual([{ users: 0 }])
  })
})

import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectAs } from '../sql-cookbook/filled.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { writableSamples } from '../support/samples.ts'
import { askSql, choose, momentOf } from './ask.ts'
import { panelsOf, readDashboards } from './files.ts'

const dashboards = readDashboards()
const now = Date.parse('2026-03-31T12:00:00Z')
const day = 86_400_000

/** A class of an hour with a call in which one was measured, so many days before now. */
function classOf(room: string, daysAgo: number): string {
  const begin = new Date(now - daysAgo * day).toISOString()
  return `
    insert into classroom.room (app_id, room_uuid, incarnation, state, started_at, ended_at, valid_from, last_event_at)
    select 'school', '${room}', 1, 2, t, t + interval '1 hour', t, t + interval '1 hour' from (values ('${begin}'::timestamptz)) v(t);
    insert into analytics.call (app_id, call_id, cname, created_at, destroyed_at, finished)
    select 'school', '${room}', '${room}', t, t + interval '1 hour', true from (values ('${begin}'::timestamptz)) v(t);
    insert into analytics.call_session (app_id, call_id, sid, cname, uid, joined_at, left_at, finished)
    select 'school', '${room}', 's', '${room}', 'u', t, t + interval '1 hour', true from (values ('${begin}'::timestamptz)) v(t);
    insert into analytics.session_metric (app_id, call_id, sid, peer_uid, mid, at, value)
    select 'school', '${room}', 's', '0', 20016, '${begin}'::timestamptz + n * interval '2 seconds', 20 from generate_series(1, 9) n;`
}

describe('what the dashboards choose', () => {
  let database: TestDatabase
  let client: pg.Client
  beforeAll(async () => {
    database = await cloneDatabase()
    client = await connectAs(database.url)
    await client.query(`${writableSamples};
      ${classOf('before', 7.5)} ${classOf('across', 7.02)} ${classOf('within', 6)}
      insert into analytics.call_summary (app_id, call_id) select app_id, call_id from analytics.call;
      select analytics.summarize(app_id, array[call_id]) from analytics.call;
      insert into ingest.app (app_id) values ('school'), ('numbers') on conflict do nothing;
      insert into ingest.progress (app_id, stream, series) values ('school', 'calls', ''), ('numbers', 'realtime-quality', 'q')`)
  })
  afterAll(async () => {
    await client?.end()
    await database?.drop()
  })

  it.each(['usage', 'call-quality'])('%s offers an app of which nothing but numbers is read', async name => {
    const dashboard = dashboards[name]!
    expect(await choose(client, dashboard, momentOf(dashboard, now, 30 * day))).toMatchObject({
      app: ['numbers', 'school'],
    })
  })

  it('usage tells such an app in its table', async () => {
    const panel = panelsOf(dashboards.usage!).find(({ title }) => title === 'Apps')!
    const values = { app: ['numbers', 'school'] }
    const { rows } = await askSql(
      client,
      panel.targets![0]!.rawSql!,
      values,
      momentOf(dashboards.usage!, now),
    )
    expect(rows.map(([app]) => app).sort()).toEqual(['numbers', 'school'])
  })

  it('of a month the last week of classes, as it says', async () => {
    const panel = panelsOf(dashboards['call-quality']!).find(
      ({ title }) => title === 'Classes, the worst first',
    )!
    const moment = momentOf(dashboards['call-quality']!, now, 30 * day)
    const { rows } = await askSql(client, panel.targets![0]!.rawSql!, { app: ['school'] }, moment)
    expect(rows.map(([room]) => room).sort()).toEqual(['across', 'within'])
  })
})

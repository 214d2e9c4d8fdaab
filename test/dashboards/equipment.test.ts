import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectAs } from '../sql-cookbook/filled.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { writableSamples } from '../support/samples.ts'
import { askSql, momentOf } from './ask.ts'
import { panelsOf, readDashboards } from './files.ts'

const dashboard = readDashboards()['call-quality']!
const begin = Date.parse('2026-03-04T10:00:00Z')
const loss = 20016
const roundTrip = 20022

describe('quality by network', () => {
  let database: TestDatabase
  let client: pg.Client
  beforeAll(async () => {
    database = await cloneDatabase()
    client = await connectAs(database.url)
    await client.query(writableSamples)
  })
  afterAll(async () => {
    await client?.end()
    await database?.drop()
  })

  /** A stay of ten minutes over WiFi, and so many equal values of a metric. */
  async function addStay(
    app: string,
    sid: string,
    uid: string | null,
    values: readonly (readonly [mid: number, value: number, times: number])[],
  ): Promise<void> {
    await client.query(
      `insert into analytics.call_session (app_id, call_id, sid, cname, uid, network, joined_at, left_at, finished)
       values ($1, 'c', $2, 'r', $3, 'WiFi', to_timestamp($4), to_timestamp($4 + 600), true)`,
      [app, sid, uid, begin / 1_000],
    )
    for (const [mid, value, times] of values)
      await client.query(
        `insert into analytics.session_metric (app_id, call_id, sid, peer_uid, mid, at, value)
         select $1, 'c', $2, '0', $3, to_timestamp($4::double precision + n), $5 from generate_series(1, $6::int) n`,
        [app, sid, mid, begin / 1_000, value, times],
      )
  }

  it('counts users of every app, and means over all values of the metric', async () => {
    await addStay('day', 's1', 'u1', [
      [loss, 9, 10],
      [roundTrip, 100, 90],
    ])
    await addStay('day', 's2', 'u1', [
      [loss, 1, 30],
      [roundTrip, 300, 10],
    ])
    await addStay('evening', 's3', 'u1', [[loss, 1, 10]])
    await addStay('evening', 's4', null, [[roundTrip, 100, 1]])
    await client.query(`
      insert into analytics.call (app_id, call_id, created_at, destroyed_at, finished)
      select app_id, call_id, min(joined_at), max(left_at), true from analytics.call_session group by 1, 2;
      insert into analytics.call_summary (app_id, call_id) select app_id, call_id from analytics.call;
      select analytics.summarize(app_id, array[call_id]) from analytics.call`)
    const panel = panelsOf(dashboard).find(({ title }) => title === 'By network')!
    const values = { app: ['day', 'evening'] }
    const { columns, rows } = await askSql(
      client,
      panel.targets![0]!.rawSql!,
      values,
      momentOf(dashboard, begin + 3_600_000),
    )
    const [row] = rows.map(row => Object.fromEntries(columns.map(({ name }, n) => [name, row[n]])))
    expect(rows).toHaveLength(1)
    expect(row).toMatchObject({ Network: 'WiFi', Stays: '4', Users: '3' })
    // (10 * 9 + 30 * 1 + 10 * 1) / 50, and (90 * 100 + 10 * 300 + 100) / 101.
    expect(row!['Audio loss']).toBeCloseTo(2.6, 9)
    expect(row!['Round trip']).toBeCloseTo(12_100 / 101, 9)
  })
})

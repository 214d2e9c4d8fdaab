import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../src/postgres/connect.ts'
import { readStatus, readStoreGauges } from '../../src/postgres/status.ts'
import { fillPast } from '../support/years.ts'
import { app, me, openStore, roomStreams, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.discoverRooms(me, app, ['now', 'then'])
  for (const stream of roomStreams) await db.store.follow(me, app, stream, 'now')
})
afterAll(() => db.close())

/** Rows and entries of indexes that Postgres looks at for `ask`, all tables together. */
async function looked(ask: (pool: ReturnType<typeof connect>) => Promise<unknown>): Promise<number> {
  const pool = connect({ ...db.connection, poolSize: 1 })
  try {
    await pool.query('begin')
    await ask(pool)
    const { rows } = await pool.query<{ looked: number }>(`
      select sum(pg_stat_get_xact_tuples_returned(c.oid) + pg_stat_get_xact_tuples_fetched(c.oid))::int as looked
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('ingest', 'classroom', 'analytics', 'players')`)
    await pool.query('rollback')
    return rows[0]!.looked
  } finally {
    await pool.end()
  }
}

test('what is read for people and for metrics looks at no more rows when years have passed', async () => {
  const all = async () => [await looked(readStatus), await looked(readStoreGauges)] as const
  const [status, figures] = await all()
  await fillPast(db.rows, { rooms: 2_000, items: 3_000 })
  await db.rows('analyze')
  const later = await all()
  expect(later[0]).toBeLessThan(status + 100)
  expect(later[1]).toBeLessThan(figures + 100)
  const { streams, rooms } = await readStatus(db.pool)
  expect(rooms).toContainEqual({ app, state: 'forgotten', rooms: 2_000 })
  expect(streams.map(({ stream, closed }) => [stream, closed])).toEqual([
    ...[
      ['call-metrics', 1_500],
      ['call-sessions', 1_500],
      ['poll', 2_000],
      ['popup-quiz', 2_000],
    ],
    ...[
      ['recordings', 2_000],
      ['resources', 2_000],
      ['room-events', 2_000],
    ],
  ])
})

import { afterAll, beforeEach } from 'vitest'
import type { Retention } from '../../src/postgres/partitions.ts'
import type { Ages } from '../../src/postgres/prune.ts'
import { createStore } from '../../src/postgres/store.ts'
import { streams } from '../../src/streams/index.ts'
import { app, openStore, start, type TestStore } from './harness.ts'

export let db: TestStore

/** Gives each test of a file the same database with no partition and no value in it. */
export function useEmptyTables(): void {
  let opened: Promise<TestStore> | undefined
  beforeEach(async () => {
    opened ??= openStore()
    db = await opened
    for (const table of ['session_series', 'quality_realtime']) {
      for (const name of await partitions(table)) await db.rows(`drop table analytics.${name}`)
    }
    await db.rows('truncate analytics.session_series, analytics.quality_realtime, ingest.gap')
    await db.setTime(start)
  })
  afterAll(async () => (await opened)?.close())
}

/** Names of the partitions besides the default one, in order. */
export async function partitions(table: string): Promise<readonly string[]> {
  const found = await db.rows(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = ('analytics.' || $1)::regclass and c.relname not like '%default' order by 1`,
    [table],
  )
  return found.map(({ name }) => String(name))
}

/** Rows of these moments, and in which table each lies. */
export async function put(...times: readonly string[]): Promise<void> {
  for (const at of times) {
    await db.pool.query(
      `insert into analytics.session_series values ($1, 'c', 's', 20001, '0', $2, '{0}', '{1}') on conflict do nothing`,
      [app, at],
    )
  }
}
export const places = async () => {
  const found = await db.rows(
    `select (at at time zone 'UTC')::text as at, tableoid::regclass::text as place from analytics.session_series order by at`,
  )
  return found.map(({ at, place }) => [at, String(place).replace('analytics.session_series_', '')])
}

/** Housekeeping with the rights of the daemon; the provider says that it is this time, else that of the database. */
export async function housekeeping(retention: Retention & Ages = {}, confirmed?: number | 'nothing') {
  const settings = { streams: Object.values(streams), roomMemory: 1, sequenceScope: 'room' } as const
  const store = createStore(db.pool, { ...settings, region: () => 'ap', retention })
  const told = confirmed ?? Number(await db.value('select ingest.clock()'))
  return store.housekeeping(told === 'nothing' ? undefined : told)
}

/** Names of the partitions and the default one with the rows of each that has some. */
export async function fillings(): Promise<Readonly<Record<string, number>>> {
  const found = await db.rows(
    `select tableoid::regclass::text as place, count(*)::int as rows from analytics.session_series group by 1 order by 1`,
  )
  return Object.fromEntries(
    found.map(({ place, rows }) => [String(place).replace('analytics.session_series_', ''), Number(rows)]),
  )
}

/** So many rows of a week that has no partition yet, a minute apart. */
export const fill = (rows: number, from = start) =>
  db.rows(
    `insert into analytics.session_series
     select $1, 'c', 's', 20001, '0', $2::timestamptz + n * interval '1 minute', '{0}', array[n] from generate_series(0, $3 - 1) n`,
    [app, from, rows],
  )

/** A gap that could be repaired until an hour before the test begins. */
export const openGap = () =>
  db.rows(
    `insert into ingest.gap (app_id, stream, series, unit, sequence_from, sequence_to, reason, recoverable_until)
     values ($1, 'room-events', 'r', 'sequence', 1, 1, 'hole', $2::timestamptz - interval '1 hour')`,
    [app, start],
  )
export const gapStates = async () => (await db.rows('select state from ingest.gap')).map(({ state }) => state)

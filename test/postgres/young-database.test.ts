import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { PageCommit, Store } from '../../src/engine/ports.ts'
import { connect } from '../../src/postgres/connect.ts'
import { createStore } from '../../src/postgres/store.ts'
import {
  app,
  event,
  eventRows,
  feedPage,
  listPage,
  logPage,
  me,
  openStore,
  roomStreams,
  settings,
  type TestStore,
} from './harness.ts'

/** Rooms of the app that were met since its first pages were stored; the database has gathered no statistics meanwhile. */
const grown = 2_000

let db: TestStore
let pool: pg.Pool
let store: Store
/** How often each room was told of. */
const told = new Map<string, number>()

const log = (room: string): PageCommit => {
  const version = told.get(room) ?? 0
  told.set(room, version + 1)
  return logPage(room, version, { rows: eventRows([event(room, version + 1)]) })
}
const list = (room: string): PageCommit => listPage('poll', room, (told.get(room) ?? 1) - 1)
const ways: Readonly<Record<string, () => Promise<unknown>>> = {
  'a page of a log': () => store.commit(log('alone')),
  'a list': () => store.commit(list('alone')),
  'a page of the feed': async () => {
    const { version } = (await store.progress(app, 'app-events', ''))!
    await store.commit(feedPage(version, { rows: eventRows([event('alone', 1_000 + version)]) }))
  },
  'a group of pages': () => {
    const logs = ['one', 'two', 'three', 'four'].map(log)
    const lists = ['one', 'two', 'three', 'four'].map(list)
    return Promise.all([...logs, ...lists].map(page => store.commit(page)))
  },
}

beforeAll(async () => {
  db = await openStore()
  pool = connect({ ...db.connection, poolSize: 1 })
  store = createStore(pool, settings)
  await store.follow(me, app, 'app-events', '')
  await store.discoverRooms(me, app, ['alone', 'one', 'two', 'three', 'four'])
  for (const way of Object.values(ways)) await way()
  const names = Array.from({ length: grown }, (_, n) => `room ${n}`)
  await db.rows(
    `insert into classroom.room (app_id, room_uuid, incarnation, region, valid_from, verified_at)
     select $1, n, 1, 'ap', now(), now() from unnest($2::text[]) n`,
    [app, names],
  )
  await db.rows(
    `insert into ingest.progress (app_id, stream, series) select $1, s, n from unnest($2::text[]) n, unnest($3::text[]) s`,
    [app, names, roomStreams],
  )
})
afterAll(async () => {
  await pool.end()
  await db.close()
})

/** Entries of indexes that the database has looked at so far for rooms and for progress. */
async function looked(): Promise<number> {
  await pool.query('select pg_stat_force_next_flush()')
  const text = `select sum(idx_tup_read)::int as looked from pg_stat_all_indexes where relname in ('room', 'progress')`
  return (await db.rows(text))[0]!.looked as number
}

it.each(Object.entries(ways))('%s is stored without a look at the other rooms of its app', async (_, way) => {
  const before = await looked()
  await way()
  expect((await looked()) - before).toBeLessThan(grown / 4)
})

import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect, query } from '../../src/postgres/connect.ts'
import { storeError } from '../../src/postgres/errors.ts'
import { createStore } from '../../src/postgres/store.ts'
import { streams } from '../../src/streams/index.ts'
import {
  app,
  event,
  eventRows,
  hour,
  logPage,
  me,
  openStore,
  rowSet,
  session,
  type TestStore,
  waitingFor,
} from './harness.ts'

const room = 'r'
let db: TestStore
beforeAll(async () => {
  db = await openStore()
  await db.store.discoverRooms(me, app, [room])
})
afterAll(() => db.close())

const page = (bad: object) =>
  logPage(room, 0, { rows: eventRows([event(room, 1), { ...event(room, 2), ...bad }]) })
const cases = [
  ['a sequence above 2^63', '22003', { sequence: 2n ** 63n }],
  ['an integer above 2^31', '22003', { cmd: 2 ** 31 }],
  ['a time that is none', '22007', { at: 'yesterday noon' }],
  ['a time after the end of all time', '22008', { at: '300000-01-01T00:00:00Z' }],
  ['a key that is missing', '23502', { cmd: null }],
] as const

/** Text that the index cannot make short. */
function incompressible(length: number): string {
  let state = 1
  const unit = () => {
    state = (state * 48_271) % 2_147_483_647
    return String.fromCharCode(33 + (state % 94))
  }
  return Array.from({ length }, unit).join('')
}

describe('a value that Postgres refuses', () => {
  it.each(cases)('%s is named by its SQLSTATE %s, and nothing is written', async (_, code, bad) => {
    await expect(db.store.commit(page(bad))).rejects.toMatchObject({ name: 'RefusedRows', code })
    expect(await db.store.progress(app, 'room-events', room)).toMatchObject({ version: 0 })
    expect(await db.value('select count(*)::int from classroom.room_event')).toBe(0)
  })

  it('a name longer than an index takes is refused too', async () => {
    const following = db.store.discoverRooms(me, app, [incompressible(9_000)])
    await expect(following).rejects.toMatchObject({ name: 'RefusedRows', code: '54000' })
  })

  it('a key twice in one page is refused too, and is no outage', async () => {
    const twice = rowSet({ 'classroom.room_event': [event(room, 1), event(room, 1)] })
    await expect(db.store.commit(logPage(room, 0, { rows: twice }))).rejects.toMatchObject({
      ...{ name: 'RefusedRows', code: '21000', statement: expect.stringMatching(/^commit_/) },
    })
  })

  it('is found by a rehearsal, which writes nothing either way', async () => {
    expect(await db.store.dryRun(page({ cmd: 2 ** 31 }))).toBe(false)
    expect(await db.store.dryRun(page({}))).toBe(true)
    expect(await db.store.progress(app, 'room-events', room)).toMatchObject({ version: 0 })
    expect(await db.value('select count(*)::int from classroom.room_event')).toBe(0)
  })

  it('leaves its connection fit for the next page', async () => {
    expect(await db.store.commit(page({}))).toMatchObject({ outcome: 'committed' })
  })
})

describe('a database that is not there', () => {
  it('is an outage without a SQLSTATE when the connection is cut in the middle of a commit', async () => {
    const pool = connect({ ...db.connection, poolSize: 1 })
    const store = createStore(pool, {
      roomMemory: hour,
      streams: Object.values(streams),
      region: () => 'ap',
      sequenceScope: 'room',
    })
    const blocker = await session(db.url)
    await blocker.query('begin; lock table classroom.chat_message in access exclusive mode')
    const cut = store.commit(logPage(room, 1, { rows: eventRows([event(room, 7)]) })).catch(error => error)
    await waitingFor(blocker)
    // The socket goes, as it does when a network path dies; the database is not told why.
    for (const client of (pool as unknown as { _clients: { connection: { stream: { destroy(): void } } }[] })
      ._clients) {
      client.connection.stream.destroy()
    }
    expect(await cut).toMatchObject({
      name: 'StoreUnavailable',
      fault: { statement: expect.stringMatching(/^commit_/) },
    })
    await blocker.query('rollback')
    await pool.end()
  })

  it('is an outage with a SQLSTATE when it says why', async () => {
    const pool = connect({ ...db.connection, poolSize: 1 })
    const cut = query(pool, { text: 'select pg_sleep(60)', values: [] }).catch(error => error)
    const end = `select count(pg_terminate_backend(pid))::int from pg_stat_activity where query = 'select pg_sleep(60)'`
    while ((await db.value(end)) === 0) await Promise.resolve()
    expect(await cut).toMatchObject({ name: 'StoreUnavailable', code: '57P01' })
    await pool.end()
  })

  it('is never told in the words of the database, which print whole rows', async () => {
    const refusal = await db.pool
      .query('insert into classroom.room (app_id, region) values ($1, $2)', ['a', 'secret'])
      .catch(e => e)
    expect(refusal.detail).toContain('secret')
    expect(JSON.stringify({ ...storeError(refusal) }) + storeError(refusal).stack).not.toContain('secret')
  })
})

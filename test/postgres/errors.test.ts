import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { createStoreHealth } from '../../src/engine/health.ts'
import { StoreUnavailable } from '../../src/engine/ports.ts'
import { type ConnectOptions, connect, query } from '../../src/postgres/connect.ts'
import { createOwnership } from '../../src/postgres/ownership.ts'
import { askOf } from '../../src/postgres/replay/session.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { openStore, session, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

function pooled(more: Partial<ConnectOptions>) {
  const pool = connect({ ...db.connection, poolSize: 1, ...more })
  onTestFinished(() => pool.end())
  return pool
}

/** The line that the daemon logs of it. */
function lineOf(error: unknown): Record<string, unknown> & { readonly text: string } {
  const lines: string[] = []
  const destination = { write: (line: string) => lines.push(line) }
  const log = createLog({ level: 'info', clock: systemClock, secrets: () => [], destination })
  if (error instanceof StoreUnavailable)
    createStoreHealth({ clock: systemClock, log, meter: { storeFailed: () => {} } }, () => {}).failed(
      error.fault,
    )
  log.warn('as an error', { error })
  return { ...(JSON.parse(lines[0]!) as object), text: lines.join('') }
}

const failure = (work: Promise<unknown>) => work.then(() => undefined).catch((error: unknown) => error)

it('a statement that takes too long is named with the limit of the server', async () => {
  const slow = query(pooled({ statementTimeout: 50 }), {
    name: 'slow',
    text: 'select pg_sleep(60)',
    values: [],
  })
  expect(lineOf(await failure(slow))).toMatchObject({
    ...{ code: '57014', statement: 'slow', timeout: 'statement_timeout' },
  })
})

it('a statement that somebody cancelled met no limit', async () => {
  const slow = failure(query(pooled({}), { name: 'slow', text: 'select pg_sleep(61)', values: [] }))
  const cancel = `select count(pg_cancel_backend(pid))::int from pg_stat_activity where query = 'select pg_sleep(61)'`
  let isOver = false
  const over = slow.then(() => {
    isOver = true
  })
  // A cancellation that comes between two messages of the statement is lost: it is asked for until it worked.
  while (!isOver) await Promise.race([over, db.value(cancel)])
  expect(lineOf(await slow)).toMatchObject({ code: '57014', statement: 'slow' })
  expect(lineOf(await slow)).not.toHaveProperty('timeout')
})

it('a lock that is not had in time is named, and the table of a statement without a name', async () => {
  const blocker = await session(db.url)
  await blocker.query('begin; lock table ingest.gap')
  const text = 'with x as (select 1) select count(*) from ingest.gap'
  const waited = await failure(query(pooled({ lockTimeout: 50 }), { text, values: [] }))
  expect(lineOf(waited)).toMatchObject({
    ...{ code: '55P03', statement: 'select ingest.gap', timeout: 'lock_timeout' },
  })
  await blocker.query('rollback')
})

it('a transaction that stood open for too long is named by the statement that came too late', async () => {
  const client = await pooled({}).connect()
  const ended = new Promise(resolve => client.once('end', resolve))
  await client.query('set idle_in_transaction_session_timeout = 20')
  await client.query('begin')
  await ended
  const late = await failure(askOf(client)({ name: 'too_late', text: 'select 1', values: [] }))
  client.release(true)
  expect(lineOf(late)).toMatchObject({
    ...{ code: '25P03', statement: 'too_late', timeout: 'idle_in_transaction_session_timeout' },
  })
})

it('a database that takes the connection and says nothing is named by the limit for connections', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const url = `postgres://me@127.0.0.1:${(silent.address() as { port: number }).port}/none`
  const tried = await failure(
    query(pooled({ url, connectTimeout: 50 }), { name: 'first', text: 'select 1', values: [] }),
  )
  expect(lineOf(tried)).toMatchObject({ statement: 'first', timeout: 'connection' })
  silent.close()
})

it('an answer that does not come is named by the limit of the driver', async () => {
  const claiming = await session(db.url)
  await claiming.query(`begin; lock table ingest.replica`)
  const ownership = createOwnership({
    ...{ ...db.connection, owner: 'first', knows: () => [1], clock: systemClock, queryTimeout: 200 },
  })
  expect(lineOf(await failure(ownership.claim()))).toMatchObject({
    ...{ statement: 'select ingest.attend', timeout: 'query' },
  })
  await claiming.query('rollback')
  await ownership.close()
})

it('a connection that is refused has the word of the system', async () => {
  const url = new URL(db.url)
  url.port = '1'
  const lost = await failure(
    query(pooled({ url: url.href }), { name: 'first', text: 'select 1', values: [] }),
  )
  expect(lineOf(lost)).toMatchObject({ code: 'ECONNREFUSED', statement: 'first' })
})

it.each([
  [
    `insert into ingest.gap (app_id, stream, series, unit, reason) values ($1, 'a', 'b', 'time', null)`,
    '23502',
  ],
  ['select $1::int', '22P02'],
  [
    `do $$ begin raise 'no room for %', 'canary' using errcode = '53100', detail = 'canary' ; end $$`,
    '53100',
  ],
])('no value of a row is told: %s', async (text, code) => {
  const values = text.includes('$1') && !text.startsWith('do') ? ['canary'] : []
  const told = await failure(query(db.pool, { name: 'with_values', text, values }))
  expect(told).toMatchObject({ code })
  const { text: line } = lineOf(told)
  expect(line).toContain('with_values')
  expect(line + (told as Error).stack).not.toContain('canary')
})

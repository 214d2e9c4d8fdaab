import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type ConnectOptions,
  connect,
  findConnectionProblem,
  findSessionProblem,
} from '../../src/postgres/connect.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { createStore } from '../../src/postgres/store.ts'
import { perSecond } from '../../src/provider/limits.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../support/pgbouncer.ts'
import { debit } from './debits.ts'
import { app, event, eventRows, logPage, openStore, settings, type TestStore } from './harness.ts'

if (!hasPgbouncer) process.stderr.write('pgbouncer is not installed: poolers are not tested\n')

describe.skipIf(!hasPgbouncer)('a pooler in transaction mode', () => {
  const login = 'pooled_of_test'
  let db: TestStore
  let pooler: Pgbouncer
  let options: ConnectOptions

  beforeAll(async () => {
    db = await openStore()
    await db.rows(`drop role if exists ${login}`)
    await db.rows(`create role ${login} login password 'word' in role penstock_runtime`)
    const url = new URL(db.url)
    url.username = login
    url.password = 'word'
    pooler = await startPgbouncer(url.href)
    options = { ...db.connection, url: pooler.url, isPooled: true }
  })
  afterAll(async () => {
    await pooler?.stop()
    await db?.close()
  })

  async function problemOf(asked: ConnectOptions): Promise<string | undefined> {
    const pool = connect({ ...asked, poolSize: 1 })
    const found = await findConnectionProblem(pool)
    return await (found?.text ?? findSessionProblem(pool, asked).finally(() => pool.end()))
  }

  it('is told from a database where nobody said that it is there', async () => {
    expect(await problemOf({ ...options, isPooled: false })).toMatch(
      /^database\.url is the address of a pooler: give that of the database itself as database\.directUrl/,
    )
  })

  it('is told from a database where it drops the settings of sessions in silence', async () => {
    const lax = await startPgbouncer(db.url, { settings: ['ignore_startup_parameters = options'] })
    const found = await problemOf({ ...db.connection, url: lax.url }).finally(lax.stop)
    expect(found).toMatch(/^database\.url is the address of a pooler/)
  })

  it('is of no use before the login role has its settings, which the documents tell', async () => {
    expect(await problemOf(options)).toContain(
      '(enable_seqscan, idle_in_transaction_session_timeout, jit, lock_timeout, plan_cache_mode, statement_timeout, role): ' +
        `give them to the login role ${login}`,
    )
    const page = await readFile(new URL('../../docs/postgres.md', import.meta.url), 'utf8')
    const [, told] = /## Poolers[\s\S]*?```sql\n([\s\S]*?)```/.exec(page)!
    await db.rows(told!.replaceAll('daemon', login))
    await pooler.reconnect()
    await expect.poll(() => problemOf(options)).toBeUndefined()
    expect(await problemOf({ ...options, lockTimeout: 4_000 })).toContain('(lock_timeout)')
  })

  it('lets pages be stored together and requests be debited by more connections than it has sessions', async () => {
    const pool = connect(options)
    const store = createStore(pool, settings)
    const ledger = createLedger(pool)
    try {
      await db.rows(
        `insert into ingest.progress (app_id, stream, series) select $1, 'room-events', 'room-' || n from generate_series(1, 40) n`,
        [app],
      )
      const rooms = Array.from({ length: 40 }, (_, n) => `room-${n + 1}`)
      const pages = rooms.map(room => logPage(room, 0, { rows: eventRows([event(room, 1), event(room, 2)]) }))
      const taken = rooms.map(() => ledger.take(debit('call-search', 1, 1, { rates: [perSecond(15)] })))
      const stored = await Promise.all(pages.map(page => store.commit(page)))
      expect(new Set(stored.map(({ outcome }) => outcome))).toEqual(new Set(['committed']))
      expect((await Promise.all(taken)).filter(({ granted }) => granted === true)).toHaveLength(15)
      expect(await db.value('select count(*)::int from classroom.room_event')).toBe(80)
    } finally {
      await pool.end()
    }
  })

  it('keeps no statement of ours', async () => {
    const pool = connect(options)
    const named = { name: 'of_test', text: 'select $1::int as n', values: [1] }
    const kept = 'select count(*)::int as kept from pg_prepared_statements where name <> $1'
    await Promise.all(Array.from({ length: 20 }, () => pool.query(named)))
    const { rows } = await pool.query(kept, ['']).finally(() => pool.end())
    expect(rows).toEqual([{ kept: 0 }])
  })
})

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { connect, connectionProblem, query, readOnlyProblem } from '../../src/postgres/connect.ts'
import { askDatabase } from '../../src/postgres/status.ts'
import { openStore, start, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

async function problemWith(options: { readonly url?: string; readonly role?: string }) {
  const pool = connect({ ...db.connection, ...options, poolSize: 1 })
  return connectionProblem(pool).finally(() => pool.end())
}

it('a database that takes no rows says so, and which address is meant', async () => {
  const pool = connect({ ...db.connection, poolSize: 1 })
  expect(await readOnlyProblem(pool)).toBeUndefined()
  await pool.query('set default_transaction_read_only = on')
  const problem = await readOnlyProblem(pool, 'database.directUrl').finally(() => pool.end())
  expect(problem).toMatch(/^the database of database.directUrl takes no rows: .*read only.*disk is full$/)
})

describe('a connection', () => {
  it('has only the rights of its role', async () => {
    const { rows } = await db.pool.query('select current_user::text as role, session_user::text as login')
    expect(rows[0].role).toBe('penstock_runtime')
    expect(rows[0].login).not.toBe('penstock_runtime')
  })

  it('keeps the rights of the login where no role is named', async () => {
    const pool = connect({ ...db.connection, role: '', poolSize: 1 })
    const { rows } = await pool.query('select current_user = session_user as same').finally(() => pool.end())
    expect(rows).toEqual([{ same: true }])
  })

  it('has time limits, speaks UTC and plans once', async () => {
    const pool = connect({ ...db.connection, statementTimeout: 1_234, lockTimeout: 567, poolSize: 1 })
    const names = [
      'statement_timeout',
      'lock_timeout',
      'idle_in_transaction_session_timeout',
      'TimeZone',
      'plan_cache_mode',
    ]
    const { rows } = await pool
      .query('select current_setting(n) as value from unnest($1::text[]) n', [names])
      .finally(() => pool.end())
    expect(rows.map(({ value }) => value)).toEqual(['1234ms', '567ms', '3s', 'UTC', 'force_generic_plan'])
  })

  it('is the same for who comes every half minute, and not kept for ever', async () => {
    const pool = connect({ ...db.connection, poolSize: 1 })
    const session = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0].pid
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const first = await session()
      for (let n = 0; n < 10; n++) {
        await vi.advanceTimersByTimeAsync(30_000)
        expect(await session()).toBe(first)
      }
      await vi.advanceTimersByTimeAsync(600_000)
      expect(await session()).not.toBe(first)
    } finally {
      vi.useRealTimers()
      await pool.end()
    }
  })

  it('is looked after by the database, which would hold what a machine that is gone has locked for two hours', async () => {
    const { rows } = await db.pool.query(`
      select inet_server_addr() is null as is_local, current_setting('tcp_keepalives_idle')::int as idle,
             current_setting('tcp_keepalives_interval')::int as interval, current_setting('tcp_keepalives_count')::int as count`)
    const [{ is_local, ...told }] = rows
    expect(told).toEqual(is_local ? { idle: 0, interval: 0, count: 0 } : { idle: 10, interval: 5, count: 4 })
  })

  it('ends a statement that takes too long, as an outage and not as a fault of the rows', async () => {
    const pool = connect({ ...db.connection, statementTimeout: 50, poolSize: 1 })
    const endless = query(pool, { text: 'select pg_sleep(20)', values: [] }).finally(() => pool.end())
    await expect(endless).rejects.toMatchObject({ name: 'StoreUnavailable', code: '57014' })
  })

  it('answers next to nothing to whoever asks whether it does, unless what is needed is missing', async () => {
    await expect(askDatabase(db.connection)).resolves.toBeUndefined()
    const away = { ...db.connection, url: db.url.replace(/[^/]+$/, 'nowhere') }
    await expect(askDatabase(away)).rejects.toMatchObject({ code: '3D000' })
    const role = 'stranger_of_test'
    await db.rows(`drop role if exists ${role}`)
    await db.rows(`create role ${role}`)
    await expect(askDatabase({ ...db.connection, role })).rejects.toMatchObject({ code: '42501' })
  })

  it('takes the password of the moment, so that one that was changed keeps nobody out', async () => {
    const role = 'rotating_of_test'
    await db.rows(`drop role if exists ${role}`)
    await db.rows(`create role ${role} login password 'first'`)
    const url = new URL(db.url)
    url.username = role
    url.password = 'never used'
    let word = 'first'
    const pool = connect({
      ...db.connection,
      url: url.href,
      password: async () => word,
      role: '',
      poolSize: 1,
    })
    try {
      const ask = () => query(pool, { text: 'select session_user as role', values: [] })
      expect(await ask()).toEqual([{ role }])
      await db.rows(`alter role ${role} password 'second'`)
      await db.rows('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [role])
      await expect.poll(() => ask().catch(error => error.code)).toBe('28P01')
      word = 'second'
      expect(await ask()).toEqual([{ role }])
    } finally {
      await pool.end()
      await db.rows(`drop role ${role}`)
    }
  })

  it('reads the clock that the test set', async () => {
    const { rows } = await db.pool.query('select ingest.clock() as now')
    expect(rows).toEqual([{ now: new Date(start) }])
  })

  it('that cannot be had says why and what to do', async () => {
    const other = (change: (url: URL) => void) => {
      const url = new URL(db.url)
      change(url)
      return { url: url.href }
    }
    expect(await problemWith({})).toBeUndefined()
    expect(
      await problemWith(
        other(url => {
          url.pathname = '/nowhere'
        }),
      ),
    ).toContain('does not exist; create it')
    expect(await problemWith({ role: 'nobody_of_that_name' })).toContain('database.role does not exist')
    expect(
      await problemWith(
        other(url => {
          url.port = '1'
        }),
      ),
    ).toMatch(/^the database of database.url, [^ @]+:1, cannot be reached \(ECONNREFUSED\)$/)
  })
})

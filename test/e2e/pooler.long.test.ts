import { describe, expect, it, onTestFinished } from 'vitest'
import { ask } from '../support/embedded.ts'
import { complaint } from '../support/oracle/report.ts'
import { hasPgbouncer, startPgbouncer } from '../support/pgbouncer.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { openStage } from './stage.ts'

const second = 1_000
const login = 'daemon_of_pooler_test'

/** The settings that a pooled login needs, as docs/postgres.md tells them. */
const given = [
  ...['role = penstock_runtime', `statement_timeout = '30s'`, `lock_timeout = '5s'`, `timezone = 'UTC'`],
  ...[`idle_in_transaction_session_timeout = '3s'`, 'plan_cache_mode = force_generic_plan'],
  ...['enable_seqscan = off', 'jit = off'],
]

describe.skipIf(!hasPgbouncer)('a daemon behind a pooler with three sessions', () => {
  it('drains as without one, also when it is killed', async () => {
    const other = await cloneDatabase()
    onTestFinished(() => other.drop())
    await ask(other.url, `drop role if exists ${login}`)
    await ask(other.url, `create role ${login} login password 'word' in role penstock_runtime`)
    for (const setting of given) await ask(other.url, `alter role ${login} set ${setting}`)
    const address = (url: string, at = url) => {
      const made = new URL(at)
      Object.assign(made, { username: login, password: 'word', pathname: new URL(url).pathname })
      return made.href
    }
    const pooler = await startPgbouncer(address(other.url), { sessions: 3 })
    onTestFinished(() => pooler.stop())
    const stage = await openStage({
      seed: 'pooler',
      time: 'asked',
      database: url => ({ url: address(url, pooler.url), directUrl: address(url), poolSize: 8 }),
    })
    onTestFinished(() => stage.close())
    const killed = await stage.live(20 * second)
    // A session that the pooler has just opened has no name until somebody uses it.
    const [sessions] = await ask(
      stage.databaseUrl,
      `select count(*) filter (where application_name = 'penstock ownership')::int as ownership,
         count(*) filter (where application_name <> 'penstock ownership')::int as others
       from pg_stat_activity where usename = '${login}' and datname = current_database()`,
    )
    expect(sessions!.ownership).toBe(1)
    expect(sessions!.others).toBeGreaterThan(0)
    // Three of the pooler, and the one that reads for the status.
    expect(sessions!.others).toBeLessThanOrEqual(4)
    await killed.kill()
    const daemon = await stage.live(20 * second)
    const report = await stage.settle(60 * second)
    expect(complaint(report)).toBe('')
    expect(report.rows.room_event).toBeGreaterThan(100)
    expect(await daemon.terminate()).toBe(0)
    expect(daemon.lines.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([])
  })
})

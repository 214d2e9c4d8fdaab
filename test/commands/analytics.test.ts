import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createSandbox, demoApp, type Listening, listen, type Sandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { appSettings } from '../../src/commands/app-settings.ts'
import { loadConfig } from '../../src/config/load.ts'
import { connect } from '../../src/postgres/connect.ts'
import { windowStore } from '../../src/postgres/windows.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { penstock } from './penstock.ts'

let database: TestDatabase
let pool: pg.Pool
let sandbox: Sandbox
let provider: Listening
let folder: string

beforeAll(async () => {
  database = await cloneDatabase()
  pool = connect({ url: database.url, poolSize: 1, statementTimeout: 10_000, lockTimeout: 5_000, role: '' })
  sandbox = createSandbox({ clock: systemClock, profile: { kind: 'idle', rooms: 1 } })
  provider = await listen(sandbox)
  folder = await mkdtemp(join(tmpdir(), 'penstock-analytics-'))
})

afterAll(async () => {
  await provider.close()
  await pool.end()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() =>
  pool.query(
    'truncate ingest.debit, ingest.budget, ingest.ownership, ingest.replica, ingest.progress, ingest.work_item',
  ),
)

async function config(app: object = {}, url = provider.url) {
  const path = join(folder, 'penstock.yaml')
  const { id, uid, token, plan, rest } = demoApp
  const settings = {
    database: { url: database.url },
    provider: { classroom: { url: provider.url }, analytics: { url } },
    apps: [{ id, region: 'ap', plan, classroom: { uid, token }, rest, ...app }],
  }
  await writeFile(path, JSON.stringify(settings), { mode: 0o600 })
  return path
}

describe('check', () => {
  interface Check {
    readonly checks: readonly { readonly subject: string; readonly result: string; readonly text: string }[]
  }

  async function checked(path: string) {
    const { code, stdout } = await penstock(['check', '--config', path, '--json'])
    const { checks } = JSON.parse(stdout) as Check
    return { code, last: checks.at(-1)! }
  }

  async function debits(): Promise<readonly unknown[]> {
    const { rows } = await pool.query(
      'select limit_group, app_id, operation, settled_at is not null as settled from ingest.debit',
    )
    return rows
  }

  test('searches calls once for an app with a key, and debits what the provider counts', async () => {
    const before = sandbox.arrivals.count
    const { code, last } = await checked(await config())
    expect({ code, last }).toEqual({
      code: 0,
      last: { subject: 'app demo', result: 'ok', text: 'the call analytics service accepts the credentials' },
    })
    const asked = sandbox.arrivals.list(before, 10).map(({ operation }) => operation)
    expect(asked).toEqual(['roomEvents', 'callSearch'])
    expect(await debits()).toEqual([
      { limit_group: 'call-search', app_id: 'demo', operation: 'analytics.callSearch', settled: true },
    ])
    expect(sandbox.status().violations).toBe(0)
  })

  test('leaves no shard owned, so that a daemon may begin at once', async () => {
    await checked(await config())
    const { rows } = await pool.query(`select from ingest_jobs.job where state = 'active'`)
    expect(rows).toEqual([])
  })

  test('takes nothing away from the daemon that runs', async () => {
    await pool.query(
      `with owned as (insert into ingest.ownership select shard, 'host/1/abc', 7 from generate_series(0, 63) shard)
       insert into ingest.replica values ('host/1/abc', ingest.clock(), ingest.clock() + interval '1 hour', '{1}')`,
    )
    expect(await checked(await config())).toMatchObject({ code: 0, last: { result: 'ok' } })
    const { rows } = await pool.query('select distinct owner, epoch::int from ingest.ownership')
    expect(rows).toEqual([{ owner: 'host/1/abc', epoch: 7 }])
    expect(await debits()).toHaveLength(1)
  })

  test('does not ask where the budget is spent', async () => {
    const path = await config({ limits: { 'call-search': { perDay: 1 } } })
    expect(await checked(path)).toMatchObject({ code: 0, last: { result: 'ok' } })
    const before = sandbox.arrivals.count
    const { code, last } = await checked(path)
    expect({ code, result: last.result }).toEqual({ code: 0, result: 'warning' })
    expect(last.text).toContain('the budget of call-search is spent')
    expect(sandbox.arrivals.list(before, 10).map(({ operation }) => operation)).toEqual(['roomEvents'])
  })

  test('fails for a wrong secret or address and names the keys to look at', async () => {
    const wrong = await checked(await config({ rest: { key: demoApp.rest.key, secret: 'CANARY-secret' } }))
    expect(wrong).toMatchObject({ code: 1, last: { result: 'failed' } })
    expect(wrong.last.text).toMatch(/^call analytics: .*: look at rest\.key and rest\.secret of the app$/)
    expect(wrong.last.text).not.toContain('CANARY')
    const nowhere = await checked(await config({}, 'http://127.0.0.1:1'))
    expect(nowhere.last.text).toContain('look at provider.analytics.url')
  })
})

describe('backfill', () => {
  const day = 86_400_000
  const midnight = Math.floor(systemClock.now() / day) * day
  const dateOf = (daysAgo: number) => new Date(midnight - daysAgo * day).toISOString().slice(0, 10)

  async function backfill(
    stream: string,
    from: string,
    to: string,
    app: object = {},
    id: string = demoApp.id,
  ) {
    const range = ['--from', from, '--to', to]
    return await penstock([
      'backfill',
      '--stream',
      stream,
      '--app',
      id,
      ...range,
      '--config',
      await config(app),
    ])
  }

  async function begin(stream: string, ...series: readonly string[]): Promise<void> {
    for (const each of series) {
      await pool.query(
        `insert into ingest.progress (app_id, stream, series, backlog_from, covered, seen, lost, wanted)
           values ('demo', $1, $2, now() - interval '14 days', '{}', '{}', '{}', '{}')`,
        [stream, each],
      )
    }
  }

  async function wanted(): Promise<readonly string[]> {
    const { rows } = await pool.query<{ days: string }>(
      `select to_char(lower(wanted) at time zone 'UTC', 'YYYY-MM-DD') || ' ' || to_char(upper(wanted) at time zone 'UTC', 'YYYY-MM-DD') as days
         from ingest.progress where not isempty(wanted) order by series`,
    )
    return rows.map(({ days }) => days)
  }

  test('marks the range in every series of the stream, and says what it takes', async () => {
    await begin('usage-insight', 'userCount/hour', 'userCount/day')
    const streams = { 'usage-insight': { metrics: ['userCount'] } }
    const { code, stdout, stderr } = await backfill('usage-insight', dateOf(8), dateOf(2), { streams })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    // Six days in windows of three, by hour and by day.
    expect(stdout).toContain(
      `marked: usage-insight of app demo, ${dateOf(8)}T00:00:00Z to ${dateOf(2)}T00:00:00Z: 2 series, 4 requests or more`,
    )
    expect(stdout).toContain('`penstock status` tells what of it is still to be fetched')
    expect(await wanted()).toEqual([`${dateOf(8)} ${dateOf(2)}`, `${dateOf(8)} ${dateOf(2)}`])
  })

  test('that begins where the plan ends is not lost at once, in none of the ten series', async () => {
    const settings = await loadConfig(await config(), { env: {} })
    const { series } = appSettings(settings, settings.apps[0]!).windows['quality-insight']!
    expect(series).toHaveLength(10)
    for (const { key } of series) {
      await pool.query(
        `insert into ingest.progress (app_id, stream, series, backlog_from) values ('demo', 'quality-insight', $1, now() - interval '12 days')`,
        [key],
      )
    }
    const { code, stdout } = await backfill('quality-insight', dateOf(16), dateOf(1))
    expect(code).toBe(0)
    const fence = { shard: 0, owner: 'me', epoch: 1 }
    await pool.query(`insert into ingest.ownership values (0, 'me', 1)`)
    const store = windowStore(pool, async () => {})
    const lost: number[] = []
    const aligned: number[] = []
    for (const { key, step } of series) {
      const { rows } = await pool.query<{ begin: number }>(
        'select extract(epoch from lower(wanted))::int as begin from ingest.progress where series = $1',
        [key],
      )
      aligned.push(rows[0]!.begin % step)
      // What begins before this can certainly not be asked for any more.
      const lowerBound = Math.ceil((systemClock.now() / 1_000 - 14 * 86_400) / step) * step
      const gone = await store.expireWindows(fence, 'demo', 'quality-insight', key, lowerBound)
      lost.push(gone.lost)
    }
    expect({ lost, aligned }).toEqual({ lost: Array(10).fill(0), aligned: Array(10).fill(0) })
    expect(stdout).toMatch(/^left out: \S+ to \S+ cannot be had any more/m)
    // Of values of an hour and of a day.
    expect(stdout.match(/^left out: \S+ to \S+ expires before the daemon can ask for it/gm)).toHaveLength(2)
    // Both begin with the same midnight in the last hours of a day, and stand in one line then.
    const marked = stdout.matchAll(
      /^marked: quality-insight of app demo, .*: (\d+) series, \d+ requests or more$/gm,
    )
    expect([...marked].reduce((sum, [, count]) => sum + Number(count), 0)).toBe(10)
  })

  test('leaves out what the plan no longer serves and what it does not serve yet, and says so', async () => {
    await begin('calls', '')
    const { code, stdout } = await backfill('calls', dateOf(30), dateOf(-2))
    expect(code).toBe(0)
    const lines = stdout.split('\n')
    expect(lines[0]).toMatch(
      new RegExp(
        `^left out: ${dateOf(30)}T00:00:00Z to .* cannot be had any more: the plan premium serves the last 7 days$`,
      ),
    )
    expect(lines[1]).toMatch(
      /^left out: .* expires before the daemon can ask for it, in [\d.]+ minutes at the latest$/,
    )
    expect(lines[2]).toMatch(/^left out: .* cannot be had yet: data are served after 1 minute, /)
    expect(lines[3]).toMatch(/^marked: calls of app demo, .*: 1 series, 11 requests or more$/)
    expect((await wanted())[0]!.slice(0, 10) >= dateOf(7)).toBe(true)
  })

  test('refuses a range of which nothing can be had, and marks nothing', async () => {
    await begin('calls', '')
    const { code, stdout, stderr } = await backfill('calls', dateOf(30), dateOf(20))
    expect(code).toBe(1)
    expect(stdout).toContain('cannot be had any more')
    expect(stderr).toBe('penstock: nothing was marked: no part of the range can be had\n')
    expect(await wanted()).toEqual([])
  })

  test('has nothing to mark where no daemon has begun', async () => {
    const { code, stderr } = await backfill('calls', dateOf(3), dateOf(2))
    expect(code).toBe(1)
    expect(stderr).toContain('no daemon has begun with calls of app demo')
  })

  test('marks the details of calls that began in the range, once', async () => {
    await pool.query(`
      insert into analytics.call (app_id, call_id, cname, created_at, finished, first_seen_at, updated_at)
        values ('demo', 'c', 'algebra', '${dateOf(2)}T10:00Z', true, now(), now());
      insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, ask, state, origin)
        values ('demo', 'call-sessions', 'c', '0', '${dateOf(2)}T10:00Z', '${dateOf(2)}T11:00Z', '{}', 'done', 'live')`)
    const first = await backfill('call-sessions', dateOf(3), dateOf(1))
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toMatch(/^marked: call-sessions of app demo, .*: 1 requests or more$/m)
    const { rows } = await pool.query('select state, origin from ingest.work_item')
    expect(rows).toEqual([{ state: 'pending', origin: 'backfill' }])
    const again = await backfill('call-sessions', dateOf(3), dateOf(1))
    expect(again).toMatchObject({ code: 0, stderr: '' })
    expect(again.stdout).toContain('nothing to mark: ')
  })

  test('refuses an app that is not in the configuration, and a stream that is off', async () => {
    const unknown = await backfill('calls', dateOf(3), dateOf(2), {}, 'nobody')
    expect(unknown).toMatchObject({ code: 2 })
    expect(unknown.stderr).toBe('penstock: the configuration has no app nobody; it has demo\n')
    const off = await backfill('realtime-usage', dateOf(1), dateOf(0), {
      streams: { 'realtime-usage': 'off' },
    })
    expect(off.stderr).toBe('penstock: realtime-usage of app demo is off: the configuration says so\n')
    const plan = await backfill('usage-insight', dateOf(3), dateOf(2), { plan: 'standard' })
    expect(plan.stderr).toBe('penstock: usage-insight of app demo is off: the plan standard has no access\n')
  })

  test('shows in the status the longest backlog of a series, of how many there are, and how many calls wait', async () => {
    await pool.query(`
      insert into ingest.progress (app_id, stream, series, backlog_from, seen, lost)
        select 'demo', 'quality-insight', n::text, now() - make_interval(days => n), tstzmultirange(tstzrange(now() - interval '2 hours', null)),
               case when n = 3 then tstzmultirange(tstzrange(now() - interval '3 days', now() - interval '2 days')) else '{}' end
        from generate_series(1, 4) n;
      insert into ingest.work_item (app_id, stream, item, part, range_from, range_to, ask, state, origin)
        select 'demo', 'call-metrics', n::text, '0', now() - interval '5 days', now(), '{}', 'pending', 'live' from generate_series(1, 12) n`)
    const { stdout } = await penstock(['status', '--config', await config()])
    expect(stdout).toMatch(/^app +stream by time +backlog +longest +never read +oldest +lost$/m)
    expect(stdout).toMatch(/^demo +call-metrics +12 parts of calls +- +- +\d{4}-\S+Z +-$/m)
    expect(stdout).toMatch(/^demo +quality-insight +4 series +4 days +3 days +\d{4}-\S+Z +24 h$/m)
  })
})

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Audit } from '../../src/postgres/audit.ts'
import { execute } from '../support/databases.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { penstock } from './penstock.ts'

let database: TestDatabase
let folder: string
let config: string

beforeAll(async () => {
  database = await cloneDatabase()
  folder = await mkdtemp(join(tmpdir(), 'penstock-audit-'))
  config = join(folder, 'penstock.yaml')
  const url = 'https://provider.example'
  const players = { url, counters: 'app', limits: 'split' }
  const settings = {
    database: { url: database.url, role: 'penstock_runtime' },
    provider: { classroom: { url }, analytics: { url, counters: 'app' }, players },
    apps: [
      {
        ...{ id: '0a1b2c', region: 'ap', plan: 'standard' },
        classroom: { uid: 'u', token: 't' },
        rest: { key: 'k', secret: 's' },
      },
    ],
  }
  await writeFile(config, JSON.stringify(settings), { mode: 0o600 })
})

afterAll(async () => {
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => execute(database.url, 'truncate ingest.debit, ingest.dead_letter'))

/** Debits of call searches, so many ms apart. The plan allows one in a second. */
async function debits(apart: number, count: number): Promise<void> {
  await execute(
    database.url,
    `insert into ingest.debit (scope, limit_group, n, app_id, operation, purpose, epoch, sent_at, dead_at, settled_at)
     select '0a1b2c', 'call-search', n, '0a1b2c', 'callSearch', 'live', 1, at, at + interval '40 s', at + interval '20 ms'
     from generate_series(1, ${count}) n, lateral (select timestamptz '2026-01-05T12:00Z' + n * interval '${apart} ms' as at) s`,
  )
}

it('says that nothing is counted yet, and ends well', async () => {
  const { code, stdout } = await penstock(['audit', '--config', config])
  expect(stdout).toContain('the ledger is empty')
  expect(code).toBe(0)
})

it('shows the plan’s limits beside what was sent, and ends well while they are kept', async () => {
  await debits(1_500, 5)
  const { code, stdout } = await penstock(['audit', '--config', config])
  expect(stdout).toMatch(/^0a1b2c +call-search +5 +- +a second +1 +1 +- +kept$/m)
  expect(stdout).toMatch(/^0a1b2c +call-search +5 +- +a day +1,000 +5 +5 +kept$/m)
  expect(stdout).toContain('no request broke a limit')
  expect(code).toBe(0)
})

it('says how many requests the provider refused for a limit all the same, and what to look at', async () => {
  await debits(1_500, 5)
  await execute(
    database.url,
    `insert into ingest.dead_letter (app_id, stream, series, reason, body, occurrences, last_seen_at)
     select '0a1b2c', 'calls', '', reason, '', n, timestamptz '2026-01-05T12:00:03Z' - make_interval(secs => age)
     from (values ('time_range_limit', 30, 0), ('qps_limit', 1200, 1.1), ('malformed', 5, 0), ('no_access', 9, 60)) v(reason, n, age)`,
  )
  const { code, stdout } = await penstock(['audit', '--config', config])
  expect(stdout).toMatch(
    /^no request broke a limit as it is configured, yet the provider refused 1,230 requests for one \(qps_limit 1,200, time_range_limit 30\), the last at 2026-01-05T12:00:03\S*Z: correct `plan`/m,
  )
  expect(code).toBe(0)
  const { stdout: json } = await penstock(['audit', '--config', config, '--json'])
  expect(JSON.parse(json)).toMatchObject({
    ok: true,
    refusals: [{ reason: 'qps_limit', letters: 1_200 }, {}],
  })
})

it('ends with 1 and names the group when a limit was broken', async () => {
  await debits(400, 4)
  const { code, stdout, stderr } = await penstock(['audit', '--config', config, '--json'])
  const { ok, groups } = JSON.parse(stdout) as Audit & { readonly ok: boolean }
  expect({ ok, code }).toEqual({ ok: false, code: 1 })
  expect(groups).toMatchObject([
    {
      ...{ scope: '0a1b2c', group: 'call-search', verdict: 'broken', purposes: { live: 4 } },
      windows: [
        { window: 1, limit: 1, most: 3, verdict: 'broken' },
        { window: 86_400, limit: 1_000, most: 4, verdict: 'kept' },
      ],
    },
  ])
  expect(stderr).toContain('call-search of 0a1b2c')
})

it('counts lists of each channel against the limits of players-list, where each has a counter of its own', async () => {
  await debits(400, 4)
  await execute(database.url, `update ingest.debit set scope = '0a1b2c room 1', limit_group = 'players-list'`)
  const { code, stdout } = await penstock(['audit', '--config', config])
  expect(stdout).toMatch(/^0a1b2c room 1 +players-list +4 +- +a second +2 +3 +- +broken$/m)
  expect(code).toBe(1)
})

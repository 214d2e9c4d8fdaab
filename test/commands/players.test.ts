import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createSandbox, demoApp, type Listening, listen, type Sandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { connect } from '../../src/postgres/connect.ts'
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
  folder = await mkdtemp(join(tmpdir(), 'penstock-players-'))
})

afterAll(async () => {
  await provider.close()
  await pool.end()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => pool.query('truncate ingest.debit, ingest.budget, ingest.ownership, ingest.replica'))

async function config(app: object = {}, players: object = {}) {
  const path = join(folder, 'penstock.yaml')
  const { id, uid, token, plan, rest } = demoApp
  const settings = {
    database: { url: database.url },
    provider: { classroom: { url: provider.url }, players: { url: provider.url, ...players } },
    apps: [{ id, region: 'ap', plan, classroom: { uid, token }, rest, ...app }],
  }
  await writeFile(path, JSON.stringify(settings), { mode: 0o600 })
  return path
}

async function checked(path: string) {
  interface Found {
    readonly checks: readonly { readonly subject: string; readonly result: string; readonly text: string }[]
  }
  const { code, stdout } = await penstock(['check', '--config', path, '--json'])
  return { code, last: (JSON.parse(stdout) as Found).checks.at(-1)! }
}

async function debits(): Promise<readonly unknown[]> {
  const { rows } = await pool.query(
    'select limit_group, operation, settled_at is not null as settled from ingest.debit',
  )
  return rows
}

test.each([
  ['joint', 'players-list'],
  ['split', 'players-list-all'],
] as const)(
  'check lists one player of an app with a key, debited as the limits are read: %s',
  async (limits, group) => {
    const before = sandbox.arrivals.count
    const { code, last } = await checked(await config({}, { limits }))
    expect({ code, last }).toEqual({
      code: 0,
      last: { subject: 'app demo', result: 'ok', text: 'the cloud player service accepts the credentials' },
    })
    expect(sandbox.arrivals.list(before, 10).map(({ operation }) => operation)).toEqual([
      ...['roomEvents', 'listPlayers'],
    ])
    expect(await debits()).toEqual([{ limit_group: group, operation: 'players.listPlayers', settled: true }])
    expect(sandbox.status().violations).toBe(0)
  },
)

test('check asks no player of an app without a key', async () => {
  expect((await checked(await config({ rest: undefined }))).last.text).toContain('the classroom service')
})

test('check fails for a wrong secret or address of the players and names the keys to look at', async () => {
  const wrong = await checked(await config({ rest: { key: demoApp.rest.key, secret: 'CANARY-secret' } }))
  expect(wrong).toMatchObject({ code: 1, last: { result: 'failed' } })
  expect(wrong.last.text).toMatch(/^cloud player: .*: look at rest\.key and rest\.secret of the app$/)
  expect(wrong.last.text).not.toContain('CANARY')
  const nowhere = await checked(await config({}, { url: 'http://127.0.0.1:1' }))
  expect(nowhere.last.text).toContain('look at provider.players.url')
})

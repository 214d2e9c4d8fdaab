import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createSandbox, demoApp, type Listening, listen, type Sandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { execute } from '../support/databases.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { launch, penstock } from './penstock.ts'

let database: TestDatabase
let sandbox: Sandbox
let provider: Listening
let folder: string

beforeAll(async () => {
  database = await cloneDatabase()
  sandbox = createSandbox({ clock: systemClock })
  provider = await listen(sandbox)
  folder = await mkdtemp(join(tmpdir(), 'penstock-commands-'))
})

afterAll(async () => {
  await provider.close()
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

async function config(
  overrides: {
    readonly token?: string
    readonly url?: string
    readonly role?: string
    readonly region?: readonly string[]
    readonly timeZone?: string
  } = {},
) {
  const path = join(folder, 'penstock.yaml')
  const {
    token = demoApp.token,
    url = provider.url,
    role = 'penstock_runtime',
    region = ['ap'],
    timeZone,
  } = overrides
  const settings = {
    database: { url: database.url, role },
    http: { listen: '127.0.0.1:0' },
    provider: { classroom: { url } },
    apps: [{ id: demoApp.id, region, timeZone, plan: 'premium', classroom: { uid: demoApp.uid, token } }],
  }
  await writeFile(path, JSON.stringify(settings), { mode: 0o600 })
  return path
}

interface Check {
  readonly ok: boolean
  readonly checks: readonly { readonly subject: string; readonly result: string; readonly text: string }[]
}

async function checked(path: string): Promise<Check & { readonly code: number | null }> {
  const { code, stdout } = await penstock(['check', '--config', path, '--json'])
  return { code, ...(JSON.parse(stdout) as Check) }
}

function resultOf({ checks }: Check, subject: string): string | undefined {
  return checks.find(check => check.subject === subject)?.result
}

test('a login that may only read, or nothing at all, is told what to grant and to whom', async () => {
  const logins = { none_of_test: '', looker_of_test: 'grant penstock_read to looker_of_test' }
  const path = join(folder, 'rights.yaml')
  const said: string[] = []
  for (const [login, grant] of Object.entries(logins)) {
    await execute(
      database.url,
      `drop role if exists ${login}; create role ${login} login password 'hidden'; ${grant}`,
    )
    const url = new URL(database.url)
    Object.assign(url, { username: login, password: 'hidden' })
    for (const role of ['', 'penstock_runtime']) {
      const settings = {
        ...JSON.parse(await readFile(await config(), 'utf8')),
        database: { url: url.href, role },
      }
      await writeFile(path, JSON.stringify(settings), { mode: 0o600 })
      said.push((await penstock(['run', '--config', path])).stderr)
    }
  }
  const none =
    'penstock: none_of_test may not use the schema ingest: grant penstock_runtime to none_of_test\n'
  expect(said).toEqual([
    ...[none, none],
    'penstock: looker_of_test may not write in the schema ingest_jobs, by which processes share the work: grant penstock_runtime to looker_of_test\n',
    'penstock: looker_of_test, the user of database.url, may not take the role named in database.role: grant that to looker_of_test with set true (Postgres 15 needs the last three words left out), or leave database.role empty\n',
  ])
})

test('check passes where everything is right, consumes nothing of the feed and breaks no rule', async () => {
  const before = sandbox.arrivals.count
  const { code, stdout } = await penstock(['check', '--config', await config()])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^app demo +ok +the classroom service accepts the credentials$/m)
  expect(stdout).toMatch(/^role +ok +penstock_runtime may write rows and change no table$/m)
  const asked = sandbox.arrivals.list(before, 10).map(({ operation }) => operation)
  expect(asked).toEqual(['roomEvents'])
  expect(sandbox.status().violations).toBe(0)
})

test('check asks in each region of an app', async () => {
  const found = await checked(await config({ region: ['ap', 'eu'] }))
  expect(['ap', 'eu'].map(region => resultOf(found, `app demo in ${region}`))).toEqual(['ok', 'ok'])
})

test('check as JSON says of each part how it is', async () => {
  const found = await checked(await config())
  expect(found).toMatchObject({ code: 0, ok: true })
  expect(found.checks.map(({ subject }) => subject)).toEqual([
    'configuration',
    'configuration',
    'configuration',
    'database',
    'migrations',
    'role',
    'app demo',
  ])
  expect(found.checks.slice(1, 3).map(({ text }) => text)).toEqual([
    'call analytics is off: provider.analytics.url is not given',
    'cloud players are off: provider.players.url is not given',
  ])
})

test('check fails for a wrong token and names the keys to look at', async () => {
  const found = await checked(await config({ token: 'wrong' }))
  expect(found).toMatchObject({ code: 1, ok: false })
  expect(found.checks.at(-1)).toMatchObject({ subject: 'app demo', result: 'failed' })
  expect(found.checks.at(-1)?.text).toContain('look at classroom.uid and classroom.token')
  expect(JSON.stringify(found)).not.toContain('"wrong"')
})

test('check fails for an address where nobody is, or where something else answers', async () => {
  for (const url of ['http://127.0.0.1:1', `${provider.url}/elsewhere`]) {
    const found = await checked(await config({ url }))
    expect(found.code).toBe(1)
    expect(found.checks.at(-1)?.text).toContain('look at provider.classroom.url')
  }
})

test('check warns of a role that may change tables, and fails for one that does not exist', async () => {
  expect(resultOf(await checked(await config({ role: '' })), 'role')).toBe('warning')
  const found = await checked(await config({ role: 'nobody_of_that_name' }))
  expect(found.code).toBe(1)
  expect(resultOf(found, 'role')).toBe('failed')
})

test('check fails for a time zone that Postgres does not know, and names its place and what to do', async () => {
  const as = (condition: string) =>
    execute(
      database.url,
      `create or replace function ingest.knows_zone(p_zone text) returns boolean language sql stable as $$ select ${condition} $$`,
    )
  await as(`p_zone <> 'Asia/Kathmandu'`)
  const path = await config({ timeZone: 'Asia/Kathmandu' })
  const found = await checked(path)
  await as('true')
  expect(found.code).toBe(1)
  expect(found.checks.filter(({ result }) => result === 'failed')).toEqual([
    {
      ...{ subject: 'configuration', result: 'failed' },
      text: expect.stringMatching(
        /penstock\.yaml:1:\d+ {2}apps\[0\]\.timeZone: .*Postgres.*update its time zone data/,
      ),
    },
  ])
  expect((await checked(path)).code).toBe(0)
})

test('status of a database that nobody has drained into says so', async () => {
  const { code, stdout } = await penstock(['status', '--config', await config()])
  expect(code).toBe(0)
  expect(stdout).toContain('no daemon runs on this database')
  for (const line of ['nothing has been drained yet', 'no gaps', 'no dead letters'])
    expect(stdout).toContain(line)
  const verdict = 'STOPPED   No daemon drains this database; nothing was stored yet.'
  expect(stdout.split('\n')[0]).toBe(verdict)
  const check = await penstock(['status', '--check', '--config', await config()])
  expect(check).toEqual({ code: 1, stdout: `${verdict}\n`, stderr: '' })
})

test('status shows what is owed, gaps, dead letters and who owns, as tables and as JSON', async () => {
  await execute(
    database.url,
    `insert into ingest.progress (app_id, stream, series, updated_at)
       values ('demo', 'room-events', 'algebra', ingest.clock() - interval '3 hours 5 minutes');
     insert into ingest.gap (app_id, stream, series, unit, sequence_from, sequence_to, reason, state)
       values ('demo', 'room-events', 'algebra', 'sequence', 4, 5, 'room_forgotten', 'lost');
     insert into ingest.dead_letter (app_id, stream, series, reason, body) values ('demo', 'poll', 'algebra', 'malformed', '{');
     insert into ingest.ownership values (0, 'host/1/abc', 1);
     insert into ingest.replica values ('host/1/abc', ingest.clock(), ingest.clock() + interval '1 hour', '{1}')`,
  )
  const path = await config()
  const { stdout } = await penstock(['status', '--config', path])
  expect(stdout).toMatch(/host\/1\/abc runs and owns 1 shards/)
  expect(stdout).toMatch(/^demo +room-events +1 +0 +1 +\d{4}-\d\d-\d\dT[\d:]+Z +3 h$/m)
  expect(stdout).toMatch(/^demo +room-events +lost +room_forgotten +1 +-$/m)
  expect(stdout).toMatch(/^demo +poll +malformed +1 +\d{4}-/m)
  const { stdout: json } = await penstock(['status', '--config', path, '--json'])
  expect(JSON.parse(json)).toMatchObject({
    verdict: {
      state: 'losing',
      sentence:
        'Data was lost within the last 24 hours: 1 range of room-events (the provider forgot the room before it was read).',
    },
    running: true,
    streams: [{ app: 'demo', stream: 'room-events', open: 1, backlog: 1 }],
    gaps: [{ state: 'lost', reason: 'room_forgotten', gaps: 1 }],
    deadLetters: [{ stream: 'poll', reason: 'malformed', letters: 1 }],
  })
})

test('status --check is well while pages come', async () => {
  await execute(
    database.url,
    `delete from ingest.gap; update ingest.progress set updated_at = ingest.clock() - interval '3 seconds'`,
  )
  const { code, stdout } = await penstock(['status', '--check', '--config', await config()])
  expect([code, stdout]).toEqual([
    0,
    expect.stringMatching(
      /^WELL {6}Draining normally: last read \d+ s ago, nothing in the backlog is at risk\.\n$/,
    ),
  ])
})

test('status --watch prints the verdict where there is no terminal when its state changes, until it is stopped', async () => {
  const watching = launch(['status', '--watch', '--config', await config()])
  onTestFinished(() => void watching.process.kill('SIGKILL'))
  await watching.line(/^\d{4}-\S+Z {2}WELL {6}Draining normally/)
  await execute(database.url, 'delete from ingest.replica')
  await watching.line(/^\d{4}-\S+Z {2}STOPPED {3}No daemon drains this database/)
  watching.process.kill('SIGINT')
  expect(await watching.ended).toBe(0)
  expect(watching.lines).toHaveLength(2)
})

test('an empty database is refused by run, status and check, and prepared by migrate up', async () => {
  await execute(database.url, 'drop schema classroom, analytics, players, ingest, ingest_jobs cascade')
  const path = await config()
  const run = await penstock(['run', '--config', path])
  expect(run.code).toBe(1)
  expect(run.stderr).toMatch(
    /^penstock: the database lacks migrations \(0001-roles and \d+ more\); run `penstock migrate up` first\n$/,
  )
  expect((await penstock(['status', '--config', path])).stderr).toContain('run `penstock migrate up` first')
  expect(resultOf(await checked(path), 'migrations')).toBe('failed')
  const before = await penstock(['migrate', 'status', '--config', path])
  expect(before.stdout).toMatch(/^0003-classroom +missing$/m)

  const up = await penstock(['migrate', 'up', '--config', path])
  expect(up).toMatchObject({ code: 0, stderr: '' })
  expect(up.stdout).toMatch(/^applied 0001-roles$/m)
  const again = await penstock(['migrate', 'up', '--config', path])
  expect(again.stdout).toBe('nothing to do: the database is up to date\n')
  const after = await penstock(['migrate', 'status', '--config', path])
  expect(after.stdout).not.toContain('missing')
  expect(await checked(path)).toMatchObject({ code: 0, ok: true })
})

test('what a later release has applied is said by migrate status and check', async () => {
  await execute(database.url, `insert into ingest.migration values ('9001-later', 1, now())`)
  const path = await config()
  const { stdout } = await penstock(['migrate', 'status', '--config', path])
  expect(stdout).toMatch(/^9001-later .* of a later release$/m)
  expect(stdout).toMatch(/^1 of a later release than this program: .*$/m)
  const { stdout: said } = await penstock(['check', '--config', path])
  expect(said).toMatch(/all \d+ are applied, and 1 of a later release$/m)
  await execute(database.url, `delete from ingest.migration where name = '9001-later'`)
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { compiledOnce } from '../support/compiled.ts'
import { execute } from '../support/databases.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Ended, penstock } from './penstock.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await cloneDatabase()
  await execute(
    database.url,
    `insert into classroom.room (app_id, room_uuid, incarnation, state) values ('a', 'algebra', 1, 1), ('a', 'botany', 1, null)`,
  )
})
afterAll(() => database.drop())

const ask = (query: string, ...options: readonly string[]) =>
  penstock(['sql', query, '--url', database.url, ...options])

/** What statements on standard input answer. */
async function answersTo(statements: string): Promise<string> {
  return (await told(statements)).stdout
}

async function told(statements: string, ...options: readonly string[]): Promise<Ended> {
  const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [program, 'sql', '--url', database.url, ...options], {
    env: { PATH: process.env.PATH, ...compiledOnce },
  })
  child.stdin.end(statements)
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ])
  return { code, stdout, stderr }
}

test('sql prints what a query answers as a table, with a dash for nothing', async () => {
  const { code, stdout } = await ask('select room_uuid, state, 12345 as n from classroom.room order by 1')
  expect([code, stdout]).toEqual([
    0,
    'room_uuid  state       n\nalgebra        1  12,345\nbotany         -  12,345\n(2 rows)\n',
  ])
})

test('sql asks as a reader, whose rights are those of penstock_read', async () => {
  expect((await ask('select current_user as me')).stdout).toContain('penstock_read')
})

test('sql changes nothing unless it is told to', async () => {
  const refused = await ask(`update classroom.room set state = 2`)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toBe(
    'penstock: cannot execute UPDATE in a read-only transaction (--write allows what the login itself may)\n',
  )
  const lacking = await ask('set role penstock_read; delete from classroom.room', '--write')
  expect(lacking.stderr).toBe('penstock: statement 2, line 1: permission denied for table room\n')
  const evading = await ask(`set transaction read write; delete from classroom.room`)
  expect(evading.code).toBe(1)
  expect((await ask('update classroom.room set state = 2', '--write')).stdout).toBe('UPDATE 2\n')
})

test('sql says as whom it asked where more may be seen, and promises nothing', async () => {
  const letters = 'table ingest.dead_letter'
  const { stderr } = await ask(letters)
  expect(stderr).toBe(
    'penstock: permission denied for table dead_letter (asked as penstock_read; with --write it is the login itself)\n',
  )
  expect((await ask(letters, '--write')).code).toBe(0)
  await execute(database.url, `create role looks_on login password 'looking' in role penstock_read`)
  onTestFinished(() => execute(database.url, 'drop role looks_on'))
  const url = new URL(database.url)
  url.username = 'looks_on'
  url.password = 'looking'
  const write = await penstock(['sql', `delete from ingest.dead_letter`, '--url', url.href, '--write'])
  expect(write.stderr).toBe('penstock: permission denied for table dead_letter\n')
})

test('sql says what Postgres says of a wrong query, and shows the place', async () => {
  const { code, stderr } = await ask('select * from classroom.rooms')
  expect([code, stderr]).toEqual([
    1,
    `penstock: relation "classroom.rooms" does not exist
LINE 1: select * from classroom.rooms
                      ^
`,
  ])
})

test('sql keeps its promise to change nothing whatever is said of transactions before', async () => {
  const count = 'select count(*) from classroom.room'
  for (const evading of [
    'set default_transaction_read_only = off',
    `select set_config('default_transaction_read_only', 'off', false)`,
    'begin read write',
    'set session characteristics as transaction read write',
  ]) {
    // With the rights of the login, which may write.
    const { code, stderr } = await told(
      `reset role;\n${evading};\nset role none; create table public.evaded (); ${count}`,
    )
    expect([code, stderr], evading).toEqual([1, expect.stringContaining('read-only transaction')])
  }
})

test('sql answers each of several statements, from the command line, a file and standard input', async () => {
  const both = 'a\n1\n(1 row)\n\nb\n2\n(1 row)\n'
  const statements = `/* One; and */\nselect 1 as a; /* another;\n*/ select 2 as b`
  const folder = await mkdtemp(join(tmpdir(), 'penstock-sql-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'two.sql')
  await writeFile(file, statements)
  expect((await ask(statements)).stdout).toBe(both)
  expect((await ask('select 1 as a', '-c', 'select 2 as b')).stdout).toBe(both)
  const command = ['sql', '--url', database.url, '--command', 'select 1 as a', '-c', 'select 2 as b;']
  expect((await penstock(command)).stdout).toBe(both)
  expect((await penstock(['sql', '--url', database.url, '-f', file])).stdout).toBe(both)
  await writeFile(file, `${statements};\n\\d classroom.room\n\\q\nselect 3 as c`)
  expect((await penstock(['sql', '--url', database.url, '-f', file])).stdout).toMatch(
    /^room_uuid +text.+\(\d+ rows\)\n$/ms,
  )
  expect((await told(statements)).stdout).toBe(both)
  const json = await ask(`set timezone = 'UTC'; ${statements}`, '--json')
  expect(json.stdout).toBe('[{"a":1}]\n[{"b":2}]\n')
  expect((await penstock(['sql', '--url', database.url, '-c', '\\d classroom.room'])).stdout).toMatch(
    /^room_uuid +text/m,
  )
})

test('sql says which of several statements was refused, and where in it', async () => {
  const wrong = `select 1 as a;

select 'ü; ü' as b,
  nothing; select 2 as c`
  const refused = {
    code: 1,
    stdout: 'a\n1\n(1 row)\n',
    stderr: `penstock: statement 2, line 4: column "nothing" does not exist
LINE 4:   nothing
          ^
`,
  }
  expect(await told(wrong)).toEqual(refused)
  expect(await ask(wrong)).toEqual(refused)
  const later = await told('select 1 as a;\nselect 1 / 0;\n')
  expect(later.stderr).toBe('penstock: statement 2, line 2: division by zero\n')
  const long = await ask(`select ${'1 + '.repeat(100)}nothing${' + 1'.repeat(100)}`)
  const [, line, caret] = long.stderr.split('\n')
  expect(line!.length).toBeLessThan(120)
  expect(line!.slice(caret!.indexOf('^'))).toMatch(/^nothing /)
})

test('sql writes all that one command says, or nothing', async () => {
  const count = async () => (await ask('select count(*) as n from classroom.room', '--json')).stdout
  const before = await count()
  const insert = `insert into classroom.room (app_id, room_uuid, incarnation) values ('a', 'chemistry', 1)`
  expect((await ask(`${insert}; select 1 / 0`, '--write')).code).toBe(1)
  expect(await count()).toBe(before)
  const { stdout } = await ask(`begin; ${insert}; rollback`, '--write')
  expect(stdout).toBe('BEGIN\n\nINSERT 1\n\nROLLBACK\n')
  expect(await count()).toBe(before)
})

test('sql takes statements or a file', async () => {
  const { code, stderr } = await ask('select 1', '-f', 'x.sql')
  expect([code, stderr]).toEqual([2, 'penstock: give statements or --file, not both\n'])
})

test('sql prints JSON in which every value is what it is, to the last digit', async () => {
  const { stdout } = await ask(
    `select room_uuid, 1.5 as n, 'NaN'::float8 as no_number, true as b, null as nothing, '{"a": [1, 9007199254740993]}'::jsonb as j
     from classroom.room order by 1 limit 1`,
    '--json',
  )
  expect(JSON.parse(stdout)).toMatchObject([
    {
      room_uuid: 'algebra',
      n: 1.5,
      no_number: 'NaN',
      b: true,
      nothing: null,
      j: { a: [1, expect.anything()] },
    },
  ])
  expect(stdout).toContain('9007199254740993')
})

test('sql runs what comes on standard input, and describes tables and columns', async () => {
  const answered = await answersTo('select 1\n  as one;\n\\d\n\\d classroom.room\nselect 2 as two')
  expect(answered).toMatch(/^one\n +1\n\(1 row\)\n/)
  expect(answered).toMatch(/^classroom\.room +table +\S/m)
  expect(answered).toMatch(/^room_uuid +text +\S/m)
  expect(answered).toMatch(/two\n +2\n\(1 row\)\n$/)
})

test('sql says of a database that is not prepared what to do', async () => {
  const address = new URL(database.url)
  address.pathname = '/postgres'
  const folder = await mkdtemp(join(tmpdir(), 'penstock-sql-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const config = join(folder, 'penstock.yaml')
  await writeFile(
    config,
    `database: { url: "${address.href}" }
provider: { classroom: { url: "https://c.example.com" } }
apps: [{ id: a1, region: ap, plan: premium, classroom: { uid: u, token: t } }]`,
    { mode: 0o600 },
  )
  const { code, stderr } = await penstock(['sql', 'select 1', '--config', config])
  expect([code, stderr]).toEqual([
    1,
    'penstock: the database is not prepared: run `penstock migrate up` first\n',
  ])
})

test('sql names the address that leads nowhere as it was given', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-sql-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const config = join(folder, 'penstock.yaml')
  const nowhere = 'postgres://me@127.0.0.1:1/x'
  const app = '{ id: a, region: ap, plan: premium, classroom: { uid: u, token: t } }'
  await writeFile(
    config,
    `database: { url: "${database.url}", directUrl: "${nowhere}" }\nprovider: { classroom: { url: "https://x.example" } }\napps: [${app}]\n`,
  )
  const given = await penstock(['sql', 'select 1', '--url', nowhere])
  expect(given.stderr).toContain('the database of --url, 127.0.0.1:1, cannot be reached')
  const configured = await penstock(['sql', 'select 1', '--config', config])
  expect(configured.stderr).toContain('the database of database.directUrl, 127.0.0.1:1, cannot be reached')
})

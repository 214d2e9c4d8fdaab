import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { compiledOnce } from '../support/compiled.ts'
import { execute } from '../support/databases.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { penstock } from './penstock.ts'

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
  const program = fileURLToPath(new URL('../../src/main.ts', import.meta.url))
  const child = spawn(process.execPath, [program, 'sql', '--url', database.url], {
    env: { PATH: process.env.PATH, ...compiledOnce },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(statements)
  return await text(child.stdout)
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
  expect(refused.stderr).toMatch(
    /^penstock: .*(permission denied|read-only transaction).*--write lets it write\)\n$/,
  )
  const lacking = await ask('set role penstock_read; delete from classroom.room', '--write')
  expect(lacking.stderr).toBe('penstock: permission denied for table room\n')
  const evading = await ask(`set transaction read write; delete from classroom.room`)
  expect(evading.code).toBe(1)
  expect((await ask('update classroom.room set state = 2', '--write')).stdout).toBe('UPDATE 2\n')
})

test('sql says what Postgres says of a wrong query', async () => {
  const { code, stderr } = await ask('select * from classroom.rooms')
  expect([code, stderr]).toEqual([1, 'penstock: relation "classroom.rooms" does not exist\n'])
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

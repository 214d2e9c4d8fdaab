import { createHash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { baseline, migrateUp, ownFolder } from '../../src/postgres/migrate.ts'
import { statementsOf } from '../../src/postgres/sql-text.ts'
import type { TestDatabase } from '../support/databases.ts'
import { ask } from '../support/embedded.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { event, eventRows, logPage, openStore, session, type TestStore } from './harness.ts'
import released from './released.json' with { type: 'json' }

/**
 * What a file after the baseline may hold, so that the release before goes on beside it: what is new, and what that
 * release does not see. An index on a table that is there is made concurrently; a column has no default that a table is
 * written anew for, and none is demanded. How many processes read a table at once is a hint for the planner alone. A trigger
 * calls a function that the file makes, after what that release writes.
 */
const allowed = [
  /^create (?:unlogged )?table (?!if )/,
  /^create index concurrently if not exists \w+ on [\w.]+ /,
  /^alter table [\w.]+ add column (?:(?!,|not null|\bcheck\b|unique|primary|references|generated|default\b).)+(?:default (?:-?\d+|'[^']*'|true|false|null)(?: not null)?)?$/,
  /^alter table [\w.]+ set \(parallel_workers = \d+\)$/,
  /^create (?:or replace )?view /,
  /^create trigger \w+ after (?:insert|update|delete) on [\w.]+ /,
  /^create (?:or replace )?function /,
  /^comment on /,
  /^grant /,
]

/** Statements of a file that the release before would not survive, or that hold it up. */
function refused(text: string): readonly string[] {
  const statements = statementsOf(text).map(statement => statement.text.replaceAll(/\s+/g, ' '))
  if (statements.length === 0) return ['(nothing)']
  return statements.filter(
    statement =>
      !allowed.some(form => form.test(statement.toLowerCase())) && !isRightToNew(statement, statements),
  )
}

/** A right to a function that the file makes, which everybody has as it is made. */
function isRightToNew(statement: string, statements: readonly string[]): boolean {
  const name = /^revoke execute on function ([\w.]+) from public$/.exec(statement)?.[1]
  return name !== undefined && statements.some(other => other.startsWith(`create function ${name}(`))
}

describe('a migration after the baseline', () => {
  it('only expands, in this release', async () => {
    const files = (await readdir(ownFolder)).filter(file => file > `${baseline}.sql`)
    const found = await Promise.all(
      files.map(async file => [file, refused(await readFile(new URL(file, ownFolder), 'utf8'))] as const),
    )
    expect(found.filter(([, statements]) => statements.length > 0)).toEqual([])
  })

  it.each([
    'drop table classroom.room',
    'alter table classroom.room drop column region',
    'alter table classroom.room rename column region to area',
    'alter table classroom.room alter column region set not null',
    'alter table classroom.room add column mood text not null',
    'alter table classroom.room add column mood text default random()::text',
    'alter table classroom.room add column mood text, drop column region',
    'alter table classroom.room add column mood text check (mood <> region)',
    'alter table classroom.room add constraint known check (region is not null)',
    'create index room_mood on classroom.room (region)',
    'create unique index concurrently if not exists room_mood on classroom.room (region)',
    'create table if not exists classroom.mood (app_id text)',
    'update classroom.room set region = null',
    'do $$ begin drop table classroom.room; end $$',
    'alter table classroom.room set (autovacuum_enabled = false)',
    'truncate classroom.room',
    'create trigger grow before insert on classroom.room for each row execute function classroom.grow()',
    'revoke select on classroom.room from penstock_read',
    'revoke execute on function analytics.summarize from public',
    'set role penstock_migrate',
    '-- nothing but words',
  ])('may not hold: %s', text => {
    expect(
      refused(`comment on schema ingest is 'a; b';\n${text};`).length + refused(text).length,
    ).toBeGreaterThan(0)
  })

  it('may hold what the tests of its application hold', () => {
    expect(refused(expanding)).toEqual([])
  })
})

/** Each release: the commit that it was made of, and the SHA-256 of every migration that it brought. */
const releases: Readonly<Record<string, { readonly migrations: Readonly<Record<string, string>> }>> = released

describe('a migration that was released', () => {
  it.each(Object.keys(releases))(
    'stays as it was in %s: what is to change comes in a file after it',
    async release => {
      const { migrations } = releases[release]!
      const texts = Object.keys(migrations).map(
        async file => [file, await readFile(new URL(file, ownFolder))] as const,
      )
      const now = (await Promise.all(texts)).map(
        ([file, text]) => [file, createHash('sha256').update(text).digest('hex')] as const,
      )
      expect(Object.fromEntries(now)).toEqual(migrations)
    },
  )

  it('is named: every file of the baseline belongs to a release', async () => {
    const files = (await readdir(ownFolder)).filter(file => file <= `${baseline}.sql`)
    const named = Object.values(releases).flatMap(({ migrations }) => Object.keys(migrations))
    expect(files.filter(file => !named.includes(file))).toEqual([])
  })
})

const expanding = `
-- A thing; and another.
create table classroom.mood (app_id text not null, mood text, primary key (app_id));
create function ingest.change_mood() returns void language plpgsql as $$ begin end $$;
comment on table classroom.mood is 'Moods; all of them';
alter table classroom.room add column mood text;
alter table classroom.room add column weight integer default 0 not null;
alter table classroom.mood set (parallel_workers = 2);
create index concurrently if not exists room_mood on classroom.room (app_id, mood);
create or replace function ingest.mood_of(text) returns text language sql as $body$ select 'x; y' $body$;
revoke execute on function ingest.change_mood from public;
create or replace view classroom.moods as select app_id, mood from classroom.mood;
grant select on classroom.moods to penstock_read;`

const undo = `
  drop view classroom.moods; drop table classroom.mood; drop function ingest.mood_of; drop function ingest.change_mood;
  alter table classroom.room drop column mood, drop column weight; delete from ingest.migration where name = '9001-moods'`

const statements = 11

/** What the file makes, each of which a second time would refuse or be seen. */
const shape = `
  select 'column' as kind, table_name || '.' || column_name as name, coalesce(column_default, '') as more
  from information_schema.columns where table_schema = 'classroom' and (table_name like 'mood%' or column_name in ('mood', 'weight'))
  union all select 'index', indexrelid::regclass::text, indisvalid::text from pg_index where indrelid = 'classroom.room'::regclass
  union all select 'owner', 'mood', tableowner from pg_tables where tablename = 'mood'
  union all select 'file', name, statements || ' ' || (applied_at is not null) from ingest.migration where name > '${baseline}'
  order by 1, 2`

describe('migrations that expand', () => {
  let folder: URL
  let whole: readonly object[]

  async function fresh(): Promise<TestDatabase> {
    const database = await cloneDatabase()
    onTestFinished(() => database.drop())
    return database
  }

  beforeAll(async () => {
    const path = await mkdtemp(join(tmpdir(), 'penstock-migrations-'))
    folder = pathToFileURL(`${path}/`)
    for (const name of await readdir(ownFolder))
      await writeFile(new URL(name, folder), await readFile(new URL(name, ownFolder)))
    await writeFile(new URL('9001-moods.sql', folder), expanding)
    const database = await cloneDatabase()
    expect(await migrateUp({ url: database.url, folder })).toEqual(['9001-moods'])
    whole = await ask(database.url, shape)
    await database.drop()
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('make what they say, once, owned by the role that owns everything', () => {
    expect(whole).toContainEqual({ kind: 'file', name: '9001-moods', more: `${statements} true` })
    expect(whole).toContainEqual({ kind: 'index', name: 'classroom.room_mood', more: 'true' })
    expect(whole).toContainEqual({ kind: 'owner', name: 'mood', more: 'penstock_migrate' })
  })

  it('go on where they were killed, between any two questions', async () => {
    const { url } = await fresh()
    for (let n = 1; ; n++) {
      const died = await migrateUp({ url, folder, Client: dyingClient(url, n) }).then(
        () => false,
        () => true,
      )
      if (!died) {
        // As many as there are statements, their notes, and what stands around them.
        expect(n).toBeGreaterThan(2 * statements)
        return
      }
      await migrateUp({ url, folder })
      expect(await ask(url, shape), `killed before question ${n}`).toEqual(whole)
      await ask(url, undo)
    }
  })

  it('make an index anew that was killed while it was made', async () => {
    const { url } = await fresh()
    await migrateUp({ url, folder })
    await ask(url, 'drop index classroom.room_mood')
    await ask(url, `update ingest.migration set statements = 5, applied_at = null where name = '9001-moods'`)
    const writer = await session(url)
    await writer.query(`begin; lock table classroom.room in row exclusive mode`)
    const making = `from pg_stat_activity where datname = current_database() and query like 'create index concurrently%' and wait_event_type = 'Lock'`
    const killed = migrateUp({ url, folder }).then(() => 'done', String)
    await expect.poll(async () => (await ask(url, `select pid ${making}`)).length).toBe(1)
    await ask(url, `select pg_terminate_backend(pid) ${making}`)
    expect(await killed).toContain('migration 9001-moods')
    await writer.query('commit')
    expect(await ask(url, shape)).toContainEqual({
      kind: 'index',
      name: 'classroom.room_mood',
      more: 'false',
    })
    await migrateUp({ url, folder })
    expect(await ask(url, shape)).toEqual(whole)
  })

  it('leave alone what a later release has applied', async () => {
    const { url } = await fresh()
    await migrateUp({ url, folder })
    expect(await migrateUp({ url })).toEqual([])
    expect(await ask(url, shape)).toEqual(whole)
  })

  it('hold up no page that the former release stores meanwhile', async () => {
    const db: TestStore = await openStore()
    onTestFinished(() => db.close())
    await db.rows(
      `insert into ingest.progress (app_id, stream, series) select 'school', 'room-events', 'room-' || n from generate_series(1, 20) n`,
    )
    const outcomes = new Set<string>()
    let isOver = false
    const writer = async (room: string) => {
      for (let version = 0; !isOver; version++) {
        const rows = eventRows([event(room, version + 1)])
        outcomes.add((await db.store.commit(logPage(room, version, { rows }))).outcome)
      }
    }
    const writers = Array.from({ length: 20 }, (_, n) => writer(`room-${n + 1}`))
    try {
      expect(await migrateUp({ url: db.url, folder })).toEqual(['9001-moods'])
    } finally {
      isOver = true
      await Promise.all(writers)
    }
    expect([...outcomes]).toEqual(['committed'])
    expect(await ask(db.url, shape)).toEqual(whole)
  })
})

/** A client whose session is ended before the n-th question after the role was taken. */
function dyingClient(url: string, n: number): typeof pg.Client {
  return class extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      const query = super.query.bind(this) as (...all: unknown[]) => Promise<unknown>
      let asked: number | undefined
      const dying = async (...all: unknown[]) => {
        if (all[0] === 'set role penstock_migrate') asked = 0
        else if (asked !== undefined) asked += 1
        if (asked === n) {
          const [mine] = ((await query('select pg_backend_pid() as pid')) as pg.QueryResult<{ pid: number }>)
            .rows
          await ask(url, `select pg_terminate_backend(${mine!.pid})`)
        }
        return await query(...all)
      }
      Object.assign(this, { query: dying })
    }
  }
}

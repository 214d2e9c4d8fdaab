import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tablesReference } from '../../scripts/tables-reference.ts'
import { sessionMetrics } from '../../src/provider/analytics/call-details.ts'
import { descriptions, tables } from '../../src/tables/index.ts'
import { openStore, type TestStore } from './harness.ts'

let db: TestStore
beforeAll(async () => {
  db = await openStore()
})
afterAll(() => db.close())

const byName = (a: object, b: object) =>
  'name' in a && 'name' in b ? String(a.name).localeCompare(String(b.name)) : 0

/** Without the partitions, which are made of their tables. */
const ourTables = `
  select c.oid, n.nspname || '.' || c.relname as name, c.relkind, obj_description(c.oid) as comment,
         pg_get_userbyid(c.relowner) as owner
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('ingest', 'classroom', 'analytics', 'players') and c.relkind in ('r', 'v', 'p') and not c.relispartition
    and c.relname <> 'test_clock'`

describe('the tables', () => {
  it.each(tables.map(table => [table.name, table] as const))(
    '%s is in the database as it is described',
    async (name, { within, columns, made, given, key: rest }) => {
      const found = await db.rows(
        `select attname as name, format_type(atttypid, atttypmod) as type
         from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
        [name],
      )
      const key = await db.rows(
        `select a.attname as name from pg_constraint c
         cross join unnest(c.conkey) with ordinality k(attnum, place)
         join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
         where c.conrelid = $1::regclass and c.contype = 'p' order by k.place`,
        [name],
      )
      const aliases: Record<string, string> = {
        int: 'integer',
        'int[]': 'integer[]',
        timestamptz: 'timestamp with time zone',
      }
      const described = Object.entries({ ...columns, ...made })
        .filter(([column]) => !given.includes(column))
        .map(([column, { type }]) => ({ name: column, type: aliases[type] ?? type }))
      expect(found).toEqual(expect.arrayContaining(described))
      expect(found).toHaveLength(described.length)
      const prefix = within === 'room' ? ['app_id', 'room_uuid', 'incarnation'] : ['app_id']
      expect(key.map(column => column.name)).toEqual([...prefix, ...rest])
    },
  )

  it.each(descriptions.map(table => [table.name, table] as const))(
    '%s says to people what its description says',
    async (name, { columns, comment }) => {
      const found = await db.rows(
        `select attname as name, col_description(attrelid, attnum) as comment, not attnotnull as nullable
         from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
        [name],
      )
      const described = Object.entries(columns).map(([column, { comment, isNullable }]) => {
        return { name: column, comment, nullable: isNullable }
      })
      expect(found.toSorted(byName)).toEqual(described.toSorted(byName))
      expect(await db.value(`select obj_description($1::regclass, 'pg_class')`, [name])).toBe(comment)
    },
  )

  it('of people are all written by the commit', async () => {
    const found = await db.rows(
      `${ourTables} and n.nspname in ('classroom', 'analytics', 'players') and c.relkind in ('r', 'p')`,
    )
    // The names of metrics are written by a migration, notifications as they arrive, and summaries with the last item of a call.
    const summaries = ['session_digest', 'session_summary', 'call_summary', 'call_minute']
    const written = [
      ...[...tables.map(({ name }) => name), 'analytics.metric', 'players.notification'],
      ...summaries.map(name => `analytics.${name}`),
    ]
    expect(found.map(({ name }) => name).sort()).toEqual(written.sort())
  })

  it('and views have a comment each', async () => {
    const found = await db.rows(`${ourTables} and c.relname <> 'migration'`)
    expect(found.filter(({ comment }) => !comment)).toEqual([])
  })

  it('explain every column', async () => {
    const bare = await db.rows(`
      select t.name || '.' || a.attname as name
      from (${ourTables}) t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
      where col_description(t.oid, a.attnum) is null`)
    expect(bare.map(({ name }) => name)).toEqual([])
  })

  it('stand in docs/tables.md, each with its columns and their types', async () => {
    const text = await tablesReference(db.rows)
    expect(text).toContain('| `started_at` | timestamptz |')
    expect(
      await readFile(new URL('../../docs/tables.md', import.meta.url), 'utf8'),
      'run npm run docs:sql',
    ).toBe(text)
  })

  it('name the metrics of sessions as the contract does', async () => {
    const found = await db.rows('select mid, name, unit from analytics.metric order by mid')
    expect(found).toEqual(
      Object.entries(sessionMetrics).map(([mid, { name, unit }]) => ({ mid: Number(mid), name, unit })),
    )
  })

  it('of facts are keyed by the app first', async () => {
    const keys = await db.rows(`
      select i.indrelid::regclass::text as name, a.attname as first
      from pg_index i join pg_class c on c.oid = i.indrelid join pg_namespace n on n.oid = c.relnamespace
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indisunique and n.nspname in ('classroom', 'analytics', 'players') and c.relname <> 'metric'`)
    expect(keys.length).toBeGreaterThan(25)
    expect(keys.filter(({ first }) => first !== 'app_id')).toEqual([])
  })
})

describe('rights', () => {
  it('belong to the migrating role as the owner of everything', async () => {
    const strangers = await db.rows(
      `select name, owner from (${ourTables}) t where owner <> 'penstock_migrate'`,
    )
    const functions = await db.rows(`
      select proname from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in ('ingest', 'classroom', 'analytics', 'players') and pg_get_userbyid(proowner) <> 'penstock_migrate'`)
    expect([strangers, functions]).toEqual([[], []])
  })

  it('let the daemon read and write every row of every table', async () => {
    const lacking = await db.rows(`
      select t.name, p.privilege from (${ourTables} and c.relkind in ('r', 'p')) t
      cross join unnest(array['select', 'insert', 'update', 'delete']) p(privilege)
      where t.name <> 'ingest.migration'
        and not has_table_privilege('penstock_runtime', t.oid, p.privilege)`)
    const views = await db.rows(`
      select t.name from (${ourTables} and c.relkind = 'v') t
      where not has_table_privilege('penstock_runtime', t.oid, 'select')`)
    expect([lacking, views]).toEqual([[], []])
  })

  it.each([
    'create table classroom.mine (x int)',
    'create table ingest.mine (x int)',
    'create table public.mine (x int)',
    'create schema mine',
    'alter table classroom.room add column mine int',
    'drop table classroom.room',
    'create table analytics.mine (x int)',
    'create table players.mine (x int)',
    'truncate players.cloud_player',
    'drop table analytics.session_series_default',
    'alter table analytics.session_series detach partition analytics.session_series_default',
    'truncate classroom.room',
    'create or replace function ingest.clock() returns timestamptz language sql as $$select now()$$',
    'create role mine',
    `insert into ingest.migration values ('mine', 1, now())`,
  ])('keep the daemon from: %s', async text => {
    await expect(db.pool.query(text)).rejects.toMatchObject({ code: '42501' })
  })
})

import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectAs, type FilledSchool, filledSchool } from './filled.ts'

const schemas = ['ingest', 'classroom', 'analytics', 'players']
const ours = `select c.oid, n.nspname || '.' || c.relname as name, c.relkind
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any ($1) and c.relkind in ('r', 'p', 'v')`

/** What a reader does not see of the tables, column by column. */
const withheld: Readonly<Record<string, readonly string[]>> = {
  'ingest.dead_letter': ['body', 'content_hash'],
  'ingest.forget_key': ['key'],
}

let school: FilledSchool
let reader: pg.Client
let superuser: pg.Client

beforeAll(async () => {
  school = await filledSchool()
  reader = await connectAs(school.readerUrl)
  superuser = await connectAs(school.url)
})

afterAll(async () => {
  await reader?.end()
  await superuser?.end()
  await school?.drop()
})

const denied = { code: '42501' }

async function namesOf(kinds: readonly string[]): Promise<readonly string[]> {
  const { rows } = await superuser.query<{ name: string; relkind: string }>(ours, [schemas])
  return rows.filter(({ relkind }) => kinds.includes(relkind)).map(({ name }) => name)
}

describe('a member of penstock_read', () => {
  it('reads every table and view of the four schemas, except for what is withheld', async () => {
    const names = await namesOf(['r', 'p', 'v'])
    expect(names.length).toBeGreaterThan(60)
    for (const name of names.filter(one => !withheld[one])) {
      await expect(reader.query(`select * from ${name} limit 1`), name).resolves.toBeDefined()
    }
  })

  it('finds rows in every table and view that people ask', async () => {
    // Letters are not kept where a thousand came in a day, and of that no school should tell; what changed of a class, and
    // a large call, is noted until the housekeeping has reckoned it.
    const aside =
      /^ingest\.(migration|history|worklist|intent|ownership|unkept_letter|changed_attendance|changed_users|summary_due|forgotten)|^analytics\..*_(default|\d{8})$/
    const empty: string[] = []
    for (const name of (await namesOf(['r', 'p', 'v'])).filter(one => !withheld[one] && !aside.test(one))) {
      const { rowCount } = await reader.query(`select from ${name} limit 1`)
      if (rowCount === 0) empty.push(name)
    }
    expect(empty).toEqual([])
  })

  it('does not see the bytes of dead letters, nor their digests, and sees all else of them', async () => {
    const { rows } = await superuser.query<{ column: string; readable: boolean }>(
      `select attname as column, has_column_privilege('penstock_read', attrelid, attnum, 'select') as readable
       from pg_attribute where attrelid = 'ingest.dead_letter'::regclass and attnum > 0`,
    )
    const hidden = rows.filter(({ readable }) => !readable).map(({ column }) => column)
    expect(hidden).toEqual(withheld['ingest.dead_letter'])
    for (const column of hidden) {
      await expect(reader.query(`select ${column} from ingest.dead_letter`)).rejects.toMatchObject(denied)
    }
    await expect(reader.query('select d from ingest.dead_letter d')).rejects.toMatchObject(denied)
  })

  it('does not see the key by which it could be tried who was forgotten', async () => {
    await expect(reader.query('select key from ingest.forget_key')).rejects.toMatchObject(denied)
  })

  it('may read what a later migration makes', async () => {
    for (const schema of schemas) {
      await superuser.query(
        `set role penstock_migrate; create table ${schema}.later (x int); create view ${schema}.later_view as select 1 as x; reset role`,
      )
      for (const name of [`${schema}.later`, `${schema}.later_view`]) {
        await expect(reader.query(`select * from ${name}`), name).resolves.toBeDefined()
        await expect(reader.query(`delete from ${name}`), name).rejects.toBeDefined()
      }
      await superuser.query(`drop view ${schema}.later_view; drop table ${schema}.later`)
    }
  })

  it('has no right to change anything, of any table, view, column or sequence', async () => {
    const { rows } = await superuser.query(
      `select name, privilege from (${ours}) t
       cross join unnest(array['insert', 'update', 'delete', 'truncate', 'references', 'trigger']) privilege
       where has_table_privilege('penstock_read', t.oid, privilege)
          or privilege in ('insert', 'update', 'references') and has_any_column_privilege('penstock_read', t.oid, privilege)
       union all
       select c.oid::regclass::text, 'sequence' from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where n.nspname = any ($1) and c.relkind = 'S' and (has_sequence_privilege('penstock_read', c.oid, 'usage')
         or has_sequence_privilege('penstock_read', c.oid, 'update'))
       union all
       select n.nspname, 'create' from pg_namespace n
       where n.nspname = any ($1 || '{public}') and has_schema_privilege('penstock_read', n.oid, 'create')
       union all
       select 'database', 'create' where has_database_privilege('penstock_read', current_database(), 'create')`,
      [schemas],
    )
    expect(rows).toEqual([])
  })

  it('may run no function that changes something, or acts with the rights of another', async () => {
    const { rows } = await superuser.query<{ name: string }>(
      `select p.oid::regprocedure::text as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
       where n.nspname = any ($1) and has_function_privilege('penstock_read', p.oid, 'execute')
         and (p.prosecdef or p.provolatile = 'v') and p.oid <> 'ingest.clock()'::regprocedure`,
      [schemas],
    )
    expect(rows).toEqual([])
  })

  it.each([
    'insert into classroom.room (app_id, room_uuid, incarnation) values (1, 1, 1)',
    'update analytics.call set finished = true',
    'delete from ingest.gap',
    'truncate players.cloud_player',
    'update ingest.loss set app_id = null',
    'drop view ingest.loss',
    'create table classroom.mine (x int)',
    'create table public.mine (x int)',
    'create schema mine',
    'select * from ingest.dead_letter for update',
    `select ingest.mark_wanted('calls', 'dayschool', null, '2026-01-05', '2026-01-06')`,
    `select ingest.make_partition('session_series', '2026-01-05')`,
    `select ingest.own('me', '{0}', '{9}')`,
    'select * from ingest_jobs.job',
    'set role penstock_runtime',
    'set role penstock_migrate',
  ])('is kept from: %s', async text => {
    await expect(reader.query(text)).rejects.toMatchObject(denied)
  })
})

import { readdir, readFile } from 'node:fs/promises'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import pg from 'pg'
import { streams } from '../streams/index.ts'
import type { Stream } from '../streams/stream.ts'
import { descriptions } from '../tables/index.ts'
import { sqlState } from './errors.ts'

/** A migration waits this long for a lock before it gives up, so that it never stands in the way of a running daemon. */
const LOCK_TIMEOUT_MS = 10_000
const folder = new URL('../../migrations/', import.meta.url)

export interface MigrateOptions {
  readonly url: string
  /** What the database is told of streams; those of this program unless others are named. */
  readonly streams?: readonly Stream[]
}

export interface MigrationState {
  readonly name: string
  readonly appliedAt: Date | undefined
}

class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
}

/**
 * Applies what is missing, all in one transaction under an advisory lock, so that a killed migration leaves
 * nothing half done and two at once run one after the other. Answers the names applied. Throws MigrationFailed
 * with the file and the database's reason. The days of time zones are written as the database knows their rules by now.
 */
export async function migrateUp(options: MigrateOptions): Promise<readonly string[]> {
  const db = open(options.url)
  try {
    const { error, results } = await migrator(db).migrateToLatest()
    if (!error) {
      await registerStreams(db, options.streams ?? Object.values(streams))
      await describeTables(db)
      await sql`select ingest.keep_calendar(z.time_zone) from (select distinct time_zone from ingest.calendar) z`.execute(
        db,
      )
      return (results ?? []).map(result => result.migrationName)
    }
    const failed = results?.find(result => result.status === 'Error')?.migrationName
    throw new MigrationFailed(`migration ${failed ?? 'could not start'}: ${reason(error)}`, { cause: error })
  } finally {
    await db.destroy()
  }
}

/** Every migration of this release and when it was applied to the database; undefined for one that is missing. */
export async function migrationStates(pool: pg.Pool): Promise<readonly MigrationState[]> {
  const names = Object.keys(await migrations())
  const { rows } = await pool.query<{ present: boolean }>(
    `select to_regclass('ingest.migration') is not null as present`,
  )
  if (!rows[0]?.present) return names.map(name => ({ name, appliedAt: undefined }))
  const applied = await pool.query<{ name: string; timestamp: string }>(
    'select name, timestamp from ingest.migration',
  )
  const times = new Map(applied.rows.map(row => [row.name, new Date(row.timestamp)]))
  return names.map(name => ({ name, appliedAt: times.get(name) }))
}

/** Tells the database which streams there are, as far as its views and functions ask. One that is gone stays known. */
async function registerStreams(db: Kysely<unknown>, registered: readonly Stream[]): Promise<void> {
  const rows = registered.map((stream, place) => ({
    ...{ stream: stream.name, place, kind: stream.kind, scope: 'scope' in stream ? stream.scope : 'app' },
    ...{ needs: stream.needs ?? [], writes: stream.writes.map(({ name }) => name) },
  }))
  await db.transaction().execute(async transaction => {
    await sql.raw('set local role penstock_migrate').execute(transaction)
    await sql`
      insert into ingest.stream as t select * from jsonb_populate_recordset(null::ingest.stream, ${JSON.stringify(rows)})
      on conflict (stream) do update set place = excluded.place, kind = excluded.kind, scope = excluded.scope,
        needs = excluded.needs, writes = excluded.writes
        where (t.place, t.kind, t.scope, t.needs, t.writes)
          is distinct from (excluded.place, excluded.kind, excluded.scope, excluded.needs, excluded.writes)`.execute(
      transaction,
    )
  })
}

/** Writes what the described tables and their columns say to people, where the database says otherwise. */
async function describeTables(db: Kysely<unknown>): Promise<void> {
  const { rows } = await sql<{ readonly name: string; readonly comment: string | null }>`
    select c.oid::regclass || coalesce('.' || quote_ident(a.attname), '') as name,
           coalesce(col_description(c.oid, a.attnum), obj_description(c.oid, 'pg_class')) as comment
    from pg_class c
    cross join lateral (
      select null as attname, 0 as attnum
      union all select attname, attnum from pg_attribute where attrelid = c.oid and attnum > 0) a
    where c.oid = any (${descriptions.map(({ name }) => name)}::text[]::regclass[])`.execute(db)
  const known = new Map(rows.map(({ name, comment }) => [name, comment]))
  const wanted = descriptions.flatMap(({ name, comment, columns }) => [
    ['table', name, comment] as const,
    ...Object.entries(columns).map(
      ([column, about]) => ['column', `${name}.${column}`, about.comment] as const,
    ),
  ])
  const changes = wanted.filter(([, name, comment]) => known.get(name) !== comment)
  if (changes.length === 0) return
  const texts = changes.map(
    ([kind, name, comment]) => `comment on ${kind} ${name} is ${pg.escapeLiteral(comment)};`,
  )
  await db.transaction().execute(async transaction => {
    await sql.raw(`set local role penstock_migrate; ${texts.join('\n')}`).execute(transaction)
  })
}

function open(url: string): Kysely<unknown> {
  const pool = new pg.Pool({ connectionString: url, max: 1, options: `-c lock_timeout=${LOCK_TIMEOUT_MS}` })
  pool.on('error', () => {})
  return new Kysely({ dialect: new PostgresDialect({ pool }) })
}

function migrator(db: Kysely<unknown>): Migrator {
  return new Migrator({
    db,
    provider: { getMigrations: migrations },
    migrationTableSchema: 'ingest',
    migrationTableName: 'migration',
    migrationLockTableName: 'migration_lock',
  })
}

async function migrations(): Promise<Record<string, Migration>> {
  const files = (await readdir(folder)).filter(file => file.endsWith('.sql')).sort()
  const entries = files.map(file => [file.replace(/\.sql$/, ''), { up: run(file) }] as const)
  return Object.fromEntries(entries)
}

function run(file: string): Migration['up'] {
  return async db => {
    await sql.raw(await readFile(new URL(file, folder), 'utf8')).execute(db)
  }
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  if ('hint' in error && typeof error.hint === 'string') return `${error.message}. ${error.hint}`
  return sqlState(error) === INSUFFICIENT_PRIVILEGE ? `${error.message}. ${rightsHint}` : error.message
}

const INSUFFICIENT_PRIVILEGE = '42501'

const rightsHint =
  'Whoever migrates must be a superuser or the owner of the database who may create roles, or a member of the role ' +
  'penstock_migrate that may create in the database'

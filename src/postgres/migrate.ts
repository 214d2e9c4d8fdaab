import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { streams } from '../streams/index.ts'
import type { Stream } from '../streams/stream.ts'
import { descriptions } from '../tables/index.ts'
import { sqlState } from './errors.ts'
import { statementsOf } from './sql-text.ts'

/** A migration waits this long for a lock before it gives up, so that it never stands in the way of a running daemon. */
const LOCK_TIMEOUT_MS = 10_000

/** The same beside daemons that go on: shorter than what their commits wait for a lock (`database.lockTimeout`). */
const LOCK_TIMEOUT_BESIDE_MS = 3_000

/**
 * The last file of what the first release began with. What comes after it only expands, and is applied statement by
 * statement, so that a daemon of the former release goes on beside it.
 */
export const baseline = '0007-jobs'

export const ownFolder = new URL('../../migrations/', import.meta.url)

export interface MigrateOptions {
  readonly url: string
  /** What the database is told of streams; those of this program unless others are named. */
  readonly streams?: readonly Stream[]
  /** Where the files lie; those of this program unless told. */
  readonly folder?: URL
  /** Takes the place of the driver's own client. */
  readonly Client?: typeof pg.Client
}

interface MigrationState {
  readonly name: string
  readonly appliedAt: Date | undefined
  /** This program does not know it: a later release has applied it. */
  readonly isLater: boolean
}

class MigrationFailed extends Error {
  override readonly name = 'MigrationFailed'
}

interface File {
  readonly name: string
  readonly text: string
}

/**
 * Applies what is missing, under an advisory lock, so that two at once run one after the other. The baseline is one
 * transaction: a killed migration leaves nothing of it half done. Of later files each statement is applied for itself
 * and noted with it, so that the next run goes on where one was killed. What a later release has applied is left alone.
 * Answers the names of the files that are applied now and were not before. Throws MigrationFailed with the file and the
 * database's reason. The days of time zones are written as the database knows their rules by now.
 */
export async function migrateUp(options: MigrateOptions): Promise<readonly string[]> {
  const { url, folder = ownFolder, Client = pg.Client } = options
  const files = await readFiles(folder)
  // The login may have a role as its own setting, for sessions of a pooler.
  const client = new Client({ connectionString: url, options: '-c role=none' })
  client.on('error', () => {})
  const migration = new Migration(client)
  try {
    await client.connect()
    const applied = await migration.run(files)
    await registerStreams(client, options.streams ?? Object.values(streams))
    await describeTables(client)
    await client.query(
      'select ingest.keep_calendar(z.time_zone) from (select distinct time_zone from ingest.calendar) z',
    )
    return applied
  } catch (error) {
    throw new MigrationFailed(`migration ${migration.at}: ${reason(error)}`, { cause: error })
  } finally {
    await client.end().catch(() => {})
  }
}

async function readFiles(folder: URL): Promise<readonly File[]> {
  const names = (await readdir(folder)).filter(file => file.endsWith('.sql')).sort()
  return await Promise.all(
    names.map(async name => ({
      name: name.replace(/\.sql$/, ''),
      text: await readFile(new URL(name, folder), 'utf8'),
    })),
  )
}

/** Whether anything was ever migrated here. */
export async function hasMigrations(client: Pick<pg.ClientBase, 'query'>): Promise<boolean> {
  const { rows } = await client.query<{ present: boolean }>(
    `select to_regclass('ingest.migration') is not null as present`,
  )
  return rows[0]!.present
}

const bookkeeping = `
  create schema ingest;
  create table ingest.migration (name text primary key, statements integer not null, applied_at timestamptz)`

const note = `
  insert into ingest.migration as m values ($1, $2, case when $3 then clock_timestamp() end)
  on conflict (name) do update set statements = excluded.statements, applied_at = excluded.applied_at`

class Migration {
  /** Which file is under way. */
  at = 'could not start'
  readonly #client: pg.Client

  constructor(client: pg.Client) {
    this.#client = client
  }

  async run(files: readonly File[]): Promise<readonly string[]> {
    await this.#waitForTurn()
    const noted = (await hasMigrations(this.#client)) ? await this.#noted() : undefined
    const missing = files.filter(({ name }) => !noted?.get(name)?.isApplied)
    const [base, later] = [
      missing.filter(({ name }) => name <= baseline),
      missing.filter(({ name }) => name > baseline),
    ]
    if (base.length > 0) await this.#applyTogether(base, noted === undefined)
    await this.#client.query('set role penstock_migrate')
    for (const file of later) await this.#applyOneByOne(file, noted?.get(file.name)?.statements ?? 0)
    return missing.map(({ name }) => name)
  }

  /** Who waited for the lock inside a statement would wait for the index that another one makes, which waits for every statement. */
  async #waitForTurn(): Promise<void> {
    const text = `select pg_try_advisory_lock(hashtextextended('penstock migrate', 0)) as "isOurs"`
    for (;;) {
      const { rows } = await this.#client.query<{ isOurs: boolean }>(text)
      if (rows[0]!.isOurs) return
      await this.#client.query('select pg_sleep(0.1)')
    }
  }

  async #noted() {
    type Row = { readonly name: string; readonly statements: number; readonly isApplied: boolean }
    const text = 'select name, statements, applied_at is not null as "isApplied" from ingest.migration'
    const { rows } = await this.#client.query<Row>(text)
    return new Map(rows.map(row => [row.name, row]))
  }

  async #applyTogether(files: readonly File[], isFirst: boolean): Promise<void> {
    await this.#client.query(`begin; set local lock_timeout = ${LOCK_TIMEOUT_MS}`)
    if (isFirst) await this.#client.query(bookkeeping)
    for (const { name, text } of files) {
      this.at = name
      await this.#client.query(text)
      await this.#client.query(note, [name, statementsOf(text).length, true])
    }
    await this.#client.query('commit')
  }

  async #applyOneByOne({ name, text }: File, done: number): Promise<void> {
    this.at = name
    const statements = statementsOf(text)
    for (const [before, { text: statement }] of statements.entries()) {
      if (before < done) continue
      const isLast = before + 1 === statements.length
      await this.#apply(statement, () => this.#client.query(note, [name, before + 1, isLast]))
    }
  }

  async #apply(statement: string, noteIt: () => Promise<unknown>): Promise<void> {
    const [, index, table] = concurrently.exec(statement) ?? []
    if (index !== undefined) {
      // It waits for every transaction that is open, which holds nobody up.
      await this.#client.query('set lock_timeout = 0')
      await this.#dropBroken(index, table!)
      await this.#client.query(statement)
      await noteIt()
      return
    }
    await this.#client.query(`begin; set local lock_timeout = ${LOCK_TIMEOUT_BESIDE_MS}`)
    await this.#client.query(statement)
    await noteIt()
    await this.#client.query('commit')
  }

  /** Who was killed while making an index leaves one that is never used, under its name. */
  async #dropBroken(index: string, table: string): Promise<void> {
    const { rows } = await this.#client.query<{ name: string }>(
      `select indexrelid::regclass::text as name from pg_index i join pg_class c on c.oid = i.indexrelid
       where c.relname = $1 and i.indrelid = to_regclass($2) and not i.indisvalid`,
      [index, table],
    )
    for (const { name } of rows) await this.#client.query(`drop index concurrently ${name}`)
  }
}

const concurrently = /^create\s+index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s+on\s+([\w.]+)/i

/** Every migration of this release, and of later ones that were here, and when it was applied; undefined for one that is missing. */
export async function migrationStates(pool: pg.Pool): Promise<readonly MigrationState[]> {
  const names = (await readFiles(ownFolder)).map(({ name }) => name)
  if (!(await hasMigrations(pool))) return names.map(name => ({ name, appliedAt: undefined, isLater: false }))
  const applied = await pool.query<{ name: string; at: Date }>(
    'select name, applied_at as at from ingest.migration where applied_at is not null',
  )
  const times = new Map(applied.rows.map(({ name, at }) => [name, at]))
  const later = [...times.keys()].filter(name => !names.includes(name)).sort()
  return [
    ...names.map(name => ({ name, appliedAt: times.get(name), isLater: false })),
    ...later.map(name => ({ name, appliedAt: times.get(name), isLater: true })),
  ]
}

/** Tells the database which streams there are, as far as its views and functions ask. One that is gone stays known. */
async function registerStreams(client: pg.Client, registered: readonly Stream[]): Promise<void> {
  const rows = registered.map((stream, place) => ({
    ...{ stream: stream.name, place, kind: stream.kind, scope: 'scope' in stream ? stream.scope : 'app' },
    ...{ needs: stream.needs ?? [], writes: stream.writes.map(({ name }) => name) },
  }))
  await client.query(
    `insert into ingest.stream as t select * from jsonb_populate_recordset(null::ingest.stream, $1)
     on conflict (stream) do update set place = excluded.place, kind = excluded.kind, scope = excluded.scope,
       needs = excluded.needs, writes = excluded.writes
       where (t.place, t.kind, t.scope, t.needs, t.writes)
         is distinct from (excluded.place, excluded.kind, excluded.scope, excluded.needs, excluded.writes)`,
    [JSON.stringify(rows)],
  )
}

/** Writes what the described tables and their columns say to people, where the database says otherwise. */
async function describeTables(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ readonly name: string; readonly comment: string | null }>(
    `select c.oid::regclass || coalesce('.' || quote_ident(a.attname), '') as name,
            coalesce(col_description(c.oid, a.attnum), obj_description(c.oid, 'pg_class')) as comment
     from pg_class c
     cross join lateral (
       select null as attname, 0 as attnum
       union all select attname, attnum from pg_attribute where attrelid = c.oid and attnum > 0) a
     where c.oid = any ($1::text[]::regclass[])`,
    [descriptions.map(({ name }) => name)],
  )
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
  // Several statements at once are one transaction.
  await client.query(texts.join('\n'))
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

import type pg from 'pg'
import { loadConfig } from '../config/load.ts'
import { migrateUp, migrationStates } from '../postgres/migrate.ts'
import { printLines, textTable } from './cli/output.ts'
import { withDatabase } from './wiring/database.ts'

interface MigrateOptions {
  readonly config: string
}

/** Applies the migrations that the database lacks. */
export async function up(options: MigrateOptions): Promise<void> {
  const applied = await withMigrated(options, (_pool, url) => migrateUp({ url }))
  const end = 'the database is up to date'
  printLines([...applied.map(name => `applied ${name}`), applied.length > 0 ? end : `nothing to do: ${end}`])
}

/** Shows every migration and when it was applied. */
export async function status(options: MigrateOptions): Promise<void> {
  const states = await withMigrated(options, migrationStates)
  const rows = states.map(({ name, appliedAt, isLater }) => [
    name,
    `${appliedAt?.toISOString() ?? 'missing'}${isLater ? ', of a later release' : ''}`,
  ])
  printLines(textTable(['migration', 'applied at'], rows))
  const missing = states.filter(({ appliedAt }) => !appliedAt).length
  if (missing > 0) printLines([`${missing} missing: run \`penstock migrate up\``])
  const later = states.filter(({ isLater }) => isLater).length
  if (later > 0)
    printLines([`${later} of a later release than this program: another version has migrated this database`])
}

async function withMigrated<T>(
  { config: path }: MigrateOptions,
  use: (pool: pg.Pool, url: string) => Promise<T>,
): Promise<T> {
  return await withDatabase(await loadConfig(path, { env: process.env }), { role: '' }, use)
}

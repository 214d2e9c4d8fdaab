import type pg from 'pg'
import { systemClock } from '../clock/system.ts'
import { loadConfig } from '../config/load.ts'
import { connect, connectionProblem } from '../postgres/connect.ts'
import { migrateUp, migrationStates } from '../postgres/migrate.ts'
import { CommandError } from './cli/exit.ts'
import { textTable } from './cli/output.ts'
import { openDatabase } from './wiring/database.ts'

interface MigrateOptions {
  readonly config: string
}

/** Applies the migrations that the database lacks. */
export async function up(options: MigrateOptions): Promise<void> {
  await withDatabase(options, async url => {
    const applied = await migrateUp({ url })
    for (const name of applied) process.stdout.write(`applied ${name}\n`)
    process.stdout.write(
      applied.length > 0 ? 'the database is up to date\n' : 'nothing to do: the database is up to date\n',
    )
  })
}

/** Shows every migration and when it was applied. */
export async function status(options: MigrateOptions): Promise<void> {
  await withDatabase(options, async (_url, pool) => {
    const states = await migrationStates(pool)
    const rows = states.map(({ name, appliedAt }) => [name, appliedAt?.toISOString() ?? 'missing'])
    for (const line of textTable(['migration', 'applied at'], rows)) process.stdout.write(`${line}\n`)
    const missing = states.filter(({ appliedAt }) => !appliedAt).length
    if (missing > 0) process.stdout.write(`${missing} missing: run \`penstock migrate up\`\n`)
  })
}

/** An embedded database that a daemon runs is used and left running. */
async function withDatabase(
  options: MigrateOptions,
  work: (url: string, pool: pg.Pool) => Promise<void>,
): Promise<void> {
  const config = await loadConfig(options.config, { env: process.env })
  const database = await openDatabase(config, { clock: systemClock, whenOwned: 'join' })
  const { statementTimeout, lockTimeout } = config.database
  const pool = connect({ url: database.url, poolSize: 1, statementTimeout, lockTimeout, role: '' })
  try {
    const problem = await connectionProblem(pool)
    if (problem) throw new CommandError(problem)
    await work(database.url, pool)
  } finally {
    await pool.end()
    await database.stop()
  }
}

import type pg from 'pg'
import { connect, connectionProblem, findConnectionProblem } from '../postgres/connect.ts'
import { migrationStates } from '../postgres/migrate.ts'
import { CommandError } from './exit.ts'

/** Throws CommandError unless the database can be reached and has every migration of this release. */
export async function assertMigrated(url: string): Promise<void> {
  await withPool(url, async pool => {
    const problem = await connectionProblem(pool)
    if (problem) throw new CommandError(problem)
    await assertComplete(pool)
  })
}

/**
 * The same for a daemon, which outlives its database's outages: of a database that is away for the moment it answers
 * why, and throws for what does not pass by itself.
 */
export async function assertMigratedOrAway(url: string): Promise<string | undefined> {
  return await withPool(url, async pool => {
    const problem = await findConnectionProblem(pool)
    if (problem?.mayPass) return problem.text
    if (problem) throw new CommandError(problem.text)
    await assertComplete(pool)
    return undefined
  })
}

/** Names of the migrations that the database lacks. */
export async function missingMigrations(pool: pg.Pool): Promise<readonly string[]> {
  return (await migrationStates(pool)).filter(state => !state.appliedAt).map(state => state.name)
}

async function assertComplete(pool: pg.Pool): Promise<void> {
  const missing = await missingMigrations(pool)
  if (missing.length === 0) return
  throw new CommandError(
    `the database lacks migrations (${missing.join(', ')}); run \`penstock migrate up\` first`,
  )
}

async function withPool<T>(url: string, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = connect({ url, poolSize: 1, statementTimeout: 10_000, lockTimeout: 5_000, role: '' })
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}

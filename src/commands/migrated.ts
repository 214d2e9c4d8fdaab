import { connect, connectionProblem } from '../postgres/connect.ts'
import { migrationStates } from '../postgres/migrate.ts'
import { CommandError } from './exit.ts'

/** Throws CommandError unless the database can be reached and has every migration of this release. */
export async function assertMigrated(url: string): Promise<void> {
  const pool = connect({ url, poolSize: 1, statementTimeout: 10_000, lockTimeout: 5_000, role: '' })
  try {
    const problem = await connectionProblem(pool)
    if (problem) throw new CommandError(problem)
    const missing = (await migrationStates(pool)).filter(state => !state.appliedAt)
    if (missing.length === 0) return
    throw new CommandError(
      `the database lacks migrations (${missing.map(state => state.name).join(', ')}); run \`penstock migrate up\` first`,
    )
  } finally {
    await pool.end()
  }
}

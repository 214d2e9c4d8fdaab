import type pg from 'pg'
import type { Clock } from '../../clock/clock.ts'
import type { Config } from '../../config/config.ts'
import {
  type ConnectOptions,
  connect,
  connectionProblem,
  findConnectionProblem,
} from '../../postgres/connect.ts'
import { migrationStates } from '../../postgres/migrate.ts'
import { CommandError } from '../cli/exit.ts'
import { loadConfiguredPostgres } from './installation.ts'

/** The database of a configuration, with what must be stopped when it is no longer needed. */
export interface Database {
  readonly url: string
  readonly stop: () => Promise<void>
}

/**
 * Opens the database that the configuration names; an embedded one is started. `join` uses an embedded one that
 * another process of ours has started, and leaves it running.
 */
export async function openDatabase(
  config: Config,
  options: {
    readonly clock: Clock
    readonly whenOwned: 'refuse' | 'join'
    readonly onProgress?: (line: string) => void
  },
): Promise<Database> {
  const url = await config.database.url.reveal()
  if (url !== 'embedded') return { url, stop: async () => {} }
  const { clock, whenOwned, onProgress = () => {} } = options
  const { startEmbedded } = await loadConfiguredPostgres()
  return startEmbedded({ dataDir: config.database.dataDir, clock, whenOwned, onProgress })
}

/** How the configuration wants its database at `url` connected to. */
export function connectOptions(config: Config, url: string): ConnectOptions {
  const { poolSize, statementTimeout, lockTimeout, role } = config.database
  return { url, poolSize, statementTimeout, lockTimeout, role }
}

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

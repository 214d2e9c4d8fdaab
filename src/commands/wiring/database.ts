import type pg from 'pg'
import { systemClock } from '../../clock/system.ts'
import type { Config } from '../../config/config.ts'
import {
  type ConnectOptions,
  connect,
  connectionProblem,
  findConnectionProblem,
} from '../../postgres/connect.ts'
import { migrationStates } from '../../postgres/migrate.ts'
import { whoMayNotShare } from '../../postgres/shard-jobs.ts'
import { CommandError } from '../cli/exit.ts'
import { loadConfiguredPostgres } from './installation.ts'

/** The database of a configuration, with what must be stopped when it is no longer needed. */
interface Database {
  readonly url: string
  readonly isEmbedded: boolean
  readonly stop: () => Promise<void>
}

/**
 * Opens the database that the configuration names; an embedded one is started. `join` uses an embedded one that
 * another process of ours has started, and leaves it running.
 */
export async function openDatabase(config: Config, whenOwned: 'refuse' | 'join'): Promise<Database> {
  const url = await config.database.url.reveal()
  if (url !== 'embedded') return { url, isEmbedded: false, stop: async () => {} }
  const { startEmbedded } = await loadConfiguredPostgres()
  const { dataDir } = config.database
  const started = await startEmbedded({ dataDir, clock: systemClock, whenOwned })
  return { url: started.url, isEmbedded: true, stop: started.stop }
}

interface DatabaseUse {
  /** Only a database with every migration is of use. */
  readonly isPrepared?: boolean
  readonly poolSize?: number
  /** Instead of those of the configuration, ms. */
  readonly statementTimeout?: number
  readonly lockTimeout?: number
  /** Instead of the role of the configuration; empty keeps the login role. */
  readonly role?: string
}

/** Lets a command use the database of the configuration. Throws CommandError where it cannot. */
export async function withDatabase<T>(
  config: Config,
  { isPrepared = false, ...options }: DatabaseUse,
  use: (pool: pg.Pool, url: string) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(config, 'join')
  try {
    return await withPool(
      { ...connectOptions(config, database.url), poolSize: 1, ...options },
      async pool => {
        const problem = await connectionProblem(pool)
        if (problem) throw new CommandError(problem)
        if (isPrepared && (await missingMigrations(pool)).length > 0)
          throw new CommandError('the database is not prepared: run `penstock migrate up` first')
        return await use(pool, database.url)
      },
    )
  } finally {
    await database.stop()
  }
}

/** How the configuration wants its database at `url` connected to. */
export function connectOptions(config: Config, url: string): ConnectOptions {
  const { poolSize, statementTimeout, lockTimeout, role } = config.database
  return { url, poolSize, statementTimeout, lockTimeout, role }
}

/**
 * Throws CommandError unless the database has every migration of this release and the daemon may share the work in it.
 * Of a database that is away for the moment it answers why: a daemon outlives that.
 */
export async function assertMigrated(url: string, role: string): Promise<string | undefined> {
  const options = { url, poolSize: 1, statementTimeout: 10_000, lockTimeout: 5_000, role: '' }
  return await withPool(options, async pool => {
    const problem = await findConnectionProblem(pool)
    if (problem?.mayPass) return problem.text
    if (problem) throw new CommandError(problem.text)
    const missing = await missingMigrations(pool)
    if (missing.length > 0)
      throw new CommandError(
        `the database lacks migrations (${missing.join(', ')}); run \`penstock migrate up\` first`,
      )
    const unable = await whoMayNotShare(pool, role)
    if (unable === undefined) return undefined
    throw new CommandError(
      `${unable} may not write in the schema ingest_jobs, by which processes share the work: ` +
        `grant penstock_runtime to ${unable}`,
    )
  })
}

/** Names of the migrations that the database lacks. */
export async function missingMigrations(pool: pg.Pool): Promise<readonly string[]> {
  return (await migrationStates(pool)).filter(state => !state.appliedAt).map(state => state.name)
}

async function withPool<T>(options: ConnectOptions, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = connect(options)
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}

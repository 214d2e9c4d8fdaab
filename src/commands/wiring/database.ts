import type pg from 'pg'
import type { Clock } from '../../clock/clock.ts'
import { systemClock } from '../../clock/system.ts'
import type { Config } from '../../config/config.ts'
import type { Secret } from '../../config/secret.ts'
import {
  type AddressKey,
  type ConnectOptions,
  connect,
  connectionProblem,
  findConnectionProblem,
  findSessionProblem,
} from '../../postgres/connect.ts'
import { migrationStates } from '../../postgres/migrate.ts'
import { whoMayNotShare } from '../../postgres/shard-jobs.ts'
import { CommandError } from '../cli/exit.ts'
import { loadConfiguredPostgres } from './installation.ts'
import { databasePassword } from './services.ts'

/** The database of a configuration, with what must be stopped when it is no longer needed. */
interface Database {
  /** Of Postgres itself, whatever pooler stands before it. */
  readonly url: string
  readonly isEmbedded: boolean
  readonly stop: () => Promise<void>
}

/**
 * Opens the database that the configuration names; an embedded one is started. `join` uses an embedded one that
 * another process of ours has started, and leaves it running.
 */
export async function openDatabase(config: Config, whenOwned: 'refuse' | 'join'): Promise<Database> {
  const { directUrl = config.database.url } = config.database
  const url = await directUrl.reveal()
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
  /** Whether it only reads, so that a replica will do where there is one. */
  readonly isReading?: boolean
  /** Instead of those of the configuration, ms. */
  readonly statementTimeout?: number
  readonly lockTimeout?: number
  /** Instead of the role of the configuration; empty keeps the login role. */
  readonly role?: string
}

export const notPrepared = 'the database is not prepared: run `penstock migrate up` first'

/** Lets a command use the database of the configuration. Throws CommandError where it cannot. */
export async function withDatabase<T>(
  config: Config,
  { isPrepared = false, isReading = false, ...options }: DatabaseUse,
  use: (pool: pg.Pool, url: string) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(config, 'join')
  try {
    const { readUrl, directUrl } = config.database
    const replica = isReading && readUrl ? await readUrl.reveal() : undefined
    const key = replica ? 'database.readUrl' : directUrl ? 'database.directUrl' : 'database.url'
    return await withPool(
      { ...connectOptions(config, replica ?? database.url), poolSize: 1, ...options },
      async pool => {
        const problem = await connectionProblem(pool, key)
        if (problem) throw new CommandError(problem)
        if (isPrepared && (await missingMigrations(pool)).length > 0) throw new CommandError(notPrepared)
        return await use(pool, database.url)
      },
    )
  } finally {
    await database.stop()
  }
}

/** The ways to one database. */
interface Connections {
  /** To Postgres itself. */
  readonly direct: ConnectOptions
  /** For what is short: through the pooler, where there is one. */
  readonly pooled: ConnectOptions
  /** For what only reads: a replica, where there is one. */
  readonly reading: ConnectOptions
}

/** The ways to the database of a configuration, itself at `url`, with the passwords of the moment. */
export async function connectionsOf(config: Config, url: string, clock: Clock): Promise<Connections> {
  const { url: usual, directUrl, readUrl } = config.database
  const way = async (secret: Secret, address?: string) => ({
    ...connectOptions(config, address ?? (await secret.reveal())),
    password: await databasePassword(secret, clock),
  })
  const direct = await way(directUrl ?? usual, url)
  return {
    direct,
    pooled: directUrl ? { ...(await way(usual)), isPooled: true } : direct,
    reading: readUrl ? await way(readUrl) : direct,
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
export async function assertMigrated(config: Config, url: string): Promise<string | undefined> {
  const { role, directUrl } = config.database
  const options = { url, poolSize: 1, statementTimeout: 10_000, lockTimeout: 5_000, role: '' }
  const key = directUrl ? 'database.directUrl' : 'database.url'
  const away = await findAway(options, key)
  if (away) return away
  await withPool(options, async pool => {
    const missing = await missingMigrations(pool)
    if (missing.length > 0)
      throw new CommandError(
        `the database lacks migrations (${briefly(missing)}); run \`penstock migrate up\` first`,
      )
    const unable = await whoMayNotShare(pool, role)
    if (unable === undefined) return
    throw new CommandError(
      `${unable} may not write in the schema ingest_jobs, by which processes share the work: ` +
        `grant penstock_runtime to ${unable}`,
    )
  })
  // The login may not be a member of the role.
  return (await findAway({ ...options, role }, key)) ?? (await findPoolerAway(config))
}

/** Why a database is away for the moment. Throws CommandError where it is at fault for good. */
function findAway(options: ConnectOptions, key: AddressKey): Promise<string | undefined> {
  return withPool(options, async pool => {
    const problem = await findConnectionProblem(pool, key)
    if (problem?.mayPass) return problem.text
    const fault = problem?.text ?? (await findSessionProblem(pool, options, key))
    if (fault) throw new CommandError(fault)
    return undefined
  })
}

async function findPoolerAway(config: Config): Promise<string | undefined> {
  const { url, directUrl } = config.database
  if (!directUrl) return undefined
  const options = { ...connectOptions(config, await url.reveal()), poolSize: 1, isPooled: true }
  return await findAway(options, 'database.url')
}

/** Names of the migrations that the database lacks. */
export async function missingMigrations(pool: pg.Pool): Promise<readonly string[]> {
  return (await migrationStates(pool)).filter(state => !state.appliedAt).map(state => state.name)
}

/** Of many names the first, in messages that end with what to do. */
export function briefly([first, ...more]: readonly string[]): string {
  return more.length > 0 ? `${first} and ${more.length} more` : `${first}`
}

/** Lets `use` ask over connections that are closed afterwards. */
export async function withPool<T>(options: ConnectOptions, use: (pool: pg.Pool) => Promise<T>): Promise<T> {
  const pool = connect(options)
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}

import pg from 'pg'
import { noteEnding, sqlState, storeError } from './errors.ts'

export interface ConnectOptions {
  readonly url: string
  /** The password of a connection that is made now, where it is another than that of `url` by then. */
  readonly password?: (() => Promise<string>) | undefined
  /** Connections at most; the daemon's commits are bounded by it. */
  readonly poolSize: number
  /** ms after which the database gives a statement up. */
  readonly statementTimeout: number
  /** ms after which the database gives waiting for a lock up. */
  readonly lockTimeout: number
  /** ms after which a connection that is not had is given up; ten seconds unless told. */
  readonly connectTimeout?: number
  /** Role that every session takes; empty keeps the login role. */
  readonly role: string
  /**
   * Whether a pooler in transaction mode stands between: it hands a session on after each transaction, so that nothing
   * can be set in one, and no statement kept. What sessions need, the login role must have been given.
   */
  readonly isPooled?: boolean
  /** Takes the place of the driver's own client. */
  readonly driver?: Driver | undefined
}

/** Another client than the driver's, what its pool is told besides, and what its sessions are set to. */
export interface Driver {
  readonly Client: typeof pg.Client
  readonly pool: pg.PoolConfig
  readonly session: Readonly<Record<string, string | number>>
}

const CONNECT_TIMEOUT_MS = 10_000

/** How long a session may hold a transaction open between two statements. */
const IDLE_IN_TRANSACTION_MS = 3_000

/**
 * A database finds out within half a minute that a machine is gone, and not after the two hours that are usual. On a socket
 * of its own machine these are nothing, and a pooler has its own, so none is asked for where sessions are looked at.
 */
const keepalives = { tcp_keepalives_idle: 10, tcp_keepalives_interval: 5, tcp_keepalives_count: 4 }

/**
 * How long a session is kept that nobody needs, ms. A process with few apps asks for something every ten seconds or every
 * half minute: a session made anew each time, and its plans with it, costs more than all of its statements.
 */
const IDLE_MS = 120_000

/** A pool whose sessions have time limits, speak UTC, plan each statement once, and hold only the rights of a role. */
export function connect(options: ConnectOptions): pg.Pool {
  const pool = new pg.Pool({
    ...wayTo(options),
    Client: clientWith(options),
    max: options.poolSize,
    idleTimeoutMillis: IDLE_MS,
    query_timeout: options.statementTimeout + 5_000,
    application_name: 'penstock',
    ...(options.isPooled ? {} : { options: commandLine(options) }),
    ...options.driver?.pool,
  })
  // A broken idle connection is noticed by whoever asks next; without a listener it would end the process.
  pool.on('error', () => {})
  // Nor must one that breaks between two statements of a transaction.
  pool.on('connect', noteEnding)
  return pool
}

/** One session outside the pool, for what lives as long as the session: locks. */
export function connectOnce(options: ConnectOptions & { readonly queryTimeout: number }): pg.Client {
  const client = new (clientWith(options))({
    ...wayTo(options),
    query_timeout: options.queryTimeout,
    application_name: 'penstock ownership',
    options: commandLine(options),
    ...options.driver?.pool,
  })
  client.on('error', () => {})
  return client
}

function wayTo({ url, connectTimeout = CONNECT_TIMEOUT_MS }: ConnectOptions) {
  return {
    connectionString: url,
    connectionTimeoutMillis: connectTimeout,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  }
}

/** An address settles the password before there is a connection; the client can be told how to come by it when it is asked. */
function clientWith({ password, driver, isPooled }: ConnectOptions): typeof pg.Client {
  const { Client } = driver ?? pg
  if (!password && !isPooled) return Client
  return class extends Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      if (password) Object.assign(this, { password })
      if (isPooled) Object.assign(this, { query: withoutNames(super.query.bind(this)) })
    }
  }
}

/** A statement with a name would be kept in a session that somebody else has next. */
function withoutNames(query: (...all: unknown[]) => unknown) {
  return (what: unknown, ...rest: unknown[]) => {
    const isStatement = typeof what === 'object' && what !== null && 'text' in what && !('submit' in what)
    return query(isStatement ? { ...what, name: undefined } : what, ...rest)
  }
}

type SessionSettings = Readonly<Record<string, string | number>>

function sessionSettings(options: ConnectOptions): SessionSettings {
  return {
    statement_timeout: options.statementTimeout,
    lock_timeout: options.lockTimeout,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    timezone: 'UTC',
    plan_cache_mode: 'force_generic_plan',
    // A plan that was made while a table was empty would go on reading it whole when it has grown.
    enable_seqscan: 'off',
    // Compiling a plan costs more than any of our statements takes.
    jit: 'off',
    // The login may have a role as its own setting, for sessions of a pooler.
    role: options.role || 'none',
    ...options.driver?.session,
  }
}

function commandLine(options: ConnectOptions): string {
  return Object.entries({ ...keepalives, ...sessionSettings(options) })
    .map(([name, value]) => `-c ${name}=${String(value).replaceAll(/([\\ ])/g, '\\$1')}`)
    .join(' ')
}

/** Runs one statement; every failure is a RefusedRows or a StoreUnavailable. */
export async function query<Row extends object>(
  pool: pg.Pool,
  statement: { readonly name?: string; readonly text: string; readonly values: unknown[] },
): Promise<readonly Row[]> {
  try {
    return (await pool.query<Row & pg.QueryResultRow>(statement)).rows
  } catch (error) {
    throw storeError(error, statement)
  }
}

/** The same, and another one in its transaction after what its triggers have done. */
export function queryThen<Row extends object>(
  pool: pg.Pool,
  statement: { readonly text: string; readonly values: unknown[] },
  after: string,
): Promise<readonly Row[]> {
  return inTransaction(pool, statement, async client => {
    const { rows } = await client.query<Row & pg.QueryResultRow>(statement)
    await client.query(after)
    return rows
  })
}

/** Runs several statements as one, named by `origin`; every failure is a RefusedRows or a StoreUnavailable. */
export async function inTransaction<Result>(
  pool: pg.Pool,
  origin: { readonly name?: string; readonly text?: string },
  use: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect().catch(error => Promise.reject(storeError(error)))
  let isBroken = false
  try {
    await client.query('begin')
    const result = await use(client)
    await client.query('commit')
    return result
  } catch (error) {
    isBroken = await client.query('rollback').then(
      () => false,
      () => true,
    )
    throw storeError(error, { ...origin, client })
  } finally {
    client.release(isBroken)
  }
}

interface ConnectionProblem {
  /** One sentence with what to do. */
  readonly text: string
  /** Whether it may pass by itself; what the configuration says wrongly does not. */
  readonly mayPass: boolean
}

/** SQLSTATEs of a user, a password, a database or a role that is not there or has no right. */
const lasting = new Set(['28P01', '28000', '3D000', '22023', '42501'])

/** Why a database cannot be used, of the address under `key`; undefined when it can. */
export async function findConnectionProblem(
  pool: pg.Pool,
  key: AddressKey = 'database.url',
): Promise<ConnectionProblem | undefined> {
  try {
    const { rows } = await pool.query<{ role: string }>(shutOut)
    if (!rows[0]) return undefined
    const { role } = rows[0]
    return {
      text: `${role} may not use the schema ingest: grant penstock_runtime to ${role}`,
      mayPass: false,
    }
  } catch (error) {
    const code = sqlState(error)
    if (isFromPooler(error)) return { text: poolerTexts[key], mayPass: false }
    const mayPass = code === undefined || !lasting.has(code)
    return {
      text: explain(code, error, new pg.Client(pool.options)).replaceAll('database.url', key),
      mayPass,
    }
  }
}

/** Who is in, and has no right at all where all else is. */
const shutOut = `
  select current_user::text as role from pg_namespace where nspname = 'ingest' and not has_schema_privilege(oid, 'usage')`

/** The same as a sentence only. */
export async function connectionProblem(pool: pg.Pool, key?: AddressKey): Promise<string | undefined> {
  return (await findConnectionProblem(pool, key))?.text
}

/** Why nothing can be written, though it answers; undefined where it can. Throws what the database throws. */
export async function readOnlyProblem(
  pool: pg.Pool,
  key: AddressKey = 'database.url',
): Promise<string | undefined> {
  const { rows } = await pool.query<{ standby: boolean; closed: boolean }>(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only')::boolean as closed`,
  )
  const { standby, closed } = rows[0]!
  if (standby) return `the database of ${key} is a standby, which takes no rows: name the primary`
  if (!closed) return undefined
  return `the database of ${key} takes no rows: it, or the user, was set to read only, as is done where a disk is full`
}

/** Which address is spoken of: one of the configuration, or that of the command line. */
export type AddressKey = 'database.url' | 'database.directUrl' | 'database.readUrl' | '--url'

const poolerTexts: Readonly<Record<AddressKey, string>> = {
  'database.url':
    'database.url is the address of a pooler: give that of the database itself as database.directUrl, and the login role ' +
    'its settings (docs/postgres.md, "Poolers")',
  'database.directUrl': 'database.directUrl is the address of a pooler: give that of the database itself',
  'database.readUrl': 'database.readUrl is the address of a pooler: give that of the database itself',
  '--url': '--url is the address of a pooler: give that of the database itself',
}

/** pgbouncer takes no settings of a session, and says so. */
function isFromPooler(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('unsupported startup parameter')
}

/**
 * Why sessions are not what they should be, though they can be had: a pooler may drop what a session is to be set to, and
 * of one that is known to be there the login role must have been given it. Throws what the database throws.
 */
export async function findSessionProblem(
  pool: pg.Pool,
  options: ConnectOptions,
  key: AddressKey = 'database.url',
): Promise<string | undefined> {
  const wanted = Object.entries(sessionSettings(options))
  const { rows } = await pool.query<{ name: string; role: string }>(differing, [
    wanted.map(([name]) => name),
    wanted.map(([, value]) => String(value)),
  ])
  if (rows.length === 0) return undefined
  if (!options.isPooled) return poolerTexts[key]
  const names = rows.map(({ name }) => name).join(', ')
  return (
    `sessions of the pooler at ${key} have other settings than they need (${names}): give them to the login role ` +
    `${rows[0]!.role} and have the pooler connect anew (docs/postgres.md, "Poolers")`
  )
}

/** The role is not among the settings that are listed. */
const differing = `
  select w.name, session_user::text as role
  from unnest($1::text[], $2::text[]) w(name, value) left join pg_settings s on lower(s.name) = w.name
  where w.value <> coalesce(s.setting, current_setting(w.name))`

/** Of the address it names what is no secret. */
function explain(code: string | undefined, error: unknown, { host, port, user }: pg.Client): string {
  switch (code) {
    case '28P01':
    case '28000':
      return 'the database refuses the user or the password of database.url'
    case '3D000':
      return 'the database named in database.url does not exist; create it, then run `penstock migrate up`'
    case '22023':
      return 'the role named in database.role does not exist; run `penstock migrate up` as a role that may create it'
    case '42501':
      return `${user}, the user of database.url, may not take the role named in database.role: grant that to ${user} with set true (Postgres 15 needs the last three words left out), or leave database.role empty`
    case '57P03':
      return 'the database is starting up or shutting down; try again'
    case '53300':
      return 'the database has no connection left; lower database.poolSize or raise max_connections'
    default: {
      // The driver has no code for it.
      if (error instanceof Error && error.message.includes('does not support SSL')) {
        return 'the database of database.url takes no TLS, which its sslmode asks for'
      }
      const reason = error instanceof Error && 'code' in error ? String(error.code) : 'no answer'
      return `the database of database.url, ${host}:${port}, cannot be reached (${reason})`
    }
  }
}

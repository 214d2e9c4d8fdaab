import pg from 'pg'
import type { Clock } from '../../src/clock/clock.ts'
import { readPassword, SUPERUSER } from './cluster.ts'
import { codeOf, EmbeddedPostgresError } from './errors.ts'

const DATABASE = 'penstock'
const MISSING_DATABASE = '3D000'
/** cannot_connect_now, and what a server that is just starting or stopping does to a socket. */
const NOT_NOW = ['57P03', 'ECONNREFUSED', 'ECONNRESET']
const PATIENCE_MS = 10_000

type State = 'ready' | 'missing' | 'starting'

/** The address of Penstock's database, password included, or undefined while its owner has yet to make it. */
export async function findDatabase(home: string, port: number): Promise<string | undefined> {
  const url = urlOf(await readPassword(home), port, DATABASE)
  return (await stateOf(url)) === 'ready' ? url : undefined
}

/** Makes the database if it is not there; for the owner alone. Throws what Postgres answered otherwise. */
export async function ensureDatabase(home: string, port: number, clock: Clock): Promise<string> {
  const password = await readPassword(home)
  const url = urlOf(password, port, DATABASE)
  const end = clock.monotonic() + PATIENCE_MS
  for (;;) {
    const state = await stateOf(url)
    if (state === 'ready') return url
    if (clock.monotonic() > end) {
      throw new EmbeddedPostgresError('start', `the embedded Postgres on port ${port} takes no connections`)
    }
    if (state === 'missing') await query(urlOf(password, port, SUPERUSER), `CREATE DATABASE ${DATABASE}`)
    else await clock.sleep(20)
  }
}

async function stateOf(url: string): Promise<State> {
  try {
    await query(url, 'SELECT 1')
    return 'ready'
  } catch (error) {
    const code = codeOf(error)
    if (code === MISSING_DATABASE) return 'missing'
    if (code && NOT_NOW.includes(code)) return 'starting'
    throw error
  }
}

async function query(connectionString: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000 })
  await client.connect()
  await client.query(text).finally(() => client.end())
}

function urlOf(password: string, port: number, database: string): string {
  return `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
}

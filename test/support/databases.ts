import pg from 'pg'
import { systemClock, systemRandom } from '../../src/clock/system.ts'
import type { TestServerAddress } from './postgres.ts'

export interface TestDatabase {
  readonly url: string
  drop(): Promise<void>
}

const OBJECT_IN_USE = '55006'

/** A copy of the template under a name of its own. */
export async function cloneFrom({ url, template }: TestServerAddress): Promise<TestDatabase> {
  const name = `${template.replace(/_template$/, '')}_${systemRandom.uuid().replaceAll('-', '')}`
  for (let attempt = 1; ; attempt++) {
    try {
      await execute(url, `CREATE DATABASE ${name} TEMPLATE ${template}`)
      break
    } catch (error) {
      // The migrating session may not have left the template yet.
      const inUse = error instanceof pg.DatabaseError && error.code === OBJECT_IN_USE
      if (!inUse || attempt >= 20) throw error
      await systemClock.sleep(50)
    }
  }
  return {
    url: databaseUrl(url, name),
    drop: () => execute(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

/** Drops all databases whose names begin with `prefix`. */
export async function dropDatabases(url: string, prefix: string): Promise<void> {
  await withClient(url, async client => {
    const { rows } = await client.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [prefix],
    )
    for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`)
  })
}

/** The address of another database on the same server. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

export async function execute(url: string, text: string): Promise<void> {
  await withClient(url, async client => {
    await client.query(text)
  })
}

async function withClient(url: string, work: (client: pg.Client) => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await work(client).finally(() => client.end())
}

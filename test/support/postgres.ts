import { systemRandom } from '../../src/clock/system.ts'
import { migrateUp } from '../../src/postgres/migrate.ts'
import { askBroker } from './broker.ts'
import { cloneFrom, databaseUrl, dropDatabases, execute, type TestDatabase } from './databases.ts'
import { chooseServer } from './servers.ts'

export type { TestDatabase } from './databases.ts'

/** What a worker needs to know to make databases of its own: nothing that cannot be sent as JSON. */
export interface TestServerAddress {
  readonly url: string
  readonly template: string
}

export interface TestServer extends TestServerAddress {
  readonly kind: 'docker' | 'embedded' | 'url'
  /** A fresh migrated database. */
  clone(): Promise<TestDatabase>
  /** Drops every database made here and stops the server, unless it was only borrowed. */
  stop(): Promise<void>
}

/**
 * A Postgres for tests, as TEST_PG says: auto (default: a container where an engine answers, else embedded),
 * docker, embedded, or the URL of a running server whose user may create databases and roles. TEST_PG_TEMPLATE names a
 * migrated database of that server, where there is one. For programs outside vitest; a test file calls `cloneDatabase`.
 */
export async function startTestServer(): Promise<TestServer> {
  const server = await chooseServer(process.env.TEST_PG || 'auto')
  process.stderr.write(`tests run on ${server.description}\n`)
  const prefix = `penstock_test_${systemRandom.uuid().slice(0, 8)}`
  const made = process.env.TEST_PG_TEMPLATE
  const template = made ?? `${prefix}_template`
  const stop = async () => {
    if (server.kind === 'url') await dropDatabases(server.url, prefix)
    await server.stop()
  }
  try {
    if (!made) {
      await execute(server.url, `CREATE DATABASE ${template}`)
      await migrateUp({ url: databaseUrl(server.url, template) })
    }
    return {
      kind: server.kind,
      url: server.url,
      template,
      clone: () => cloneFrom({ url: server.url, template }),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A migrated database of its own for one test file. The server is started by the first call of a run. */
export async function cloneDatabase(): Promise<TestDatabase> {
  const { inject } = await import('vitest')
  return cloneFrom(await askBroker(inject('postgresBroker')))
}

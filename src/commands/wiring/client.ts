import { type Client, type ClientPorts, createClient } from '../../client/client.ts'
import type { Note } from '../../client/ports.ts'
import type { Clock, Random } from '../../clock/clock.ts'
import type { Config } from '../../config/config.ts'
import { createQueue } from '../../engine/admission/queue.ts'
import { createTransport } from '../../http/transport.ts'
import { connect } from '../../postgres/connect.ts'
import { createIntentStore } from '../../postgres/intents.ts'
import { createLedger } from '../../postgres/ledger.ts'
import { migrateUp } from '../../postgres/migrate.ts'
import { engineSettings } from '../engine-settings.ts'
import { clientApps } from './client-apps.ts'
import { assertMigrated, openDatabase } from './database.ts'
import { openFences } from './fence.ts'
import { version } from './installation.ts'
import { credentialsOf, databasePassword, providersOf } from './services.ts'

/** Connections of a client to the database: it asks little of it. */
const poolSize = 2

export interface OpenOptions {
  readonly clock: Clock
  readonly random: Random
  readonly tell: (note: Note) => void
}

/**
 * The client of a configuration over real connections. The database is opened by the first request that is counted
 * there: most of the classroom's are not.
 */
export async function openConfigured(config: Config, options: OpenOptions): Promise<Client> {
  const { clock, random, tell } = options
  const { deadline } = engineSettings(config)
  const transport = createTransport({
    ...{ clock, random, providers: providersOf(config), credentials: await credentialsOf(config, clock) },
    limits: { total: deadline },
    proxy: await config.provider.proxy?.reveal(),
    userAgent: `penstock/${version}`,
  })
  let books: Promise<Books> | undefined
  const open = () => {
    books ??= openBooks(config, options)
    return books
  }
  return createClient({
    ...{ clock, random, transport, deadline, tell, ...overBooks(open) },
    queue: createQueue(),
    apps: clientApps(config),
    release: async () => {
      await transport.close()
      await (await books?.catch(() => undefined))?.close()
    },
  })
}

/** What is kept in the database. */
type Books = Pick<ClientPorts, 'ledger' | 'fences' | 'intents'> & { readonly close: () => Promise<void> }

async function openBooks(config: Config, { clock, random }: OpenOptions): Promise<Books> {
  const database = await openDatabase(config, { clock, whenOwned: 'join' })
  try {
    if ((await config.database.url.reveal()) === 'embedded') await migrateUp({ url: database.url })
    else await assertMigrated(database.url)
  } catch (error) {
    await database.stop()
    throw error
  }
  const { statementTimeout, lockTimeout, role } = config.database
  const password = await databasePassword(config, clock)
  const connection = { url: database.url, password, poolSize, statementTimeout, lockTimeout, role }
  const pool = connect(connection)
  const fences = openFences(connection, random)
  return {
    ledger: createLedger(pool),
    intents: createIntentStore(pool),
    fences,
    close: async () => {
      await fences.close()
      await pool.end()
      await database.stop()
    },
  }
}

/** The same ports, opened when they are first used. */
function overBooks(open: () => Promise<Books>): Pick<ClientPorts, 'ledger' | 'fences' | 'intents'> {
  return {
    ledger: {
      take: async debit => (await open()).ledger.take(debit),
      settle: async (...all) => (await open()).ledger.settle(...all),
      budget: async (...all) => (await open()).ledger.budget(...all),
    },
    fences: { acquire: async app => (await open()).fences.acquire(app) },
    intents: {
      find: async (app, name) => (await open()).intents.find(app, name),
      attempt: async intent => (await open()).intents.attempt(intent),
      done: async (...all) => (await open()).intents.done(...all),
      failed: async (app, name) => (await open()).intents.failed(app, name),
    },
  }
}

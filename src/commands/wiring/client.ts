import { type Client, type ClientPorts, createClient } from '../../client/client.ts'
import type { Note } from '../../client/ports.ts'
import { systemClock, systemRandom } from '../../clock/system.ts'
import type { Config } from '../../config/config.ts'
import { createQueue } from '../../engine/admission/queue.ts'
import { connect } from '../../postgres/connect.ts'
import { createLedger } from '../../postgres/ledger.ts'
import { migrateUp } from '../../postgres/migrate.ts'
import { createIntentStore } from '../../postgres/players.ts'
import { CommandError } from '../cli/exit.ts'
import { engineSettings } from '../engine-settings.ts'
import { clientApps } from './client-apps.ts'
import { assertMigrated, connectOptions, openDatabase } from './database.ts'
import { CommandFences } from './fence.ts'
import { credentialsOf, databasePassword, openTransport } from './services.ts'

/** Connections of a client to the database: it asks little of it. */
const poolSize = 2

/**
 * The client of a configuration over real connections. The database is opened by the first request that is counted
 * there: most of the classroom's are not.
 */
export async function openConfigured(config: Config, tell: (note: Note) => void): Promise<Client> {
  const { deadline } = engineSettings(config)
  const credentials = await credentialsOf(config, systemClock)
  const transport = await openTransport(config, { credentials, deadline })
  let stored: Promise<StoredPorts> | undefined
  const open = () => {
    stored ??= openStored(config)
    return stored
  }
  return createClient({
    ...{ clock: systemClock, random: systemRandom, transport, deadline, tell, ...openedWhenUsed(open) },
    queue: createQueue(),
    apps: clientApps(config),
    release: async () => {
      await transport.close()
      await (await stored?.catch(() => undefined))?.close()
    },
  })
}

/** The ports that the database stands behind. */
type DatabasePorts = Pick<ClientPorts, 'ledger' | 'fences' | 'intents'>
type StoredPorts = DatabasePorts & { readonly close: () => Promise<void> }

async function openStored(config: Config): Promise<StoredPorts> {
  const database = await openDatabase(config, 'join')
  try {
    const away = database.isEmbedded
      ? await migrateUp({ url: database.url }).then(() => undefined)
      : await assertMigrated(database.url)
    if (away) throw new CommandError(away)
  } catch (error) {
    await database.stop()
    throw error
  }
  const password = await databasePassword(config, systemClock)
  const connection = { ...connectOptions(config, database.url), password, poolSize }
  const pool = connect(connection)
  const fences = new CommandFences(connection)
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

function openedWhenUsed(open: () => Promise<StoredPorts>): DatabasePorts {
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

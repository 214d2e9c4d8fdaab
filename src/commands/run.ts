import { loadConfig } from '../config/load.ts'
import { assertSafeEnvironment } from '../http/egress.ts'
import { migrateUp } from '../postgres/migrate.ts'
import { untilToldToStop } from './cli/exit.ts'
import { forecastWarnings } from './forecast.ts'
import { startDaemon } from './wiring/daemon.ts'
import { assertMigrated, openDatabase } from './wiring/database.ts'

/**
 * The daemon, until SIGTERM, SIGINT or SIGHUP. An embedded database is migrated; any other must have been. It also ends
 * when nobody reads its log any more: one that runs mute would hide what goes wrong, and whoever started it starts it
 * anew, with a log.
 */
export async function run({ config: path }: { readonly config: string }): Promise<void> {
  assertSafeEnvironment(process.env)
  const config = await loadConfig(path, { env: process.env })
  const stopped = untilToldToStop()
  const database = await openDatabase(config, 'refuse')
  try {
    if (database.isEmbedded) await migrateUp({ url: database.url })
    const away = database.isEmbedded ? undefined : await assertMigrated(database.url)
    const daemon = await startDaemon({ config, databaseUrl: database.url })
    if (away) daemon.log.warn('waiting for the database', { reason: away })
    for (const warning of [...config.warnings, ...forecastWarnings(config)]) daemon.log.warn(warning)
    await daemon.stop(await stopped)
  } finally {
    await database.stop()
  }
}

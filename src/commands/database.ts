import type { Clock } from '../clock/clock.ts'
import type { Config } from '../config/config.ts'
import { loadConfiguredPostgres } from './workspaces.ts'

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

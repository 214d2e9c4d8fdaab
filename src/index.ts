/** The provider's operations as a library: typed, and through the same admission as the daemon's requests. */
// The check comes before all that fails without it.
import './commands/wiring/node-version.ts'
import type { Client } from './client/client.ts'
import type { Note } from './client/ports.ts'
import { openConfigured } from './commands/wiring/client.ts'
import { loadConfig, readConfig } from './config/load.ts'
import type { ConfigInput } from './config/schema.ts'

export { type Client, readBatch } from './client/client.ts'
export { CallError, type CallErrorKind } from './client/errors.ts'
export type { Note } from './client/ports.ts'
export type { Answer, AppClient, Arguments, CallOptions, Created } from './client/types.ts'
export { ConfigError, type Problem } from './config/problem.ts'
export type { ConfigInput } from './config/schema.ts'
export type { Batch } from './provider/classroom/index.ts'
export type { FailureKind, Trace } from './provider/errors.ts'
export type { Operations } from './provider/index.ts'
export { ParameterError } from './provider/operation.ts'

interface ClientOptions {
  /** Path of the configuration, or what would stand in it as an object. */
  readonly config: string | ConfigInput
  /** Hears what happens on the way to an answer, such as an attempt whose answer was lost. */
  readonly onNote?: (note: Note) => void
}

/** Opens a client. Rejects with ConfigError where the configuration is wrong. Close it when it is no longer needed. */
export async function openClient({ config, onNote = () => {} }: ClientOptions): Promise<Client> {
  const { env } = process
  const read =
    typeof config === 'string'
      ? await loadConfig(config, { env })
      : await readConfig(JSON.stringify(config), { name: 'config', env, folder: process.cwd() })
  return openConfigured(read, onNote)
}

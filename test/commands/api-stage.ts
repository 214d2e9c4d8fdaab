import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createSandbox,
  demoApp,
  type Listening,
  listen,
  type Sandbox,
  type SandboxOptions,
} from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { cloneDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Ended, penstock } from './penstock.ts'

/** A provider, a database, and the command between them. */
export interface ApiStage {
  readonly sandbox: Sandbox
  readonly database: TestDatabase
  /** Path of the configuration. */
  readonly config: string
  readonly folder: string
  /** Runs `penstock api` on the configuration. */
  readonly api: (words: readonly string[], env?: Readonly<Record<string, string>>) => Promise<Ended>
  readonly close: () => Promise<void>
}

export async function openApiStage(options: Omit<SandboxOptions, 'clock'>): Promise<ApiStage> {
  const database = await cloneDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'penstock-api-'))
  const sandbox = createSandbox({ clock: systemClock, ...options })
  const provider: Listening = await listen(sandbox)
  const config = join(folder, 'penstock.yaml')
  const { id, uid, token, plan, rest } = demoApp
  const { url } = provider
  const settings = {
    database: { url: database.url },
    provider: { classroom: { url }, analytics: { url }, players: { url } },
    apps: [{ id, region: 'ap', plan, classroom: { uid, token }, rest }],
  }
  // JSON is YAML too.
  await writeFile(config, JSON.stringify(settings), { mode: 0o600 })
  return {
    ...{ sandbox, database, config, folder },
    api: (words, env) => penstock(['api', ...words, '--config', config], env),
    close: async () => {
      await provider.close()
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Users of a channel must have different IDs: each player is given the next one. */
let uid = 100

/** A command line that makes a player. */
export const createPlayer = (name: string) => {
  uid += 1
  return [
    ...['players.createPlayer', '--name', name, '--channelName', 'room', '--uid', String(uid)],
    ...['--streamUrl', 'rtmp://media.example.com/live'],
  ]
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { listen, type Sandbox } from '../../sandbox/src/index.ts'
import { cloneDatabase } from '../support/postgres.ts'
import { type DaemonProcess, startDaemonProcess } from './daemon.ts'

/** A provider, a database and the configuration of a daemon between them. */
export interface Setting {
  readonly sandbox: Sandbox
  readonly databaseUrl: string
  /** Path of the configuration. */
  readonly config: string
  /** Starts the daemon; the former one must have ended. */
  start(): DaemonProcess
  /** Ends whatever runs and removes all of it. */
  close(): Promise<void>
}

export interface SettingOptions {
  /** The world begins to move when it is made, so that comes last of what takes long. */
  readonly makeSandbox: () => Sandbox
  /** What stands between the sandbox and the wire; the sandbox itself unless told. */
  readonly serve?: (sandbox: Sandbox) => Sandbox
  readonly configOf: (addresses: Addresses, sandbox: Sandbox) => object | Promise<object>
}

export interface Addresses {
  readonly databaseUrl: string
  readonly providerUrl: string
}

export async function openSetting(options: SettingOptions): Promise<Setting> {
  const { makeSandbox, serve = (sandbox: Sandbox) => sandbox, configOf } = options
  const database = await cloneDatabase()
  const directory = await mkdtemp(join(tmpdir(), 'penstock-e2e-'))
  const sandbox = makeSandbox()
  const provider = await listen(serve(sandbox))
  const config = join(directory, 'penstock.yaml')
  const addresses = { databaseUrl: database.url, providerUrl: provider.url }
  // JSON is YAML too.
  await writeFile(config, JSON.stringify(await configOf(addresses, sandbox)), { mode: 0o600 })
  const running: DaemonProcess[] = []
  return {
    sandbox,
    databaseUrl: database.url,
    config,
    start: () => {
      const daemon = startDaemonProcess(config)
      running.push(daemon)
      return daemon
    },
    close: async () => {
      for (const daemon of running) await daemon.kill()
      await provider.close()
      await database.drop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

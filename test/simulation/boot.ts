import type { Sandbox } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import { type Daemon, openDaemon } from '../../src/commands/run.ts'
import { readConfig } from '../../src/config/load.ts'
import type { FlushableLog } from '../../src/telemetry/log.ts'
import type { Kernel, Process } from './kernel.ts'
import { networkThrough } from './network.ts'
import { createPlainQueue } from './queue.ts'
import type { Server } from './server.ts'
import { sessionsThrough } from './session.ts'

export interface BootOptions {
  readonly process: Process
  readonly kernel: Kernel
  readonly server: Server
  readonly sandbox: () => Sandbox
  readonly random: Random
  /** The configuration, as an operator would write it. */
  readonly config: string
  /** Hears of what must never happen. */
  readonly accuse: (sentence: string) => void
}

/** Starts a daemon as `penstock run` does; time, chance and its lines to the world are the simulation's. */
export async function boot(options: BootOptions): Promise<Daemon> {
  const { process, kernel, server, sandbox, random, accuse } = options
  const config = await readConfig(options.config, { name: 'simulation', env: {}, folder: '.' })
  return openDaemon({
    config,
    databaseUrl: server.urlFor(process.name),
    log: listen(process, accuse),
    machine: {
      ...{ random, owner: process.name },
      clock: kernel.clockOf(process),
      queue: createPlainQueue(),
      agent: networkThrough(kernel, process, sandbox),
      driver: sessionsThrough({ kernel, process, server }),
    },
  })
}

/** Exceptions by which the world's faults reach the daemon; any other is a fault of the program. */
const expected: ReadonlySet<string> = new Set(['StoreUnavailable', 'TimedOut'])

function listen({ name }: Process, accuse: (sentence: string) => void): FlushableLog {
  const silent = () => {}
  return {
    ...{ debug: silent, info: silent, warn: silent, flush: silent },
    error: (message, fields) => {
      const { error } = (fields ?? {}) as { readonly error?: unknown }
      if (!(error instanceof Error) || expected.has(error.name)) return
      accuse(`${name} ${message}: ${error.stack}`)
    },
  }
}

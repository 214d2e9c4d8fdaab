import type { Sandbox } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import { type Daemon, openDaemon } from '../../src/commands/run.ts'
import type { Config } from '../../src/config/config.ts'
import { readConfig } from '../../src/config/load.ts'
import { createPlainQueue } from '../../src/engine/admission/queue.ts'
import type { StoreUnavailable } from '../../src/engine/ports.ts'
import type { FlushableLog } from '../../src/telemetry/log.ts'
import type { Kernel, Process } from './kernel.ts'
import { networkThrough } from './network.ts'
import type { Server } from './server.ts'
import { sessionsThrough } from './session.ts'
import type { ShardQueue } from './shards.ts'

export interface BootOptions {
  readonly process: Process
  readonly kernel: Kernel
  readonly server: Server
  readonly sandbox: () => Sandbox
  readonly random: Random
  readonly shards: ShardQueue
  /** What the configuration says when it starts. */
  readonly config: () => Promise<Config>
  /** Hears of what must never happen. */
  readonly accuse: (sentence: string) => void
}

/** Starts a daemon as `penstock run` does; time, chance and its lines to the world are the simulation's. */
export async function boot(options: BootOptions): Promise<Daemon> {
  const { process, kernel, server, sandbox, random, shards, accuse } = options
  return openDaemon({
    config: await options.config(),
    databaseUrl: server.urlFor(process.name),
    log: listen(process, accuse),
    machine: {
      ...{ random, owner: process.name },
      clock: kernel.clockOf(process),
      queue: createPlainQueue(),
      agent: networkThrough(kernel, process, sandbox, () => shards.sending(process)),
      driver: sessionsThrough({ kernel, process, server }),
      // A run of many hours is spared most of the steps in which nothing changes hands.
      ...{ jobs: shards.seenBy(process, server), renewEvery: 4_500 },
      // Few pages wait at one time in a run: that single ones go as groups now and then shows what becomes of groups.
      grouping: { least: draw(random, 4) === 0 ? 1 : 2, writers: 1 + draw(random, 2) },
    },
  })
}

/** What the text of a configuration says. */
export function configFrom(text: string): Promise<Config> {
  return readConfig(text, { name: 'simulation', env: {}, folder: '.' })
}

/** Which of so many. */
function draw(random: Random, many: number): number {
  return Math.floor(random.next() * many)
}

/** insufficient_privilege: no fault of the world takes a right away. */
const missingRight = '42501'

/** Whether an exception may be the world's doing: its faults reach the daemon as a database that is not available. */
function isOfTheWorld(error: Error): boolean {
  return error.name === 'StoreUnavailable' && (error as StoreUnavailable).code !== missingRight
}

function listen({ name }: Process, accuse: (sentence: string) => void): FlushableLog {
  const silent = () => {}
  return {
    ...{ debug: silent, info: silent, warn: silent, flush: silent, setLevel: silent },
    error: (message, fields) => {
      const { error } = (fields ?? {}) as { readonly error?: unknown }
      if (!(error instanceof Error) || isOfTheWorld(error)) return
      accuse(`${name} ${message}: ${error.stack}`)
    },
  }
}

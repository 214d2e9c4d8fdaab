import type { Sandbox } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import type { Log, Meter } from '../../src/engine/ports.ts'
import { Engine, type EngineContext } from '../../src/engine/supervisor.ts'
import { connect, defaultConnection } from '../../src/postgres/connect.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import { createOwnership } from '../../src/postgres/ownership.ts'
import { createStore } from '../../src/postgres/store.ts'
import { configuredStreams, streams } from '../../src/streams/index.ts'
import type { Deployment } from '../../src/streams/stream.ts'
import type { Kernel, Process } from './kernel.ts'
import type { Mutant } from './mutants.ts'
import { throughKernel } from './ports.ts'
import { createInProcessTransport } from './provider.ts'
import { createPlainQueue } from './queue.ts'
import { ownershipTtl, type Scenario } from './scenario.ts'
import type { Watch } from './watch.ts'

export interface BootOptions {
  readonly process: Process
  readonly url: string
  readonly kernel: Kernel
  readonly random: Random
  readonly sandbox: Sandbox
  readonly scenario: Pick<Scenario, 'settings'>
  /** How the streams are asked; as the documents have it unless told. */
  readonly deployment?: Deployment
  readonly watch: Watch
  readonly mutant: Mutant | undefined
  /** How long a shard stays owned without a renewal, ms. */
  readonly ttl?: number
  /** Changes what the engine is started with. */
  readonly alter?: Alteration | undefined
  readonly setTime: () => Promise<void>
}

/** Puts something else in the place of parts of the engine; each process has its own. */
export type Alteration = (parts: EngineParts, process: Process) => EngineParts
export type EngineParts = Pick<EngineContext, 'store' | 'ledger' | 'transport' | 'streams' | 'settings'>

export interface Daemon {
  /** Has the players of an app listed anew, because something is said to have happened. */
  readonly want: (app: string) => void
  /** Closes what is left of its connections. */
  readonly close: () => Promise<void>
}

const noMeter: Meter = {
  request: () => {},
  page: () => {},
  rows: () => {},
  commit: () => {},
  deadLetters: () => {},
  divergences: () => {},
  ignored: () => {},
  limitViolation: () => {},
  debit: () => {},
  schedule: () => {},
  owned: () => {},
  backlog: () => {},
  budget: () => {},
  lossAhead: () => {},
  quality: () => {},
  clockDoubt: () => {},
}

/** How long a statement takes is the machine's affair and none of the world, ms. */
const patient = { statementTimeout: 3_600_000, lockTimeout: 3_600_000, connectTimeout: 3_600_000 }

/** Starts a daemon as production wires it, over the same Postgres code, with the world behind the kernel. */
export function bootDaemon(options: BootOptions): Daemon {
  const { process, kernel, random, sandbox, scenario, watch, mutant, setTime } = options
  const { settings } = scenario
  const asked = options.deployment ? configuredStreams(options.deployment) : Object.values(streams)
  const clock = kernel.clockOf(process)
  const connection = { ...defaultConnection, ...patient, url: options.url, poolSize: 2 }
  const pool = connect(connection)
  const store = createStore(pool, {
    streams: asked,
    roomMemory: settings.roomMemory,
    region: () => 'eu',
    sequenceScope: settings.reading.sequenceScope,
  })
  const ownership = createOwnership({
    ...connection,
    owner: process.name,
    shards: settings.shards,
    ttl: options.ttl ?? ownershipTtl,
  })
  const plant = (place: Mutant['place'], ports: Parameters<Mutant['plant']>[0]) =>
    mutant?.place === place ? mutant.plant(ports, watch.present) : ports
  const real = { ...plant('database', { store, ledger: createLedger(pool) }), ownership }
  const calls = throughKernel(watch.over(real), { kernel, process, setTime })
  const transport = createInProcessTransport({ kernel, process, clock, sandbox, deadline: settings.deadline })
  const { alter = (parts: EngineParts) => parts } = options
  const engine = new Engine({
    ...alter({ ...plant('calls', calls), transport, streams: asked, settings }, process),
    ownership: calls.ownership,
    meter: noMeter,
    log: listen(watch, process),
    clock,
    random,
    queue: createPlainQueue(),
  })
  return {
    want: app => engine.schedule(app, 'cloud-players'),
    close: async () => {
      await ownership.close()
      await pool.end()
    },
  }
}

/** Exceptions by which the world's faults reach the engine; any other is a fault of the program. */
const expected: ReadonlySet<string> = new Set(['StoreUnavailable', 'TimedOut'])

function listen(watch: Watch, process: Process): Log {
  const silent = () => {}
  return {
    debug: silent,
    info: silent,
    warn: silent,
    error: (message, fields) => {
      const { error } = (fields ?? {}) as { readonly error?: unknown }
      if (!(error instanceof Error) || expected.has(error.name)) return
      watch.add(`${process.name} ${message}: ${error.stack}`)
    },
  }
}

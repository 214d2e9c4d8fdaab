import type { Sandbox } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import type { Daemon } from '../../src/commands/run.ts'
import type { Config } from '../../src/config/config.ts'
import { boot } from './boot.ts'
import type { Kernel, Process } from './kernel.ts'
import type { Server } from './server.ts'
import { ShardQueue } from './shards.ts'

export interface ProcessesOptions {
  readonly kernel: Kernel
  /** What the configuration says now. */
  readonly config: () => Promise<Config>
  readonly server: () => Server
  readonly sandbox: () => Sandbox
  /** Chance of its own for each purpose. */
  readonly random: (purpose: string) => Random
  /** How long the next one takes to come back, virtual ms. */
  readonly restart: () => number
  /** How far each one's clock is ahead when it starts, ms. */
  readonly ahead?: number | undefined
  /** Nothing breaks: whoever gives a shard back has come to its end with its apps. */
  readonly isUnbroken?: boolean
  /** Something that no process may do was done. */
  readonly accuse: (sentence: string) => void
}

/** A process that lives. */
export interface Running {
  readonly process: Process
  readonly daemon: Daemon
}

/** The daemons of a run, each in its slot: who ends there comes back as another one. */
export class Processes {
  /** All that ever were. */
  readonly all: Process[] = []
  readonly #options: ProcessesOptions
  readonly #running = new Map<string, Running>()
  readonly #shards: ShardQueue
  #isAsleep = false

  constructor(options: ProcessesOptions) {
    this.#options = options
    this.#shards = new ShardQueue(options.kernel, options.accuse, options.isUnbroken)
  }

  get boots(): number {
    return this.all.length
  }

  living(): readonly Running[] {
    return [...this.#running.values()]
  }

  async boot(slot: string): Promise<void> {
    const { kernel, config, server, sandbox, random, ahead = 0, accuse } = this.#options
    const name = `${slot}.${this.boots + 1}`
    const clockSettings = [{ from: kernel.now, ahead }]
    const process: Process = {
      name,
      isAlive: true,
      frozenUntil: 0,
      clockSettings,
      stoodStill: [],
      arrived: [],
    }
    this.all.push(process)
    const daemon = await boot({
      ...{ process, kernel, server: server(), sandbox, random: random(process.name) },
      ...{ shards: this.#shards, config, accuse },
    })
    this.#running.set(slot, { process, daemon })
  }

  /** All that live read the configuration again. */
  async reload(): Promise<void> {
    const { config, accuse } = this.#options
    const next = await config()
    for (const { process, daemon } of this.living())
      await daemon.takeOver(next, 'SIGHUP').catch((error: unknown) => accuse(`${process.name} ${error}`))
  }

  /** Whoever holds a shard is taken for dead, as by one that dies before it takes any. */
  lapse(): void {
    this.#shards.lapse()
  }

  /** One is told to end, and does. */
  async handOver(slot: string): Promise<void> {
    const running = this.#running.get(slot)
    if (!running) return
    await running.daemon.stop()
    if (this.#running.get(slot) === running) await this.#options.kernel.kill(running.process)
  }

  /** Whoever is told so by the kernel is dead already. */
  async afterKill({ name }: Process): Promise<void> {
    const { kernel, restart, server } = this.#options
    const [slot] = name.split('.') as [string]
    this.#running.delete(slot)
    if (!this.#isAsleep) kernel.after(restart(), undefined, () => this.boot(slot))
    await server().endOf(name)
  }

  /** All end, and nobody comes back until they are woken and booted. */
  async sleep(): Promise<void> {
    this.#isAsleep = true
    await Promise.all([...this.#running.keys()].map(slot => this.handOver(slot)))
  }

  wake(): void {
    this.#isAsleep = false
  }
}

import { createSandbox, type FaultRule, type Sandbox } from '../../sandbox/src/index.ts'
import { seededRandom } from '../../src/clock/seeded.ts'
import type { TestDatabase } from '../support/databases.ts'
import { bootDaemon, type Daemon } from './daemon.ts'
import { openVirtualDatabase, type VirtualDatabase } from './database.ts'
import { createFaults, type FaultClass, type Faults } from './faults.ts'
import { Kernel, type Process } from './kernel.ts'
import { type MutantName, mutants } from './mutants.ts'
import { examineClassroom } from './oracle/classroom.ts'
import type { Examination, Finding } from './oracle/examination.ts'
import { type Demands, drawScenario, healingTime, type Scenario } from './scenario.ts'
import { createTrace, type Trace } from './trace.ts'
import { createWatch, type Watch } from './watch.ts'

export interface RunOptions {
  readonly seed: number
  /** Virtual time with faults, ms. */
  readonly length: number
  readonly mutant?: MutantName | undefined
  /** Makes the run one in which this mutant would matter, without planting it. */
  readonly like?: MutantName | undefined
  /** Looks at what there is when all is over, before the database is dropped. */
  readonly inspect?: (examination: Examination) => Promise<void>
  readonly cloneDatabase: () => Promise<TestDatabase>
}

export interface RunResult {
  readonly findings: readonly Finding[]
  readonly passed: boolean
  /** What must never happen and happened, with its time. */
  readonly breaches: readonly string[]
  readonly trace: Trace
  readonly scenario: Scenario
  readonly faults: readonly FaultClass[]
  /** Virtual ms from the beginning to the end. */
  readonly elapsed: number
  /** How long after the faults ended nothing was missing any more, ms; undefined when that did not come. */
  readonly healedAfter: number | undefined
  /** Events that the provider made, and processes that were started. */
  readonly events: number
  readonly boots: number
}

/** Monday, 5 January 2026, 08:00 UTC. */
const start = Date.UTC(2026, 0, 5, 8)
const slots = ['one', 'two']
const healingStep = 3 * 60_000

/** Calls that an event takes, all in all, where answers hold many. */
const callsAnEvent = 4

/** One run: faults, then none, then nothing may be missing. Equal seeds give equal traces. */
export async function runSimulation(options: RunOptions): Promise<RunResult> {
  const { length, cloneDatabase } = options
  const database = await openVirtualDatabase(await cloneDatabase())
  try {
    return await new Run(options, database).play(length)
  } finally {
    await database.drop()
  }
}

class Run {
  /** Neighbouring seeds would begin alike. */
  readonly #key: string
  readonly #mutant: MutantName | undefined
  readonly #length: number
  readonly #inspect: RunOptions['inspect']
  readonly #database: VirtualDatabase
  readonly #faults: Faults
  readonly #scenario: Scenario
  readonly #trace = createTrace()
  readonly #watch: Watch
  readonly #kernel: Kernel
  readonly #sandbox: Sandbox
  readonly #daemons = new Map<Process, Daemon>()
  readonly #boots = new Map<string, number>()

  constructor({ seed, length, mutant, like = mutant, inspect }: RunOptions, database: VirtualDatabase) {
    this.#key = seededRandom(seed).uuid()
    this.#mutant = mutant
    this.#length = length
    this.#inspect = inspect
    this.#database = database
    const demands: Demands = like ? mutants[like].demands : {}
    this.#faults = createFaults(
      this.#random('faults'),
      demands.faults,
      () => this.#shareOfFaults(),
      demands.shortestStall,
    )
    this.#scenario = drawScenario(seed, demands, length)
    this.#watch = createWatch(() => this.#kernel)
    this.#kernel = new Kernel({
      start,
      random: this.#random('order'),
      faults: this.#faults,
      trace: this.#trace,
      onKill: process => this.#afterKill(process),
    })
    const { switches, refusals: faults, profile, apps } = this.#scenario
    this.#sandbox = createSandbox({ clock: this.#kernel.clock, seed, switches, faults, profile, apps })
  }

  async play(length: number): Promise<RunResult> {
    for (const slot of slots) this.#boot(slot)
    this.#scheduleMaintenance()
    await this.#kernel.runUntil(length)
    this.#faults.heal()
    this.#sandbox.faults.set([])
    this.#sandbox.universe.pause()
    let healedAfter: number | undefined
    for (const { kind, text } of await this.#examine(false))
      this.#watch.add(`${kind} before the end: ${text}`)
    let findings = await this.#examine(true)
    for (let healing = 0; healing < healingTime && healedAfter === undefined; healing += healingStep) {
      await this.#kernel.runUntil(length + healing + healingStep)
      findings = await this.#examine(true)
      if (findings.length === 0) healedAfter = healing + healingStep
    }
    await this.#inspect?.(this.#examination(true))
    for (const process of [...this.#daemons.keys()]) await this.#kernel.kill(process)
    const { breaches } = this.#watch
    return {
      findings,
      passed: findings.length === 0 && breaches.length === 0,
      breaches,
      trace: this.#trace,
      scenario: this.#scenario,
      faults: this.#faults.classes,
      elapsed: this.#kernel.now,
      healedAfter,
      events: this.#events(),
      boots: [...this.#boots.values()].reduce((sum, boots) => sum + boots, 0),
    }
  }

  #scheduleMaintenance(): void {
    const { maintenance, refusals, apps } = this.#scenario
    if (!maintenance) return
    const page: FaultRule = { kind: 'html', app: apps[0]!.id, rate: 1 }
    this.#kernel.after(maintenance.from, undefined, () => this.#sandbox.faults.set([page, ...refusals]))
    this.#kernel.after(maintenance.to, undefined, () => this.#sandbox.faults.set(refusals))
  }

  #events(): number {
    return [...this.#sandbox.universe.apps].reduce((sum, { eventsMade }) => sum + eventsMade, 0)
  }

  /** Faults strike calls, and no more of them an event where each event takes a hundred. */
  #shareOfFaults(): number {
    return Math.min(1, (callsAnEvent * this.#events()) / Math.max(1, this.#trace.entries.length))
  }

  /** Chance of its own for each purpose, so that a new draw in one changes nothing in the others. */
  #random(purpose: string) {
    return seededRandom(`${this.#key}/${purpose}`)
  }

  #boot(slot: string): void {
    const life = (this.#boots.get(slot) ?? 0) + 1
    this.#boots.set(slot, life)
    const process: Process = { name: `${slot}.${life}`, isAlive: true, frozenUntil: 0 }
    const daemon = bootDaemon({
      process,
      url: this.#database.urlFor(process.name),
      kernel: this.#kernel,
      random: this.#random(process.name),
      sandbox: this.#sandbox,
      scenario: this.#scenario,
      watch: this.#watch,
      mutant: this.#mutant && mutants[this.#mutant],
      setTime: () => this.#database.setTime(start + this.#kernel.now),
    })
    this.#daemons.set(process, daemon)
  }

  async #afterKill(process: Process): Promise<void> {
    await this.#database.terminate(process.name)
    await this.#daemons.get(process)?.close()
    this.#daemons.delete(process)
    const [slot] = process.name.split('.')
    this.#kernel.after(this.#faults.restart(), undefined, () => this.#boot(slot!))
  }

  #examine(isEnd: boolean): Promise<readonly Finding[]> {
    return examineClassroom(this.#examination(isEnd))
  }

  #examination(isEnd: boolean): Examination {
    const { classes } = this.#faults
    const { settings, streams } = this.#scenario
    return {
      sandbox: this.#sandbox,
      rows: this.#database.rows as Examination['rows'],
      start,
      healed: start + this.#length,
      end: start + this.#kernel.now,
      apps: settings.apps.map(({ id, region, regions = [] }) => {
        const names = regions.map(({ name }) => name)
        return { id, plan: 'premium', regions: names.length > 0 ? names : [region] }
      }),
      faults: [],
      isInterrupted: classes.includes('kill') || classes.includes('stall'),
      isEnd,
      streams,
    }
  }
}

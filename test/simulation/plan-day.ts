import { type CallsProfile, createSandbox, type Sandbox, type Switches } from '../../sandbox/src/index.ts'
import type { Random } from '../../src/clock/clock.ts'
import { seededRandom } from '../../src/clock/seeded.ts'
import { deploymentOf, engineSettings } from '../../src/commands/engine-settings.ts'
import { readConfig } from '../../src/config/load.ts'
import type { AppSettings } from '../../src/engine/settings.ts'
import type { AnalyticsLimitReading } from '../../src/provider/analytics/index.ts'
import type { Plan } from '../../src/provider/limits.ts'
import type { WindowSettings } from '../../src/streams/stream.ts'
import type { TestDatabase } from '../support/databases.ts'
import { type Alteration, bootDaemon, type Daemon } from './daemon.ts'
import { openVirtualDatabase, type VirtualDatabase } from './database.ts'
import type { Faults } from './faults.ts'
import { Kernel, type Process } from './kernel.ts'
import { examineAnalytics } from './oracle/analytics.ts'
import type { Examination, Finding } from './oracle/examination.ts'
import type { FaultWindow } from './plan-draw.ts'
import { examinePlan, type PlanFindings } from './plan-oracle.ts'
import { createTrace } from './trace.ts'
import { createWatch, type Watch } from './watch.ts'

export interface PlanDayOptions {
  readonly plan: Plan
  readonly seed: number
  /** Virtual time, ms. */
  readonly length: number
  readonly profile: Omit<CallsProfile, 'kind'>
  readonly switches?: Partial<Switches>
  /** How often a process is killed and started again, evenly over the time. */
  readonly kills?: number
  /** Nothing runs between these moments, ms from the beginning. */
  readonly outage?: { readonly from: number; readonly to: number }
  /** Rules of faults, each in force between these moments, ms from the beginning. */
  readonly faults?: readonly FaultWindow[]
  /** Processes at once on one database; each app is drained by one of them. */
  readonly processes?: number
  /** Projects that share one credential. */
  readonly apps?: number
  /** Of one project more on the same credential. */
  readonly otherPlan?: Plan | undefined
  /** What the operator says of endpoints with one table of limits. */
  readonly reading?: AnalyticsLimitReading
  /** One-way delays on the way to the provider and back, ms at most. */
  readonly delay?: number
  /** Share of the calls to the database whose line breaks, before they arrive or before they are answered. */
  readonly cuts?: number
  /** Share of the calls to the database with whose answer in its hands a process stands still for a minute. */
  readonly stalls?: number
  /** How long before the end a call must have begun to be looked for, ms. */
  readonly settled?: number
  /** YAML below `streams:`, each line indented by two blanks. */
  readonly streams?: string
  /** Real time of one metric a stream is asked of the channels in which something goes on, too. */
  readonly channels?: 'live' | undefined
  /** A bug, to see whether it is found. */
  readonly bug?: PlantedBug
  readonly cloneDatabase: () => Promise<TestDatabase>
}

/** Changes to the functions in the database, and to what the engine of each process is made of. */
export interface PlantedBug {
  readonly patches?: readonly Patch[]
  readonly alter?: Alteration
}

/** Replaces a text in the body of a function, wherever it stands. */
export interface Patch {
  readonly function: string
  readonly from: string
  readonly to: string
}

export interface PlanDayResult extends PlanFindings {
  /** What must never happen and happened. */
  readonly breaches: readonly string[]
  readonly findings: readonly Finding[]
  readonly boots: number
}

/** Monday, 5 January 2026, 08:00 UTC. */
const start = Date.UTC(2026, 0, 5, 8)
const longestRestart = 20_000
/** How often a shard is renewed that is owned for as long as the other simulation says, ms. */
const renewEvery = 10_000

/** Drains the call analytics of a plan in virtual time, over a real Postgres and the sandbox's own limiter. */
export async function runPlanDay(options: PlanDayOptions): Promise<PlanDayResult> {
  const database = await openVirtualDatabase(await options.cloneDatabase())
  try {
    for (const patch of options.bug?.patches ?? []) await apply(patch, database)
    return await (await PlanDay.prepare(options, database)).play()
  } finally {
    await database.drop()
  }
}

async function apply({ function: name, from, to }: Patch, { rows }: VirtualDatabase): Promise<void> {
  const [row] = await rows<{ text: string }>(`select pg_get_functiondef('${name}'::regproc) as text`)
  if (!row!.text.includes(from)) throw new Error(`${name} has changed: there is no ${from} in it any more`)
  await rows(row!.text.replaceAll(from, to))
}

class PlanDay {
  readonly #options: PlanDayOptions
  readonly #database: VirtualDatabase
  readonly #config: Awaited<ReturnType<typeof readConfig>>
  readonly #kernel: Kernel
  readonly #watch: Watch
  readonly #sandbox: Sandbox
  readonly #daemons = new Map<string, { readonly process: Process; readonly daemon: Daemon }>()
  #boots = 0

  static async prepare(options: PlanDayOptions, database: VirtualDatabase): Promise<PlanDay> {
    const config = await readConfig(configText(options), { name: 'plan', env: {}, folder: '.' })
    return new PlanDay(options, database, config)
  }

  private constructor(
    options: PlanDayOptions,
    database: VirtualDatabase,
    config: Awaited<ReturnType<typeof readConfig>>,
  ) {
    const { seed, switches = {}, profile } = options
    this.#options = options
    this.#database = database
    this.#config = config
    this.#watch = createWatch(() => this.#kernel)
    this.#kernel = new Kernel({
      start,
      random: this.#random('order'),
      faults: troubles(options, this.#random('delays')),
      trace: createTrace(),
      onKill: async process => {
        await this.#database.terminate(process.name)
      },
    })
    const rest = { key: 'key', secret: 'secret' }
    const apps = config.apps.map(({ id, plan }) => ({ id, uid: 'u', token: 't', plan, rest }))
    this.#sandbox = createSandbox({
      ...{ clock: this.#kernel.clock, seed, switches, apps },
      profile: { kind: 'calls', ...profile },
    })
  }

  async play(): Promise<PlanDayResult> {
    const { processes = 1, kills = 0, length } = this.#options
    const slots = Array.from({ length: processes }, (_, n) => `slot${n}`)
    for (const slot of slots) this.#boot(slot)
    const random = this.#random('kills')
    for (let n = 0; n < kills; n++) {
      const slot = slots[n % slots.length]!
      this.#kernel.after(((n + random.next()) * length) / kills, undefined, () =>
        this.#restart(slot, random.next()),
      )
    }
    this.#scheduleFaults()
    const { outage } = this.#options
    if (outage) {
      await this.#kernel.runUntil(outage.from)
      for (const slot of slots) await this.#kill(slot)
      await this.#kernel.runUntil(outage.to)
      for (const slot of slots) this.#boot(slot)
    }
    await this.#kernel.runUntil(length)
    const end = start + length
    const { switches = {}, faults = [] } = this.#options
    const findings = await examinePlan({
      ...{ sandbox: this.#sandbox, database: this.#database, switches, faults, start, end },
      settled: this.#options.settled ?? 7_200_000,
      realtimeSeries: realtimeSeries(engineSettings(this.#config).apps),
      plans: Object.fromEntries(this.#config.apps.map(({ id, plan }) => [id, plan])),
      reading: this.#options.reading ?? 'joint',
    })
    const judged = await examineAnalytics(this.#examination(end))
    for (const { process, daemon } of this.#daemons.values()) {
      await this.#kernel.kill(process)
      await daemon.close()
    }
    return { ...findings, findings: judged, breaches: this.#watch.breaches, boots: this.#boots }
  }

  #examination(end: number): Examination {
    const { faults = [], kills = 0, outage, cuts = 0, stalls = 0, reading } = this.#options
    const { apps } = engineSettings(this.#config)
    const seriesOf = ({ windows }: AppSettings) =>
      Object.entries(windows).map(
        ([stream, { series = [] }]) => [stream, series.map(({ key }) => key)] as const,
      )
    return {
      sandbox: this.#sandbox,
      rows: async <Row>(text: string) => (await this.#database.rows<Row & object>(text)) as readonly Row[],
      ...{ start, end, faults, isEnd: true },
      healed: start + Math.max(0, ...faults.map(({ to }) => to)),
      isInterrupted: kills + cuts + stalls > 0 || outage !== undefined,
      apps: this.#config.apps.map(({ id, plan }) => ({ id, plan, regions: ['eu'] })),
      streams: [...new Set(apps.flatMap(({ windows, details }) => Object.keys({ ...windows, ...details })))],
      ...(reading && { counters: reading }),
      series: Object.fromEntries(apps.flatMap(seriesOf)),
    }
  }

  #scheduleFaults(): void {
    const { faults = [] } = this.#options
    const arm = () => {
      const { now } = this.#kernel
      const inForce = faults.filter(({ from, to }) => from <= now && now < to)
      this.#sandbox.faults.set(inForce.flatMap(({ rules }) => rules))
    }
    for (const moment of faults.flatMap(({ from, to }) => [from, to])) {
      this.#kernel.after(moment, undefined, arm)
    }
  }

  /** Like kill -9, and whatever starts it again comes back a little later. */
  async #restart(slot: string, chance: number): Promise<void> {
    if (await this.#kill(slot))
      this.#kernel.after(500 + chance * longestRestart, undefined, () => this.#boot(slot))
  }

  async #kill(slot: string): Promise<boolean> {
    const running = this.#daemons.get(slot)
    if (!running) return false
    this.#daemons.delete(slot)
    await this.#kernel.kill(running.process)
    await running.daemon.close()
    return true
  }

  #boot(slot: string): void {
    this.#boots += 1
    const process: Process = { name: `${slot}.${this.#boots}`, isAlive: true, frozenUntil: 0 }
    const settings = engineSettings(this.#config)
    const daemon = bootDaemon({
      process,
      url: this.#database.urlFor(process.name),
      kernel: this.#kernel,
      random: this.#random(process.name),
      sandbox: this.#sandbox,
      scenario: {
        settings: { ...settings, renewEvery, apps: settings.apps.map(app => ({ ...app, streams: {} })) },
      },
      deployment: deploymentOf(this.#config),
      watch: this.#watch,
      mutant: undefined,
      alter: this.#options.bug?.alter,
      setTime: () => this.#database.setTime(start + this.#kernel.now),
    })
    this.#daemons.set(slot, { process, daemon })
  }

  /** Chance of its own for each purpose, so that a new draw in one changes nothing in the others. */
  #random(purpose: string) {
    return seededRandom(`${this.#options.seed}/${purpose}`)
  }
}

/** Questions of real time at once at most, by stream. */
function realtimeSeries(apps: readonly AppSettings[]): Readonly<Record<string, number>> {
  const asked = ({ series = [], live }: WindowSettings) =>
    series.length + (live ? live.most * live.of('a channel').length : 0)
  return Object.fromEntries(
    ['realtime-usage', 'realtime-quality'].map(stream => {
      const each = apps.flatMap(({ windows }) => windows[stream] ?? []).map(asked)
      return [stream, each.reduce((sum, count) => sum + count, 0)]
    }),
  )
}

/** Where the process must be stopped so long that its request can no longer arrive, ms. */
const shortestStall = 45_000

function troubles({ delay = 40, cuts = 0, stalls = 0 }: PlanDayOptions, random: Random): Faults {
  return {
    classes: ['latency'],
    draw: kind => {
      if (kind === 'provider' || cuts + stalls === 0) return undefined
      const chance = random.next()
      if (chance < cuts) return chance < cuts / 2 ? 'cut' : 'lost answer'
      return chance < cuts + stalls ? 'stall' : undefined
    },
    latency: kind => (kind === 'provider' ? Math.ceil(random.next() ** 2 * delay) : 0),
    stall: () => shortestStall + Math.ceil(random.next() * 30_000),
    restart: () => 0,
    heal: () => {},
  }
}

const liveChannels = `
  realtime-usage: { metrics: [userCount], channels: live }
  realtime-quality: { metrics: [networkDelay], channels: live }`

function configText(options: PlanDayOptions): string {
  const { plan, apps = 1, otherPlan, reading = 'joint', streams = '', channels } = options
  const plans = [...Array.from({ length: apps }, () => plan), ...(otherPlan ? [otherPlan] : [])]
  const each = plans.map(
    (said, n) => `
  - id: app${n}
    region: eu
    plan: ${said}
    rest: { key: key, secret: secret }
    classroom: { uid: u, token: t }`,
  )
  return `
database: { url: embedded }
provider:
  classroom: { url: http://127.0.0.1:1 }
  analytics: { url: http://127.0.0.1:1, limits: ${reading} }
streams:
${streams || '  calls: { every: 1m }'}${channels ? liveChannels : ''}
apps:${each.join('')}
`
}

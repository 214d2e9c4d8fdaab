import { type AppOptions, createSandbox, type Sandbox } from '../../sandbox/src/index.ts'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import type { Config } from '../../src/config/config.ts'
import type { TestDatabase } from '../support/databases.ts'
import { configFrom } from './boot.ts'
import { happenedIn } from './coverage.ts'
import { borne, type Demands, monday } from './demands.ts'
import { type Drawn, draw, healingTime } from './draw.ts'
import { Examiner, type Findings } from './examiner.ts'
import { callFaults, createFaults, type Faults } from './faults.ts'
import { createHands, type Hands } from './hands.ts'
import { EndlessError, Kernel } from './kernel.ts'
import { Keys } from './keys.ts'
import type { Examination } from './oracle/examination.ts'
import { createDriver, type Driver } from './players-driver.ts'
import { createPlayersMail } from './players-mail.ts'
import { Processes } from './processes.ts'
import { type Server, SimulatedServer } from './server.ts'
import { nameOfSpell } from './spells.ts'
import { createTrace, type Trace } from './trace.ts'
import { scheduleTrouble } from './trouble.ts'

export interface RunOptions {
  readonly seed: number
  /** Virtual time with faults, ms. */
  readonly length: number
  readonly demands?: Demands
  readonly cloneDatabase: () => Promise<TestDatabase>
  /** What is amiss for so long, all the same, after the faults is not healing, virtual ms; an hour where absent. */
  readonly patience?: number
  /** It heals for so long at least, virtual ms: what nobody owes yet nobody misses. */
  readonly calm?: number
  /** Hears now and then how much of the run is played at most, 0 to 1. */
  readonly progress?: (share: number) => void
  /** This was played before, and this was found in each examination: it is played for its trace alone. */
  readonly before?: readonly Findings[] | undefined
  /** Looks at what there is in the end. */
  readonly inspect?: (examination: Examination) => Promise<void>
}

export interface RunResult {
  /** What is not as it must be, one sentence each. */
  readonly findings: readonly string[]
  /** In each examination, as a repetition wants it. */
  readonly found: readonly Findings[]
  readonly trace: Trace
  readonly drawn: Drawn
  /** How often each kind of fault struck. */
  readonly struck: Readonly<Record<string, number>>
  /** Virtual ms from the beginning to the end. */
  readonly elapsed: number
  readonly events: number
  readonly calls: number
  readonly requests: number
  readonly boots: number
  /** By the names of what a gate must have seen. */
  readonly happened: ReadonlySet<string>
}

const second = 1_000
const minute = 60 * second
const healingStep = 5 * minute
const longestStill = 60 * minute
/** Shares of the faulty phase after which it is looked whether all that is said is true. */
const looks = [0.25, 0.5, 0.75] as const
/** The oracle gives details of a call an hour after its end, which is longer than it gives anything else. */
const longestOwed = 65 * minute
/** From the moment at which other secrets are taken until the files have them. */
const untilWritten = 30 * second
/** From the moment at which an operator says that a plan is smaller until it is. */
const untilLowered = 30 * second

/** One run: faults, then none, then nothing may be missing. Equal seeds give equal traces. */
export async function runSimulation(options: RunOptions): Promise<RunResult> {
  const run = new Run(options)
  const server = await SimulatedServer.open(await options.cloneDatabase(), run.start, () => run.kernel)
  try {
    return await run.play(server)
  } finally {
    await server.drop()
  }
}

class Run {
  readonly kernel: Kernel
  /** ms since the epoch */
  readonly start: number
  /** Neighbouring seeds would begin alike. */
  readonly #key: string
  readonly #length: number
  readonly #patience: number
  readonly #calm: number
  readonly #isThorough: boolean
  readonly #callLateness: number | undefined
  readonly #handAsks: number | undefined
  readonly #demands: Demands
  readonly #inspect: RunOptions['inspect']
  readonly #before: RunOptions['before']
  readonly #progress: (share: number) => void
  readonly #drawn: Drawn
  readonly #faults: Faults
  readonly #trace = createTrace()
  readonly #sandbox: Sandbox
  readonly #drivers: readonly Driver[]
  readonly #keys = new Keys()
  readonly #processes: Processes
  readonly #struck: Record<string, number> = {}
  readonly #breaches: string[] = []
  #server!: Server
  #examiner!: Examiner
  readonly #byHand: boolean
  readonly #ages: boolean
  #hands: Hands | undefined
  readonly #rewound: { readonly from: number; readonly to: number }[] = []
  #isHealing = false

  constructor({
    seed,
    length,
    demands = {},
    patience = longestStill,
    calm,
    before,
    inspect,
    progress = () => {},
  }: RunOptions) {
    this.#key = seededRandom(seed).uuid()
    this.#length = length
    this.#patience = patience
    this.#inspect = inspect
    this.#before = before
    this.#progress = progress
    this.#drawn = draw(seed, length, demands)
    const { switches, quirks, profile, apps, classes } = this.#drawn
    const { isThorough = false, start = monday, byHand = false, ages = false } = demands
    const { aim, callLateness, handAsks } = demands
    // A plan without call analytics owes nothing for long. What ages must be complete before, or becomes so meanwhile.
    const owed = apps.some(({ contract }) => contract !== 'starter') ? longestOwed : 0
    this.#calm = ages ? longestOwed : (calm ?? demands.calm ?? owed)
    this.#byHand = byHand
    this.#ages = ages
    this.#isThorough = isThorough
    this.#callLateness = callLateness
    this.#handAsks = handAsks
    this.#demands = demands
    this.start = start
    this.#faults = createFaults({
      random: this.#random('faults'),
      classes: callFaults.filter(one => classes.includes(one)),
      ...{ isThorough, aim, struck: fault => this.#strike(fault) },
    })
    this.kernel = new Kernel({
      start,
      random: this.#random('order'),
      faults: this.#faults,
      trace: this.#trace,
      onKill: process => this.#processes.afterKill(process),
    })
    this.#processes = new Processes({
      ...{ kernel: this.kernel, config: () => this.#config() },
      ...{ server: () => this.#server, sandbox: () => this.#sandbox },
      random: purpose => this.#random(purpose),
      restart: () => this.#faults.restart(),
      ahead: demands.ahead,
      isUnbroken: classes.every(one => borne.has(one)),
      accuse: sentence => void this.#breaches.push(`${this.kernel.now} ${sentence}`),
    })
    const deliver = createPlayersMail({
      ...{ kernel: this.kernel, random: this.#random('mail'), isForged: demands.forgedNotices },
      desks: () =>
        this.#processes.living().flatMap(({ daemon: { notifications } }) => notifications?.take ?? []),
    })
    this.#sandbox = createSandbox({
      ...{ clock: this.kernel.clock, seed, switches, quirks, profile, deliver },
      faults: this.#drawn.unreadable,
      apps: apps.map(app => withPlan(this.#keys.known(app), () => this.#planOf(app))),
    })
    const made = { at: Number.NEGATIVE_INFINITY }
    this.#drivers = apps.map(({ id: app }) =>
      createDriver({
        ...{ kernel: this.kernel, sandbox: this.#sandbox, app, random: this.#random(`driver of ${app}`) },
        ...{ made, every: demands.playersEvery, channels: demands.playersIn },
        hands: () => (byHand ? this.#hands : undefined),
      }),
    )
  }

  async play(server: Server): Promise<RunResult> {
    this.#server = server
    const { kernel } = this
    this.#examiner = new Examiner({
      ...{ kernel, server, sandbox: this.#sandbox, processes: this.#processes, drawn: this.#drawn },
      ...{ start: this.start, length: this.#length, rewound: this.#rewound, hands: () => this.#hands },
      ...{ callLateness: this.#callLateness, feedEvery: this.#demands.feedEvery, before: this.#before },
      ...{ tightenedAt: this.#demands.tightenedAt, spares: this.#demands.spares },
      ...{ answerBytes: this.#demands.answerBytes, resourcesEvery: this.#demands.resourcesEvery },
      ...{ lowered: this.#demands.lowered, switchedOff: this.#demands.switchedOff },
      ...{ callsAt: this.#demands.callsAt, withoutServers: this.#demands.withoutServers },
    })
    for (let n = 0; n < this.#drawn.processes; n++) {
      await this.#processes.boot(`slot${n}`)
      await kernel.rest()
    }
    const { marksEvery, teachEvery } = this.#demands
    const { wishes = false, forgetsRoom = false } = this.#demands
    if (
      this.#byHand ||
      wishes ||
      forgetsRoom ||
      [this.#handAsks, marksEvery, teachEvery].some(each => each !== undefined)
    )
      this.#hands = await createHands({
        ...{ kernel, server, sandbox: () => this.#sandbox },
        ...{ random: this.#random('hand'), config: this.#drawn.config },
      })
    for (const driver of this.#drivers) driver.start()
    this.#turn()
    this.#askByHand(0)
    this.#mark()
    this.#teach()
    this.#collect()
    const { rotations = [] } = this.#demands
    for (const at of rotations) {
      kernel.after(at, undefined, () => this.#keys.change())
      kernel.after(at + untilWritten, undefined, () => this.#keys.write())
    }
    for (const { at } of this.#drawn.changes) kernel.after(at, undefined, () => this.#processes.reload())
    scheduleTrouble({
      ...{ kernel, server, drawn: this.#drawn, sandbox: this.#sandbox, start: this.start },
      ...{ length: this.#length, isThorough: this.#isThorough, rewound: this.#rewound },
      ...{ handOverEvery: this.#demands.handOverEvery, database: this.#demands.database },
      ...{ standstills: this.#demands.standstills, lapses: this.#demands.lapses },
      severed: this.#demands.severed,
      isHealing: () => this.#isHealing,
      processes: () => this.#processes.living().map(({ process }) => process),
      strike: what => this.#strike(what),
      handOver: slot => this.#processes.handOver(slot),
      lapse: () => this.#processes.lapse(),
      random: purpose => this.#random(purpose),
    })
    const findings = await this.#toTheEnd().catch((error: unknown) => {
      if (error instanceof EndlessError) return [`endless: ${error.message}`]
      throw error
    })
    if (this.#drawn.classes.includes('latency')) this.#strike('latency')
    for (const name of this.#spellsMet()) this.#strike(name)
    const happened = await happenedIn(server, this.#struck)
    await this.#inspect?.(this.#examiner.examination())
    for (const { process } of this.#processes.living()) await kernel.kill(process)
    return {
      findings: [...this.#breaches, ...findings],
      found: this.#examiner.found,
      trace: this.#trace,
      drawn: this.#drawn,
      struck: this.#struck,
      elapsed: kernel.now,
      events: [...this.#sandbox.universe.apps].reduce((sum, { eventsMade }) => sum + eventsMade, 0),
      calls: this.#drawn.apps.reduce((sum, { id }) => sum + count(this.#sandbox.analytics(id).calls()), 0),
      requests: this.#sandbox.arrivals.count,
      boots: this.#processes.boots,
      happened,
    }
  }

  async #toTheEnd(): Promise<readonly string[]> {
    const { kernel } = this
    const length = this.#length
    for (const share of looks) {
      await kernel.runUntil(length * share)
      const untrue = await this.#examiner.examine(false)
      if (untrue.length > 0) return untrue
    }
    await kernel.runUntil(length)
    this.#heal()
    let findings: readonly string[] = []
    let changed = healingStep
    for (let healing = healingStep; healing <= healingTime; ) {
      await kernel.runUntil(length + healing)
      const found = await this.#examiner.examine()
      if (found.join() !== findings.join()) changed = healing
      findings = found
      const isWell = found.length === 0
      const isHopeless =
        found.some(isLasting) || this.#breaches.length > 0 || healing - changed >= this.#patience
      if (isHopeless || (isWell && healing >= this.#calm)) break
      // Where all is well by now, it is looked at again when all is due.
      healing = isWell ? this.#calm : healing + healingStep
    }
    const aged = this.#ages && findings.length === 0 ? await this.#examiner.age() : []
    const granted = this.#demands.wishes && findings.length === 0 ? await this.#examiner.grant() : []
    const { restsAt, goesOnAt, forgetsRoom = false } = this.#demands
    const isWell = findings.length === 0
    const wentOn = isWell && goesOnAt !== undefined ? await this.#examiner.goOn(goesOnAt) : []
    const parted = isWell && forgetsRoom ? await this.#examiner.part() : []
    const rested = restsAt !== undefined && findings.length === 0 ? await this.#examiner.rest(restsAt) : []
    return [
      ...findings,
      ...aged,
      ...granted,
      ...rested,
      ...wentOn,
      ...parted,
      ...(await this.#examiner.examineMetrics()),
    ]
  }

  /** What it says now. */
  async #config(): Promise<Config> {
    const { config, changes, apps } = this.#drawn
    const last = changes.findLast(({ at }) => at <= this.kernel.now)
    const said = await configFrom(last?.config ?? config)
    return this.#demands.rotations ? this.#keys.inFiles(said, apps) : said
  }

  /** What the provider holds an app to now. */
  #planOf({ id, plan }: Drawn['apps'][number]) {
    const { lowered } = this.#demands
    const isLowered = lowered?.app === id && this.kernel.now >= lowered.at + untilLowered
    return isLowered ? lowered.plan : plan
  }

  /** The world moves when someone looks at it. */
  #turn(): void {
    this.#sandbox.universe.advance()
    this.#progress(Math.min(1, this.kernel.now / (this.#length + healingTime)))
    const isAsleep = this.#isHealing && this.#processes.living().length === 0
    this.kernel.after(isAsleep ? 60 * minute : 5 * second, undefined, () => this.#turn())
  }

  #askByHand(turn: number): void {
    if (this.#handAsks === undefined || this.#isHealing) return
    const { apps } = this.#drawn
    void this.#hands?.ask(apps[turn % apps.length]!.id)
    this.kernel.after(this.#handAsks, undefined, () => this.#askByHand(turn + 1))
  }

  #mark(): void {
    const { marksEvery } = this.#demands
    if (marksEvery === undefined || this.#isHealing) return
    void this.#hands?.mark()
    this.kernel.after(marksEvery, undefined, () => this.#mark())
  }

  #collect(): void {
    const { collectEvery } = this.#demands
    if (collectEvery === undefined || this.#isHealing) return
    this.#examiner.collect()
    this.kernel.after(collectEvery, undefined, () => this.#collect())
  }

  #teach(): void {
    const { teachEvery } = this.#demands
    if (teachEvery === undefined || this.#isHealing) return
    void this.#hands?.teach(this.#drawn.apps[0]!.id)
    this.kernel.after(teachEvery, undefined, () => this.#teach())
  }

  #heal(): void {
    this.#isHealing = true
    this.#faults.heal()
    // What can never be read stays so.
    this.#sandbox.faults.set(this.#drawn.unreadable)
    this.#sandbox.universe.pause()
    for (const driver of this.#drivers) driver.stop()
  }

  /** What requests met, and not what lay in wait for them. */
  #spellsMet(): readonly string[] {
    const { arrivals } = this.#sandbox
    return arrivals.list(0, arrivals.count).flatMap(({ fault, operation, app, time }) => {
      if (fault === undefined) return []
      const met = this.#drawn.spells.find(({ from, to, rules: [rule] }) => {
        const isInForce = this.start + from <= time && time < this.start + to
        const isOf = (rule?.operation ?? operation) === operation && (rule?.app ?? app) === app
        return isInForce && isOf && rule?.kind === fault
      })
      return met ? [nameOfSpell(met)] : []
    })
  }

  #strike(what: string): void {
    this.#struck[what] = (this.#struck[what] ?? 0) + 1
  }

  /** Chance of its own for each purpose, so that a new draw in one changes nothing in the others. */
  #random(purpose: string) {
    return seededRandom(`${this.#key}/${purpose}`)
  }
}

/** An app of which the plan may change. */
function withPlan(app: AppOptions, planNow: () => AppOptions['plan']): AppOptions {
  return Object.defineProperty(app, 'plan', { get: planNow })
}

/** What came once too often, and what was written by who might not, no reading mends. */
function isLasting(finding: string): boolean {
  return finding.startsWith('limit: ') || finding.startsWith('fence: ')
}

function count(all: Iterable<unknown>): number {
  let n = 0
  for (const _ of all) n += 1
  return n
}

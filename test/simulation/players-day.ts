import type pg from 'pg'
import { createSandbox, type FaultRule, type Sandbox, type Switches } from '../../sandbox/src/index.ts'
import { seededRandom } from '../../src/clock/seeded.ts'
import { deploymentOf, engineSettings } from '../../src/commands/engine-settings.ts'
import { readConfig } from '../../src/config/load.ts'
import { type NotificationStore, type Store, StoreUnavailable } from '../../src/engine/ports.ts'
import { createNotificationHandler } from '../../src/http/notifications.ts'
import { connect, defaultConnection } from '../../src/postgres/connect.ts'
import { createNotificationStore } from '../../src/postgres/players.ts'
import { createStore } from '../../src/postgres/store.ts'
import type { PlayerLimitReading } from '../../src/provider/players/index.ts'
import { fixed } from '../http/harness.ts'
import type { TestDatabase } from '../support/databases.ts'
import { type Alteration, bootDaemon, type Daemon } from './daemon.ts'
import { openVirtualDatabase, type VirtualDatabase } from './database.ts'
import type { Faults } from './faults.ts'
import { Kernel, type Process } from './kernel.ts'
import type { Examination as Cells } from './oracle/examination.ts'
import { examinePlayers as examineCells } from './oracle/players.ts'
import { createDriver, type Driver, type Habits } from './players-driver.ts'
import { createPlayersMail, type Letterbox, type PlayersMail } from './players-mail.ts'
import { PlayersModel } from './players-model.ts'
import { examinePlayers, type PlayersFindings } from './players-oracle.ts'
import { createPlayersWire, noQuirks, type PlayersWire, type Quirks, type WirePage } from './players-wire.ts'
import { createTrace } from './trace.ts'
import { createWatch, type Watch } from './watch.ts'

export interface PlayersDayOptions {
  readonly seed: number
  /** Virtual time in which things go wrong, ms. */
  readonly length: number
  /** What is done with the players of each app. */
  readonly apps: Readonly<Record<string, Habits>>
  readonly switches?: Partial<Switches>
  /** What befalls requests at the provider. */
  readonly faults?: readonly FaultRule[]
  readonly quirks?: Partial<Quirks>
  /** How often the list is read, as the configuration says it; how its limits are read. */
  readonly every?: string
  readonly limits?: PlayerLimitReading
  /** How often a process is killed and started again, evenly over the time. */
  readonly kills?: number
  /** Processes at once on one database; each app is drained by one of them. */
  readonly processes?: number
  /** One-way delays on the way to the provider and back, ms at most. */
  readonly delay?: number
  /** Share of the calls to the database whose line breaks, before they arrive or before they are answered. */
  readonly cuts?: number
  /** Share of the calls to the database with whose answer in its hands a process stands still for a minute. */
  readonly stalls?: number
  /** How often someone tells of the end of a player that lives, ms; every other time with a signature. */
  readonly lieEvery?: number
  readonly bug?: PlayersBug
  /** Looks at what there is when all is over, before the database is dropped. */
  readonly inspect?: (examination: Cells) => Promise<void>
  readonly cloneDatabase: () => Promise<TestDatabase>
}

/** Changes to what the engine of each process is made of, and to how notifications are kept. */
export interface PlayersBug {
  readonly alter?: Alteration
  readonly book?: (book: NotificationStore, rows: VirtualDatabase['rows']) => NotificationStore
}

export interface PlayersDayResult extends PlayersFindings {
  /** What must never happen and happened. */
  readonly breaches: readonly string[]
  readonly boots: number
  /** Equal seeds must give equal days. */
  readonly trace: string
  /** Answers to those who make and delete players, and to those who bring notifications. */
  readonly answers: Readonly<Record<string, number>>
  readonly quirks: Readonly<Record<keyof Quirks, number>>
}

/** Monday, 5 January 2026, 08:00 UTC. */
const start = Date.UTC(2026, 0, 5, 8)
/** After the last fault, until everything must be as it is. */
const healing = 5 * 60_000
const longestList = 10
const worldTick = 1_000
const longestRestart = 20_000
/** How often a shard is renewed that is owned for as long as the other simulation says, ms. */
const renewEvery = 10_000

/** Watches cloud players in virtual time, over a real Postgres and the sandbox's own limiter. */
export async function runPlayersDay(options: PlayersDayOptions): Promise<PlayersDayResult> {
  const database = await openVirtualDatabase(await options.cloneDatabase())
  try {
    return await (await PlayersDay.prepare(options, database)).play()
  } finally {
    await database.drop()
  }
}

interface Running extends Letterbox {
  readonly process: Process
  readonly daemon: Daemon
  readonly close: () => Promise<void>
}

type Config = Awaited<ReturnType<typeof readConfig>>

class PlayersDay {
  readonly #options: PlayersDayOptions
  readonly #database: VirtualDatabase
  readonly #config: Config
  readonly #kernel: Kernel
  readonly #watch: Watch
  readonly #trace = createTrace()
  readonly #sandbox: Sandbox
  readonly #wire: PlayersWire
  readonly #mail: PlayersMail
  readonly #drivers: readonly Driver[]
  readonly #models = new Map<string, PlayersModel>()
  readonly #running = new Map<string, Running>()
  #isCalm = false
  #boots = 0

  static async prepare(options: PlayersDayOptions, database: VirtualDatabase): Promise<PlayersDay> {
    const config = await readConfig(configText(options), { name: 'players', env: {}, folder: '.' })
    return new PlayersDay(options, database, config)
  }

  private constructor(options: PlayersDayOptions, database: VirtualDatabase, config: Config) {
    const { seed, switches = {}, faults = [] } = options
    this.#options = options
    this.#database = database
    this.#config = config
    this.#watch = createWatch(() => this.#kernel)
    this.#kernel = new Kernel({
      start,
      random: this.#random('order'),
      faults: this.#troubles(),
      trace: this.#trace,
      onKill: async process => {
        await this.#database.terminate(process.name)
      },
    })
    this.#mail = createPlayersMail({
      kernel: this.#kernel,
      random: this.#random('mail'),
      secretOf,
      running: () => [...this.#running.values()],
    })
    const apps = Object.keys(options.apps)
    this.#sandbox = createSandbox({
      ...{ clock: this.#kernel.clock, seed, switches, faults },
      apps: apps.map(id => ({
        ...{ id, uid: 'u', token: 't', rest: { key: `key-${id}`, secret: 'secret' } },
        notifications: { secret: secretOf(id) },
      })),
      profile: { kind: 'idle', rooms: 0 },
      deliver: this.#mail.deliver,
    })
    this.#wire = createPlayersWire(this.#sandbox, {
      quirks: { ...noQuirks, ...options.quirks },
      random: this.#random('quirks'),
      now: () => this.#kernel.clock.now(),
    })
    this.#drivers = apps.map(app => {
      const habits = options.apps[app]!
      const random = this.#random(`driver of ${app}`)
      return createDriver({ kernel: this.#kernel, sandbox: this.#sandbox, app, habits, random })
    })
    for (const app of apps) this.#models.set(app, new PlayersModel())
  }

  async play(): Promise<PlayersDayResult> {
    const { processes = 1, kills = 0, length } = this.#options
    const slots = Array.from({ length: processes }, (_, n) => `slot${n}`)
    for (const slot of slots) this.#boot(slot)
    for (const driver of this.#drivers) driver.start()
    this.#turn()
    this.#tellLies()
    const random = this.#random('kills')
    for (let n = 0; n < kills; n++) {
      const slot = slots[n % slots.length]!
      this.#kernel.after(((n + random.next()) * length) / kills, undefined, () =>
        this.#restart(slot, random.next()),
      )
    }
    await this.#kernel.runUntil(length)
    this.#calm()
    await this.#kernel.runUntil(length + healing)
    const findings = await examinePlayers({
      ...{ sandbox: this.#sandbox, database: this.#database, mail: this.#mail, models: this.#models },
      calmSince: start + length,
      end: start + length + healing,
    })
    const lies = new Set(
      this.#mail.lies.map(({ app, noticeId }) => `players.notification ${app} ${noticeId}`),
    )
    const examination: Cells = {
      sandbox: this.#sandbox,
      rows: this.#database.rows as Cells['rows'],
      ...{ start, healed: start + length, end: start + length + healing, faults: [], isEnd: true },
      apps: Object.keys(this.#options.apps).map(id => ({ id, plan: 'starter', regions: [] })),
      isInterrupted: kills > 0 || (this.#options.stalls ?? 0) > 0,
    }
    const cells = await examineCells(examination)
    await this.#options.inspect?.(examination)
    // A player that hides again while it is new may be missed before its end.
    const isHidden = (this.#options.quirks?.flicker ?? 0) > 0
    const wrong = isHidden ? [] : cells.filter(({ kind, text }) => kind !== 'duplicate' || !lies.has(text))
    for (const { process, close } of this.#running.values()) {
      await this.#kernel.kill(process)
      await close()
    }
    return {
      ...findings,
      wrong: [...findings.wrong, ...wrong.slice(0, longestList).map(({ kind, text }) => `${kind}: ${text}`)],
      breaches: this.#watch.breaches,
      boots: this.#boots,
      trace: this.#trace.hash(),
      answers: this.#answers(),
      quirks: this.#wire.struck,
    }
  }

  #calm(): void {
    this.#isCalm = true
    this.#wire.calm()
    this.#sandbox.faults.set([])
    for (const driver of this.#drivers) driver.stop()
  }

  /** The world moves when someone looks at it. */
  #turn(): void {
    this.#sandbox.universe.advance()
    this.#kernel.after(worldTick, undefined, () => this.#turn())
  }

  #tellLies(): void {
    const { lieEvery, apps } = this.#options
    if (lieEvery === undefined) return
    const names = Object.keys(apps)
    const lie = async (n: number): Promise<void> => {
      if (this.#isCalm) return
      void this.#mail.lie(this.#sandbox, names[n % names.length]!, n % 4 < 2 ? 'signed' : 'forged')
      this.#kernel.after(lieEvery, undefined, () => lie(n + 1))
    }
    this.#kernel.after(lieEvery, undefined, () => lie(0))
  }

  /** Like kill -9, and whatever starts it again comes back a little later. */
  async #restart(slot: string, chance: number): Promise<void> {
    const running = this.#running.get(slot)
    if (!running) return
    this.#running.delete(slot)
    await this.#kernel.kill(running.process)
    await running.close()
    this.#kernel.after(500 + chance * longestRestart, undefined, () => this.#boot(slot))
  }

  #boot(slot: string): void {
    this.#boots += 1
    const process: Process = { name: `${slot}.${this.#boots}`, isAlive: true, frozenUntil: 0 }
    const settings = engineSettings(this.#config)
    /** The page that each app was sent last. */
    const pages = new Map<string, WirePage>()
    const setTime = () => this.#database.setTime(start + this.#kernel.now)
    const url = this.#database.urlFor(process.name)
    const daemon = bootDaemon({
      ...{ process, url, setTime, kernel: this.#kernel },
      random: this.#random(process.name),
      sandbox: this.#wire.viewFor((app, page) => void pages.set(app, page)),
      scenario: {
        settings: {
          ...settings,
          renewEvery,
          apps: settings.apps.map(app => ({
            ...app,
            streams: { 'cloud-players': app.streams['cloud-players']! },
          })),
        },
      },
      deployment: deploymentOf(this.#config),
      watch: this.#over(pages),
      mutant: undefined,
      alter: this.#options.bug?.alter,
    })
    const pool = connect({ ...defaultConnection, url, poolSize: 1 })
    const desk = this.#openDesk(process, pool, app => daemon.want(app))
    const close = async () => {
      await daemon.close()
      await pool.end()
    }
    this.#running.set(slot, { process, daemon, desk, close })
  }

  /** Lets the model hear every page at the moment at which the database has it. */
  #over(pages: ReadonlyMap<string, WirePage>): Watch {
    const hear = (store: Store): Store => ({
      ...store,
      commit: async page => {
        const result = await store.commit(page)
        const { app, stream } = page
        const sent = pages.get(app)
        if (result.outcome === 'committed' && stream === 'cloud-players' && sent) {
          this.#models.get(app)!.hear(sent, this.#kernel.clock.now())
        }
        return result
      },
    })
    return {
      ...this.#watch,
      over: ports => this.#watch.over({ ...ports, store: hear(ports.store) }),
    }
  }

  #openDesk(process: Process, pool: pg.Pool, want: (app: string) => void): Letterbox['desk'] {
    const { players } = this.#config.provider
    const { book: bug = (book: NotificationStore) => book } = this.#options.bug ?? {}
    const book = bug(createNotificationStore(pool), this.#database.rows)
    const store = createStore(pool, {
      ...{ streams: [], roomMemory: 0, region: () => 'eu', sequenceScope: 'room' },
    })
    const silent = () => {}
    const perform = <T>(name: string, work: () => Promise<T>) =>
      this.#kernel.perform(process, {
        ...{ kind: 'database', name },
        work: async () => {
          await this.#database.setTime(start + this.#kernel.now)
          return work()
        },
        broken: async () => new StoreUnavailable(undefined),
      })
    return createNotificationHandler({
      stream: 'cloud-players',
      signers: this.#config.apps.map(({ id }) => ({ app: id, secret: fixed(secretOf(id)) })),
      headers: { sha1: players!.signatureHeader, sha256: players!.signatureHeaderV2 },
      notifications: { keep: notice => perform(`keep ${notice.noticeId}`, () => book.keep(notice)) },
      store: { deadLetter: letter => perform('deadLetter', () => store.deadLetter(letter)) },
      want,
      meter: { notification: silent, deadLetters: silent },
      log: { debug: silent, info: silent, warn: silent, error: silent },
    })
  }

  #troubles(): Faults {
    const { delay = 40, cuts = 0, stalls = 0 } = this.#options
    const random = this.#random('delays')
    return {
      classes: ['latency'],
      draw: kind => {
        if (this.#isCalm || kind === 'provider' || cuts + stalls === 0) return undefined
        const chance = random.next()
        if (chance < cuts) return chance < cuts / 2 ? 'cut' : 'lost answer'
        return chance < cuts + stalls ? 'stall' : undefined
      },
      latency: kind => (kind === 'provider' ? Math.ceil(random.next() ** 2 * delay) : 0),
      stall: () => 45_000 + Math.ceil(random.next() * 30_000),
      restart: () => 0,
      heal: () => {},
    }
  }

  #answers(): Readonly<Record<string, number>> {
    const all = this.#drivers.flatMap(({ answers }) => [...answers])
    const sums = new Map<string, number>()
    for (const [what, count] of all) sums.set(what, (sums.get(what) ?? 0) + count)
    for (const [status, count] of this.#mail.answers) sums.set(`notification ${status}`, count)
    return Object.fromEntries([...sums].sort(([one], [other]) => (one < other ? -1 : 1)))
  }

  /** Chance of its own for each purpose, so that a new draw in one changes nothing in the others. */
  #random(purpose: string) {
    return seededRandom(`${this.#options.seed}/${purpose}`)
  }
}

function secretOf(app: string): string {
  return `notifications of ${app}`
}

function configText({ apps, every = '15s', limits = 'joint' }: PlayersDayOptions): string {
  const each = Object.keys(apps).map(
    id => `
  - id: ${id}
    region: eu
    plan: starter
    rest: { key: key-${id}, secret: secret }
    classroom: { uid: u, token: t }
    notifications: { secret: ${secretOf(id)} }`,
  )
  return `
database: { url: embedded }
provider:
  classroom: { url: http://127.0.0.1:1 }
  players: { url: http://127.0.0.1:1, limits: ${limits} }
streams:
  cloud-players: { every: ${every} }
apps:${each.join('')}
`
}

import type { Clock } from '../clock/clock.ts'
import type { BudgetReading, QualityValue } from '../engine/ports.ts'
import { realtimeWindow } from '../provider/analytics/index.ts'
import type { Instruments, Label } from './instruments.ts'

/** What each member of a group told last, for a figure of the whole group. */
class Latest<T> {
  readonly #groups = new Map<string, Map<string, T>>()

  note(group: string, member: string, told: T): void {
    const members = this.#groups.get(group) ?? new Map<string, T>()
    this.#groups.set(group, members.set(member, told))
  }

  forget(group: string, member: string): void {
    this.#groups.get(group)?.delete(member)
  }

  get(group: string, member: string): T | undefined {
    return this.#groups.get(group)?.get(member)
  }

  of(group: string): readonly T[] {
    return [...(this.#groups.get(group)?.values() ?? [])]
  }

  entriesOf(group: string): readonly (readonly [member: string, told: T])[] {
    return [...(this.#groups.get(group) ?? [])]
  }

  get groups(): readonly string[] {
    return [...this.#groups.keys()]
  }

  clear(): void {
    this.#groups.clear()
  }
}

interface Lateness {
  /** Series that are due. */
  readonly series: number
  /** How late the latest of them is, ms. */
  readonly lateBy: number
}

interface Backlog {
  /** Seconds of data that are not read yet or not final. */
  readonly seconds: number
  /** When the oldest of them can no longer be had, on the monotonic clock, ms. */
  readonly expiresAt: number
  /** Since when the oldest of them has been the oldest, on the monotonic clock, ms. */
  readonly oldestSince: number
}

/** The estimate of the provider's clock moves by less than this, ms; data that were read move the oldest by more. */
const clockNoise = 5_000

interface Spent extends BudgetReading {
  /** On the monotonic clock, ms. */
  readonly at: number
}

/** Figures over all apps: of each stream, or each limit group, what its members told last. */
export class FleetGauges {
  readonly #clock: Clock
  readonly #metrics: Instruments
  readonly #late = new Latest<Lateness>()
  readonly #backlog = new Latest<Backlog>()
  readonly #budgets = new Latest<Spent>()
  readonly #losses = new Latest<number>()

  constructor(clock: Clock, metrics: Instruments) {
    this.#clock = clock
    this.#metrics = metrics
  }

  late(stream: string, app: string, lateness: Lateness): void {
    if (lateness.series === 0) this.#late.forget(stream, app)
    else this.#late.note(stream, app, lateness)
  }

  /** `expiresIn` in ms from now; null where there is no backlog. */
  backlog(
    stream: string,
    app: string,
    { seconds, expiresIn }: { readonly seconds: number; readonly expiresIn: number | null },
  ): void {
    const now = this.#clock.monotonic()
    const expiresAt = expiresIn === null ? Number.POSITIVE_INFINITY : now + expiresIn
    const before = this.#backlog.get(stream, app)
    const isSame = before && Math.abs(before.expiresAt - expiresAt) < clockNoise
    // Against the first that was told of it, so that small moves do not add up.
    const oldest = isSame ? before : { expiresAt, oldestSince: now }
    this.#backlog.note(stream, app, { seconds, expiresAt: oldest.expiresAt, oldestSince: oldest.oldestSince })
  }

  /** Of one credential. */
  budget(scope: string, group: string, reading: BudgetReading): void {
    this.#budgets.note(group, scope, { ...reading, at: this.#clock.monotonic() })
  }

  /** What cannot be had, as it goes now. */
  lossAhead(app: string, group: string, share: number): void {
    this.#losses.note(group, app, share)
  }

  write(streams: readonly string[]): void {
    const now = this.#clock.monotonic()
    this.#writeLag(streams)
    this.#writeBacklog(now)
    this.#writeBudgets()
    this.#metrics.expectedLoss.reset()
    for (const group of this.#losses.groups) {
      this.#metrics.expectedLoss.set({ group }, Math.max(...this.#losses.of(group)))
    }
  }

  /** How late a stream of an app is, ms, and its backlog, as they were told last. */
  of(stream: string, app: string): { readonly lateBy: number; readonly backlog: Backlog | undefined } {
    return { lateBy: this.#late.get(stream, app)?.lateBy ?? 0, backlog: this.#backlog.get(stream, app) }
  }

  /** Of each limit group the credential that is worst off. */
  budgets(): readonly { readonly group: string; readonly used: number; readonly pace: number }[] {
    const now = this.#clock.monotonic()
    return this.#budgets.groups.map(group => {
      const scopes = this.#budgets.of(group)
      const used = Math.max(...scopes.map(each => each.used))
      // Nobody counted since, so a budget that nothing is asked of looks quieter and quieter.
      const pace = Math.max(...scopes.map(({ pace, over, at }) => pace * (over / (over + now - at))))
      return { group, used, pace }
    })
  }

  /** What cannot be had of the details of an app's calls, as a share. */
  lossesAhead(): readonly { readonly app: string; readonly group: string; readonly share: number }[] {
    return this.#losses.groups.flatMap(group =>
      this.#losses.entriesOf(group).map(([app, share]) => ({ app, group, share })),
    )
  }

  clear(): void {
    for (const latest of [this.#late, this.#backlog, this.#budgets, this.#losses]) latest.clear()
  }

  #writeLag(streams: readonly string[]): void {
    for (const stream of streams) {
      const late = this.#late.of(stream)
      const due = late.reduce((sum, { series }) => sum + series, 0)
      const lateBy = late.reduce((latest, each) => Math.max(latest, each.lateBy), 0)
      this.#metrics.due.set({ stream }, due)
      this.#metrics.lag.set({ stream }, lateBy / 1_000)
    }
  }

  #writeBacklog(now: number): void {
    this.#metrics.backlog.reset()
    this.#metrics.backlogExpires.reset()
    for (const stream of this.#backlog.groups) {
      const apps = this.#backlog.of(stream)
      const soonest = Math.min(...apps.map(({ expiresAt }) => expiresAt))
      const seconds = apps.reduce((sum, each) => sum + each.seconds, 0)
      this.#metrics.backlog.set({ stream }, seconds)
      if (Number.isFinite(soonest)) this.#metrics.backlogExpires.set({ stream }, (soonest - now) / 1_000)
    }
  }

  #writeBudgets(): void {
    this.#metrics.budgetUsed.reset()
    this.#metrics.budgetPace.reset()
    for (const { group, used, pace } of this.budgets()) {
      this.#metrics.budgetUsed.set({ group, window: 'day' }, used)
      this.#metrics.budgetPace.set({ group }, pace)
    }
  }
}

/** A metric of a product, of the whole project of an app. */
export interface QualityQuestion {
  readonly app: string
  readonly product: string
  readonly metric: string
}

interface QualityReading extends QualityQuestion {
  readonly value: number
  /** End of the window that the value stands for, ms since the epoch. */
  readonly at: number
}

/** Real-time values stand for windows of this length, ms. */
const WINDOW_MS = realtimeWindow * 1_000

/** So many series at most: every further one is left to SQL. */
const MOST_READINGS = 2_000

/** The latest real-time value of each app, product and metric, of the whole project. */
export class QualityGauge {
  readonly #metrics: Pick<Instruments, 'callQuality' | 'callQualityAge'>
  readonly #readings = new Map<string, QualityReading>()
  /** Since when each is asked for of which no value has come, ms since the epoch. */
  #askedSince = new Map<string, number>()

  constructor(metrics: Pick<Instruments, 'callQuality' | 'callQualityAge'>) {
    this.#metrics = metrics
  }

  note(app: string, rows: readonly QualityValue[]): void {
    for (const { cname, uid, product, metric, value, at } of rows) {
      if (cname !== '' || uid !== '') continue
      const key = keyOf({ app, product, metric })
      const reading = { app, product, metric, value, at: Date.parse(at) + WINDOW_MS }
      const known = this.#readings.get(key)
      const isOfUse = known ? known.at < reading.at : this.#readings.size < MOST_READINGS
      if (isOfUse) this.#readings.set(key, reading)
    }
  }

  /** Of what is asked for and has no value, the age is for how long none has come; `now` in ms since the epoch. */
  write(app: Label, asked: readonly QualityQuestion[], now: number): void {
    this.#metrics.callQuality.reset()
    this.#metrics.callQualityAge.reset()
    const unread = asked.filter(question => !this.#readings.has(keyOf(question))).slice(0, MOST_READINGS)
    this.#askedSince = new Map(unread.map(keyOf).map(key => [key, this.#askedSince.get(key) ?? now]))
    // Values of apps without a label of their own cannot be added up.
    const isLabelled = (each: QualityQuestion) => app(each.app) === each.app
    for (const reading of [...this.#readings.values()].filter(isLabelled)) {
      this.#metrics.callQuality.set(labelsOf(reading), reading.value)
      this.#metrics.callQualityAge.set(labelsOf(reading), (now - reading.at) / 1_000)
    }
    for (const question of unread.filter(isLabelled)) {
      const since = this.#askedSince.get(keyOf(question))!
      this.#metrics.callQualityAge.set(labelsOf(question), (now - since) / 1_000)
    }
  }

  clear(): void {
    this.#readings.clear()
    this.#askedSince.clear()
  }
}

function labelsOf({ app, product, metric }: QualityQuestion) {
  return { app, product, metric }
}

function keyOf(question: QualityQuestion): string {
  return JSON.stringify(Object.values(labelsOf(question)))
}

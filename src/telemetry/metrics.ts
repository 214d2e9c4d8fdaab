import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Clock } from '../clock/clock.ts'
import type {
  BudgetReading,
  Meter,
  PageOutcome,
  QualityValue,
  StoreGauges,
  StreamLabels,
  Timing,
} from '../engine/ports.ts'
import { type FailureKind, failureKinds } from '../provider/errors.ts'
import type { Family, Operation } from '../provider/operation.ts'
import { watchEventLoop } from './event-loop.ts'
import { FleetGauges, setStoreGauges } from './gauges.ts'
import { type AppLabels, appLabels, closedLabel, createInstruments, type Label } from './instruments.ts'
import { isoTime, Outages } from './outages.ts'
import type { ProcessStatus, StreamReading } from './process-status.ts'
import { QualityGauge, type QualityQuestion } from './quality-gauge.ts'
import { createReading, type Reading } from './reading.ts'
import { type VerdictState, verdictStates } from './verdict.ts'

type StreamName = StreamLabels['stream']

export interface MeterOptions {
  readonly clock: Clock
  readonly version: string
  readonly streams: readonly StreamName[]
  /** Operations that the daemon sends, as the engine names them. */
  readonly operations: readonly string[]
  /** Why an item is set aside, beside the failures of whole answers. */
  readonly rejectReasons: readonly string[]
  /** What may become of a notification. */
  readonly noticeOutcomes?: readonly string[]
  /** Apps that are notified of; none without an endpoint for notifications. */
  readonly noticeApps?: readonly string[]
  /** Real-time values of quality that this process reads at the moment. */
  readonly qualityAsked?: () => readonly QualityQuestion[]
  readonly storeGauges: () => Promise<StoreGauges>
  /** Asks the database next to nothing; without it, one whose figures come late is away. Rejects where it does not answer. */
  readonly databaseAnswers?: () => Promise<unknown>
  /** Streams that are asked at moments, with the longest pause between two, seconds. */
  readonly pauses?: () => ReadonlyMap<StreamName, number>
  /** Apps of the configuration, in its order. */
  readonly apps: readonly string[]
  /** How many of them have series of their own from the beginning. */
  readonly perApp: number
}

/**
 * `refused`: it is wrong; `waiting`: it takes apps away, which only a signal may; `applied`: as far as that goes without a
 * restart.
 */
const configOutcomes = ['applied', 'unchanged', 'refused', 'waiting'] as const
type ConfigOutcome = (typeof configOutcomes)[number]

const listeners = ['http', 'notifications'] as const
type Listener = (typeof listeners)[number]

/** So many apps beyond the cap come by series of their own because they are in trouble. */
const MOST_TROUBLED = 20

/** An app is in trouble that has failed for longer than this, ms. */
const TROUBLE_MS = 60_000

/** SQLSTATE of a database that is set to read only, or is a standby. */
const READ_ONLY = '25006'
/** SQLSTATE of pages that find no room on its disk. */
const DISK_FULL = '53100'
/** Such a page is tried again within seconds: where none failed for so long, ms, there is room. */
const FULL_MS = 60_000

/** Gauges that bear the ending of a counter, each beside one of the same figure without it. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

const pageOutcomes: readonly PageOutcome[] = [
  'committed',
  'empty',
  'stale',
  'fenced',
  'unverified',
  'looped',
  'gone',
  'store_unavailable',
  'store_blocked',
  ...failureKinds,
]

/** What a process saw by itself of database and provider. */
type Observed = Pick<ProcessStatus, 'databaseFullSince' | 'providers' | 'reading' | 'budgets' | 'lossAhead'>

/** The daemon's metrics. Every label has a bounded set of values, and counters that should stay 0 begin at 0. */
export class PrometheusMeter implements Meter {
  readonly #options: MeterOptions
  readonly #registry = new Registry()
  readonly #metrics = createInstruments(this.#registry)
  readonly #fleet: FleetGauges
  readonly #outages: Outages
  readonly #quality = new QualityGauge(this.#metrics)
  readonly #loop = watchEventLoop()
  readonly #storeGauges: () => Promise<Reading<StoreGauges>>
  readonly #apps: AppLabels
  readonly #operation: Label
  readonly #reason: Label
  readonly #noticeOutcome: Label
  /** Whether the database did the last time that this was tried. */
  #takesRows = true
  /** Pages that found no room on its disk, on the monotonic clock, ms. */
  #full: { readonly since: number; readonly last: number } | undefined
  /** The answer that is being made; those who ask meanwhile get it too. */
  #scraping: Promise<string> | undefined

  constructor(options: MeterOptions) {
    const { clock, storeGauges, databaseAnswers } = options
    const reasons = [...failureKinds, ...options.rejectReasons]
    this.#options = options
    this.#fleet = new FleetGauges(clock, this.#metrics)
    this.#outages = new Outages(clock)
    this.#storeGauges = createReading({
      ...{ clock, read: storeGauges, maxAge: 5_000, timeout: 2_000 },
      ...(databaseAnswers && { answers: databaseAnswers }),
    })
    this.#apps = appLabels(options.apps, options.perApp, MOST_TROUBLED)
    this.#operation = closedLabel(options.operations)
    this.#reason = closedLabel(reasons)
    this.#noticeOutcome = closedLabel(options.noticeOutcomes ?? [])
    collectDefaultMetrics({ register: this.#registry })
    for (const name of misnamed) this.#registry.removeSingleMetric(name)
    this.#beginAtZero(reasons)
    this.#metrics.buildInfo.set({ version: options.version, node: process.version }, 1)
  }

  request(app: string, family: Family, name: string, outcome: 'ok' | FailureKind, { elapsed }: Timing): void {
    this.#outages.request(app, family, outcome)
    const labels = { family, operation: this.#operation(name) }
    this.#metrics.requests.inc({ ...labels, app: this.#apps.of(app), outcome })
    this.#metrics.requestSeconds.observe(labels, elapsed / 1_000)
  }

  page(labels: StreamLabels, outcome: PageOutcome): void {
    const { stream } = labels
    this.#outages.page(labels, outcome)
    this.#metrics.pages.inc({ stream, outcome })
    if (outcome !== 'committed' && outcome !== 'empty') return
    this.#metrics.lastSuccess.set({ stream }, this.#options.clock.now() / 1_000)
  }

  rows(stored: Readonly<Record<string, number>>): void {
    for (const [table, count] of Object.entries(stored)) this.#metrics.rows.inc({ table }, count)
  }

  commit(elapsedMs: number): void {
    this.#metrics.commitSeconds.observe(elapsedMs / 1_000)
  }

  deadLetters({ stream }: StreamLabels, reason: string, count: number): void {
    this.#metrics.deadLetters.inc({ stream, reason: this.#reason(reason) }, count)
  }

  ignored({ stream }: StreamLabels, count: number): void {
    this.#metrics.ignored.inc({ stream }, count)
  }

  divergences({ stream }: StreamLabels, count: number): void {
    this.#metrics.divergences.inc({ stream }, count)
  }

  limitViolation(name: string, kind: FailureKind): void {
    this.#metrics.refusals.inc({ operation: this.#operation(name), kind })
  }

  debit(group: string): void {
    this.#metrics.debits.inc({ limit_group: group })
  }

  schedule({ stream, app }: StreamLabels, state: Parameters<Meter['schedule']>[1]): void {
    this.#fleet.late(stream, app, state)
  }

  owned(shards: number): void {
    this.#takesRows = true
    this.#metrics.shardsOwned.set(shards)
    if (shards > 0) return
    this.#fleet.clear()
    this.#quality.clear()
    this.#outages.clear()
  }

  storeFailed({ code }: Parameters<Meter['storeFailed']>[0]): void {
    if (code !== DISK_FULL) return
    const now = this.#options.clock.monotonic()
    this.#full = { since: this.#fullSince() ?? now, last: now }
  }

  /** Since when the disk of the database has been full, on the monotonic clock, ms; undefined while it is not. */
  #fullSince(): number | undefined {
    const isOver = !this.#full || this.#options.clock.monotonic() - this.#full.last >= FULL_MS
    return isOver ? undefined : this.#full?.since
  }

  /** What the process saw stays told: the shards are its own again when the database is back. */
  unrenewed({ code }: Parameters<Meter['unrenewed']>[0]): void {
    this.#takesRows = code !== READ_ONLY
    this.#metrics.shardsOwned.set(0)
  }

  /** Nothing is told any more of how the app goes: it is drained elsewhere, otherwise, or not at all. */
  left(app: string): void {
    for (const told of [this.#fleet, this.#outages, this.#quality]) told.forget(app)
  }

  /** The apps of the configuration from now on; nothing is told any more of how others go. */
  follow(apps: readonly string[], others: readonly string[]): void {
    this.#apps.know(apps)
    for (const app of others) this.left(app)
  }

  /** How trying to take over a changed configuration ended. */
  configured(outcome: ConfigOutcome): void {
    this.#metrics.configReloads.inc({ outcome })
  }

  /** Whether this process runs with what the file of the configuration says. */
  configInForce(isInForce: boolean): void {
    this.#metrics.configInForce.set(isInForce ? 1 : 0)
  }

  backlog({ stream, app }: StreamLabels, state: Parameters<Meter['backlog']>[1]): void {
    this.#fleet.backlog(stream, app, state)
  }

  budget(scope: string, group: string, reading: BudgetReading): void {
    this.#fleet.budget(scope, group, reading)
  }

  lossAhead(app: string, group: string, share: number): void {
    this.#fleet.lossAhead(app, group, share)
  }

  quality(app: string, rows: readonly QualityValue[]): void {
    this.#quality.note(app, rows)
  }

  clockDoubt(ms: number): void {
    this.#metrics.clockDoubt.set(ms / 1_000)
  }

  /** An answer that had no frame; for the transport. */
  unframed({ family, name }: Operation): void {
    this.#metrics.unframed.inc({ family, operation: this.#operation(name) })
  }

  /** What became of a notification; the app is undefined where none signed it. */
  notification(app: string | undefined, outcome: string): void {
    const label = app === undefined ? '' : this.#apps.of(app)
    this.#metrics.notifications.inc({ app: label, outcome: this.#noticeOutcome(outcome) })
  }

  /** A listener closed a connection because it had as many as it takes. */
  connectionRefused(listener: Listener): void {
    this.#metrics.connectionsRefused.inc({ listener })
  }

  /** The verdict on the whole, as the daemon reached it last. */
  verdict(reached: VerdictState): void {
    for (const state of verdictStates) this.#metrics.verdict.set({ state }, state === reached ? 1 : 0)
  }

  /** How the reading of apps goes, as this process saw it. */
  reading(apps: readonly string[]): Observed {
    const { clock } = this.#options
    const fullSince = this.#fullSince()
    return {
      databaseFullSince:
        fullSince === undefined ? null : isoTime(fullSince + clock.now() - clock.monotonic()),
      providers: apps.flatMap(app => this.#outages.providersOf(app)),
      reading: this.#readings(apps),
      budgets: this.#fleet.budgets().map(({ group, used, pace }) => ({ group, usedRatio: used, pace })),
      lossAhead: this.#fleet.lossesAhead(),
    }
  }

  /** Of ten thousand apps most streams were never met: nothing is made for these. */
  #readings(apps: readonly string[]): readonly StreamReading[] {
    const readings: StreamReading[] = []
    for (const app of apps) {
      for (const stream of this.#options.streams) {
        const reading = this.#readingOf(app, stream)
        if (reading) readings.push(reading)
      }
    }
    return readings
  }

  #readingOf(app: string, stream: StreamName): StreamReading | undefined {
    const { clock } = this.#options
    const { lateBy, backlog } = this.#fleet.of(stream, app)
    const course = this.#outages.streamOf(app, stream)
    if (lateBy === 0 && !backlog && !course) return undefined
    const ahead = clock.now() - clock.monotonic()
    const oldest = backlog && Number.isFinite(backlog.expiresAt) ? backlog : undefined
    return {
      ...{ app, stream, readAt: course?.readAt ?? null, failing: course?.failing ?? null },
      lateSeconds: Math.round(lateBy / 1_000),
      backlogSeconds: backlog?.seconds ?? 0,
      oldest: oldest
        ? {
            expiresAt: isoTime(oldest.expiresAt + ahead),
            since: isoTime(oldest.oldestSince + ahead),
            turnSeconds: Math.ceil(oldest.turn),
          }
        : null,
    }
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** All metrics in the text format of Prometheus. Succeeds without a database too. */
  scrape(): Promise<string> {
    this.#scraping ??= this.#scrape().finally(() => {
      this.#scraping = undefined
    })
    return this.#scraping
  }

  /** Ends the watching of the event loop. */
  close(): void {
    this.#loop.stop()
  }

  async #scrape(): Promise<string> {
    const { clock, streams, qualityAsked, pauses } = this.#options
    const { up, value, age } = await this.#storeGauges()
    const takesRows = this.#takesRows && this.#fullSince() === undefined
    this.#metrics.databaseUp.set(up && takesRows ? 1 : 0)
    this.#apps.single([...this.#outages.failing(TROUBLE_MS), ...this.#fleet.inTrouble()])
    const app = this.#apps.of
    if (value) setStoreGauges(this.#metrics, streams, this.#apps, value)
    this.#metrics.figuresAge.set(age / 1_000)
    this.#fleet.write(app)
    this.#quality.write(app, qualityAsked?.() ?? [], clock.now())
    this.#metrics.longestPause.reset()
    for (const [stream, seconds] of pauses?.() ?? []) this.#metrics.longestPause.set({ stream }, seconds)
    this.#metrics.eventLoopLag.set(this.#loop.lag())
    return this.#registry.metrics()
  }

  #beginAtZero(reasons: readonly string[]): void {
    const { streams, operations, noticeApps = [], noticeOutcomes = [] } = this.#options
    const metrics = this.#metrics
    for (const stream of streams) {
      for (const outcome of pageOutcomes) metrics.pages.inc({ stream, outcome }, 0)
      for (const reason of reasons) metrics.deadLetters.inc({ stream, reason }, 0)
      metrics.divergences.inc({ stream }, 0)
      metrics.ignored.inc({ stream }, 0)
    }
    for (const outcome of configOutcomes) metrics.configReloads.inc({ outcome }, 0)
    metrics.configInForce.set(1)
    for (const listener of listeners) metrics.connectionsRefused.inc({ listener }, 0)
    for (const operation of operations) {
      for (const kind of failureKinds) metrics.refusals.inc({ operation, kind }, 0)
    }
    for (const app of noticeApps.length > 0 ? ['', ...noticeApps.map(this.#apps.of)] : []) {
      for (const outcome of noticeOutcomes) metrics.notifications.inc({ app, outcome }, 0)
    }
  }
}

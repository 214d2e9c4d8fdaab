import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Clock } from '../clock/clock.ts'
import type { Meter, PageOutcome, StoreGauges, StreamLabels } from '../engine/ports.ts'
import { type FailureKind, failureKinds } from '../provider/errors.ts'
import type { Operation } from '../provider/operation.ts'
import { watchEventLoop } from './event-loop.ts'
import {
  type BacklogGauge,
  type BudgetGauge,
  createBacklogGauge,
  createBudgetGauge,
  createLagGauge,
  createQualityGauge,
  type LagGauge,
  type QualityGauge,
  type QualityQuestion,
} from './gauges.ts'
import { cappedLabel, closedLabel, createInstruments, type Instruments } from './instruments.ts'
import { setPlayers } from './player-gauges.ts'
import { createReading, type Reading } from './reading.ts'

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
  /** How many apps have a label of their own. */
  readonly maxApps?: number
  readonly registry?: Registry
}

const listeners = ['http', 'notifications'] as const
type Listener = (typeof listeners)[number]

export interface PrometheusMeter extends Meter {
  readonly registry: Registry
  /** An answer that had no frame; for the transport. */
  readonly unframed: (operation: Operation) => void
  /** What became of a notification; the app is undefined where none signed it. */
  readonly notification: (app: string | undefined, outcome: string) => void
  /** A listener closed a connection because it had as many as it takes. */
  readonly connectionRefused: (listener: Listener) => void
  /** All metrics in the text format of Prometheus. Succeeds without a database too. */
  readonly scrape: () => Promise<string>
  readonly contentType: string
  /** Ends the watching of the event loop. */
  readonly close: () => void
}

const defaultMaxApps = 200
const figuresMaxAge = 5_000
const figuresPatience = 2_000

/** Gauges that bear the ending of a counter, each beside one of the same figure without it. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

const lossWindows = ['hour', 'day'] as const

const gapStates = ['open', 'repaired', 'absent', 'lost']

const pageOutcomes: readonly PageOutcome[] = [
  'committed',
  'empty',
  'stale',
  'fenced',
  'unverified',
  'looped',
  'gone',
  'store_unavailable',
  ...failureKinds,
]

/** The daemon's metrics. Every label has a bounded set of values, and counters that should stay 0 begin at 0. */
export function createMeter(options: MeterOptions): PrometheusMeter {
  const { clock, registry = new Registry(), streams } = options
  const metrics = createInstruments(registry)
  const lags = createLagGauge()
  const owed = createBacklogGauge(clock)
  const quality = createQualityGauge()
  const budgets = createBudgetGauge(clock)
  const loop = watchEventLoop()
  const storeGauges = createReading({
    clock,
    read: options.storeGauges,
    maxAge: figuresMaxAge,
    timeout: figuresPatience,
  })
  const reasons = [...failureKinds, 'looping_next_id', ...options.rejectReasons]
  const app = cappedLabel(options.maxApps ?? defaultMaxApps)
  const operation = closedLabel(options.operations)
  const reason = closedLabel(reasons)
  const noticeOutcome = closedLabel(options.noticeOutcomes ?? [])
  collectDefaultMetrics({ register: registry })
  for (const name of misnamed) registry.removeSingleMetric(name)
  beginAtZero(metrics, streams, options.operations, reasons)
  const { noticeApps = [], noticeOutcomes = [] } = options
  for (const id of noticeApps.length > 0 ? ['', ...noticeApps.map(app)] : []) {
    for (const outcome of noticeOutcomes) metrics.notifications.inc({ app: id, outcome }, 0)
  }
  metrics.buildInfo.set({ version: options.version, node: process.version }, 1)

  const scrape = async () => {
    setStoreGauges(metrics, streams, app, await storeGauges())
    setLags(metrics, streams, lags)
    setBacklog(metrics, owed)
    setQuality(metrics, quality, app, clock.now(), options.qualityAsked?.() ?? [])
    setBudgets(metrics, budgets)
    metrics.eventLoopLag.set(loop.lag())
    return registry.metrics()
  }

  return {
    request(id, family, name, outcome, { elapsed }) {
      const labels = { family, operation: operation(name) }
      metrics.requests.inc({ ...labels, app: app(id), outcome })
      metrics.requestSeconds.observe(labels, elapsed / 1_000)
    },
    page({ stream }, outcome) {
      metrics.pages.inc({ stream, outcome })
      if (outcome === 'committed' || outcome === 'empty')
        metrics.lastSuccess.set({ stream }, clock.now() / 1_000)
    },
    rows(stored) {
      for (const [table, count] of Object.entries(stored)) metrics.rows.inc({ table }, count)
    },
    commit: elapsed => metrics.commitSeconds.observe(elapsed / 1_000),
    deadLetters: ({ stream }, why, count) => metrics.deadLetters.inc({ stream, reason: reason(why) }, count),
    ignored: ({ stream }, count) => metrics.ignored.inc({ stream }, count),
    divergences: ({ stream }, count) => metrics.divergences.inc({ stream }, count),
    limitViolation: (_app, name, kind) => metrics.refusals.inc({ operation: operation(name), kind }),
    debit: (_app, group) => metrics.debits.inc({ limit_group: group }),
    schedule: (labels, state) => lags.note(labels.stream, labels.app, state),
    owned(shards) {
      metrics.shardsOwned.set(shards)
      if (shards > 0) return
      for (const book of [lags, owed, quality, budgets]) book.clear()
    },
    owed: (labels, state) => owed.note(labels.stream, labels.app, state),
    budget: (scope, group, reading) => budgets.note(scope, group, reading),
    quality: (id, rows) => quality.note(id, rows),
    clockDoubt: ms => metrics.clockDoubt.set(ms / 1_000),
    unframed: ({ family, name }) => metrics.unframed.inc({ family, operation: operation(name) }),
    notification: (id, outcome) =>
      metrics.notifications.inc({ app: id === undefined ? '' : app(id), outcome: noticeOutcome(outcome) }),
    connectionRefused: listener => metrics.connectionsRefused.inc({ listener }),
    registry,
    scrape: oneAtATime(scrape),
    contentType: registry.contentType,
    close: () => loop.stop(),
  }
}

function beginAtZero(
  metrics: Instruments,
  streams: readonly StreamName[],
  operations: readonly string[],
  reasons: readonly string[],
): void {
  for (const stream of streams) {
    for (const outcome of pageOutcomes) metrics.pages.inc({ stream, outcome }, 0)
    for (const reason of reasons) metrics.deadLetters.inc({ stream, reason }, 0)
    metrics.divergences.inc({ stream }, 0)
    metrics.ignored.inc({ stream }, 0)
  }
  for (const listener of listeners) metrics.connectionsRefused.inc({ listener }, 0)
  const kinds: readonly FailureKind[] = failureKinds
  for (const operation of operations) for (const kind of kinds) metrics.refusals.inc({ operation, kind }, 0)
}

function setLags(metrics: Instruments, streams: readonly StreamName[], lags: LagGauge): void {
  for (const stream of streams) {
    const { due, lateBy } = lags.of(stream)
    metrics.due.set({ stream }, due)
    metrics.lag.set({ stream }, lateBy / 1_000)
  }
}

function setBacklog(metrics: Instruments, owed: BacklogGauge): void {
  metrics.owed.reset()
  metrics.owedExpires.reset()
  for (const { stream, seconds, expiresIn } of owed.all()) {
    metrics.owed.set({ stream }, seconds)
    if (expiresIn !== undefined) metrics.owedExpires.set({ stream }, expiresIn / 1_000)
  }
}

function setQuality(
  metrics: Instruments,
  quality: QualityGauge,
  app: (id: string) => string,
  now: number,
  asked: readonly QualityQuestion[],
): void {
  metrics.callQuality.reset()
  metrics.callQualityAge.reset()
  for (const { app: id, product, metric, value, at } of quality.latest()) {
    // Values of apps without a label of their own cannot be added up.
    if (app(id) !== id) continue
    const labels = { app: id, product, metric }
    metrics.callQuality.set(labels, value)
    metrics.callQualityAge.set(labels, (now - at) / 1_000)
  }
  for (const { app: id, product, metric, age } of quality.missing(asked, now)) {
    if (app(id) === id) metrics.callQualityAge.set({ app: id, product, metric }, age / 1_000)
  }
}

function setBudgets(metrics: Instruments, budgets: BudgetGauge): void {
  metrics.budgetUsed.reset()
  metrics.budgetPace.reset()
  for (const { group, used, pace } of budgets.all()) {
    metrics.budgetUsed.set({ group, window: 'day' }, used)
    metrics.budgetPace.set({ group }, pace)
  }
}

function setStoreGauges(
  metrics: Instruments,
  streams: readonly StreamName[],
  app: (id: string) => string,
  { up, value: storeGauges }: Reading<StoreGauges>,
): void {
  metrics.databaseUp.set(up ? 1 : 0)
  if (!storeGauges) return
  metrics.gaps.reset()
  metrics.rooms.reset()
  for (const stream of streams) for (const state of gapStates) metrics.gaps.set({ stream, state }, 0)
  const stream = closedLabel(streams)
  for (const gap of storeGauges.gaps)
    metrics.gaps.inc({ stream: stream(gap.stream), state: gap.state }, gap.count)
  setLosses(metrics, streams, storeGauges)
  for (const { table, rows } of storeGauges.leftBehind ?? []) metrics.defaultRows.set({ table }, rows)
  for (const rooms of storeGauges.rooms) metrics.rooms.inc({ state: rooms.state }, rooms.count)
  setPlayers(metrics, storeGauges, app)
}

function setLosses(
  { recentLosses }: Instruments,
  streams: readonly StreamName[],
  { losses = [] }: StoreGauges,
): void {
  recentLosses.reset()
  for (const stream of streams) for (const window of lossWindows) recentLosses.set({ stream, window }, 0)
  const stream = closedLabel(streams)
  for (const loss of losses)
    for (const window of lossWindows) recentLosses.inc({ stream: stream(loss.stream), window }, loss[window])
}

/** Those who ask while an answer is being made get that answer. */
function oneAtATime<T>(make: () => Promise<T>): () => Promise<T> {
  let making: Promise<T> | undefined
  return () => {
    making ??= make().finally(() => {
      making = undefined
    })
    return making
  }
}

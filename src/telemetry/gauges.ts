import type { Clock } from '../clock/clock.ts'
import type { BacklogReading, BudgetReading, StoreGauges } from '../engine/ports.ts'
import { playerStatuses } from '../provider/players/index.ts'
import { type AppLabels, closedLabel, type Instruments, type Label } from './instruments.ts'

/** What each member of a group told last, for a figure of the whole group. */
class Latest<T> {
  readonly #groups = new Map<string, Map<string, T>>()

  note(group: string, member: string, told: T): void {
    const members = this.#groups.get(group) ?? new Map<string, T>()
    this.#groups.set(group, members.set(member, told))
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

  forget(member: string): void {
    for (const [group, members] of this.#groups) {
      members.delete(member)
      // Of none there is no worst.
      if (members.size === 0) this.#groups.delete(group)
    }
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
  /** Since when the oldest of them has been the oldest and was not read, on the monotonic clock, ms. */
  readonly oldestSince: number
  /** For how many seconds it may wait for its turn. */
  readonly turn: number
}

/** Of thousands of apps nearly all are: one object for all of them. */
const inTime: Lateness = { series: 0, lateBy: 0 }

/** An app is in trouble when a stream of its rooms or lists is as late as this, ms, or data expire within it. */
const TROUBLE_MS = 300_000

/** The estimate of the provider's clock moves by less than this, ms; data that were read move the oldest by more. */
const clockNoise = 5_000

/** Of what was spent when a budget was looked at so long ago, ms, nothing counts any more: nobody here asks of it since. */
const DAY_MS = 86_400_000

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
    this.#late.note(stream, app, lateness.series === 0 ? inTime : lateness)
  }

  backlog(stream: string, app: string, told: BacklogReading): void {
    const { seconds, expiresIn, turn = 0, oldestReadAt = Number.NEGATIVE_INFINITY } = told
    const now = this.#clock.monotonic()
    const expiresAt = expiresIn === null ? Number.POSITIVE_INFINITY : now + expiresIn
    const before = this.#backlog.get(stream, app)
    const isSame = before && Math.abs(before.expiresAt - expiresAt) < clockNoise
    // Against the first that was told of it, so that small moves do not add up.
    const oldest = isSame ? before : { expiresAt, oldestSince: now }
    const oldestSince = Math.max(oldest.oldestSince, oldestReadAt)
    this.#backlog.note(stream, app, { seconds, expiresAt: oldest.expiresAt, oldestSince, turn })
  }

  /** Of one credential. */
  budget(scope: string, group: string, reading: BudgetReading): void {
    this.#budgets.note(group, scope, { ...reading, at: this.#clock.monotonic() })
  }

  /** What cannot be had, as it goes now. */
  lossAhead(app: string, group: string, share: number): void {
    this.#losses.note(group, app, share)
  }

  /** An app is drained no more. */
  forget(app: string): void {
    for (const told of [this.#late, this.#backlog, this.#losses]) told.forget(app)
  }

  /** Apps that lag, or are about to lose something. */
  inTrouble(): readonly string[] {
    const now = this.#clock.monotonic()
    const lag = this.#late.groups.flatMap(stream =>
      // Who is late with what waits for a budget is in trouble when it is about to expire.
      this.#late
        .entriesOf(stream)
        .filter(([app, { lateBy }]) => lateBy >= TROUBLE_MS && !this.#backlog.get(stream, app)),
    )
    const expiring = this.#backlog.groups.flatMap(stream =>
      this.#backlog.entriesOf(stream).filter(([, { expiresAt }]) => expiresAt - now <= TROUBLE_MS),
    )
    return [...lag, ...expiring].map(([app]) => app)
  }

  /** Apps without series of their own are told together: sums, and of times the worst. */
  write(app: Label): void {
    const now = this.#clock.monotonic()
    this.#writeLag(app)
    this.#writeBacklog(app, now)
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
      const used = Math.max(...scopes.map(each => (now - each.at < DAY_MS ? each.used : 0)))
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

  #writeLag(app: Label): void {
    this.#metrics.due.reset()
    this.#metrics.lag.reset()
    for (const stream of this.#late.groups) {
      for (const [label, told] of byLabel(this.#late.entriesOf(stream), app)) {
        const due = told.reduce((sum, { series }) => sum + series, 0)
        const lateBy = told.reduce((latest, each) => Math.max(latest, each.lateBy), 0)
        this.#metrics.due.set({ app: label, stream }, due)
        this.#metrics.lag.set({ app: label, stream }, lateBy / 1_000)
      }
    }
  }

  #writeBacklog(app: Label, now: number): void {
    this.#metrics.backlog.reset()
    this.#metrics.backlogExpires.reset()
    for (const stream of this.#backlog.groups) {
      for (const [label, told] of byLabel(this.#backlog.entriesOf(stream), app)) {
        const labels = { app: label, stream }
        const soonest = told.reduce((first, { expiresAt }) => Math.min(first, expiresAt), Infinity)
        const seconds = told.reduce((sum, each) => sum + each.seconds, 0)
        this.#metrics.backlog.set(labels, seconds)
        if (Number.isFinite(soonest)) this.#metrics.backlogExpires.set(labels, (soonest - now) / 1_000)
      }
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

function byLabel<T>(told: readonly (readonly [app: string, T])[], label: Label): ReadonlyMap<string, T[]> {
  const groups = Map.groupBy(told, ([app]) => label(app))
  return new Map(groups.entries().map(([name, members]) => [name, members.map(([, each]) => each)]))
}

const lossWindows = ['hour', 'day'] as const

const gapStates = ['open', 'repaired', 'absent', 'lost']

/** Those of the provider, and that of a player of which no list told one. */
const statuses = [...playerStatuses, 'unknown']
const statusLabel = closedLabel(statuses)

/** Sets what the database tells, of all apps together. What is stored of an app that was taken out stays as it is for ever. */
export function setStoreGauges(
  metrics: Instruments,
  streams: readonly string[],
  { of, isKnown }: AppLabels,
  read: StoreGauges,
): void {
  const stream = closedLabel(streams)
  metrics.gaps.reset()
  metrics.rooms.reset()
  metrics.recentLosses.reset()
  for (const each of streams) {
    for (const state of gapStates) metrics.gaps.set({ stream: each, state }, 0)
    for (const window of lossWindows) metrics.recentLosses.set({ stream: each, window }, 0)
  }
  for (const gap of read.gaps.filter(isKnown))
    metrics.gaps.inc({ stream: stream(gap.stream), state: gap.state }, gap.gaps)
  for (const loss of read.losses ?? []) {
    for (const window of lossWindows) {
      metrics.recentLosses.inc({ stream: stream(loss.stream), window }, loss[window])
    }
  }
  for (const { table, rows } of read.leftBehind ?? []) metrics.defaultRows.set({ table }, rows)
  for (const { state, count } of read.rooms.filter(isKnown)) metrics.rooms.inc({ state }, count)
  setPlayers(metrics, of, {
    players: read.players?.filter(isKnown),
    orphans: read.orphans?.filter(isKnown),
  })
}

/** Players by app; apps without a label of their own are added up. Every app whose list was read has all statuses. */
function setPlayers(
  metrics: Pick<Instruments, 'players' | 'orphanPlayers'>,
  app: Label,
  { players = [], orphans = [] }: { readonly [N in 'players' | 'orphans']: StoreGauges[N] | undefined },
): void {
  metrics.players.reset()
  metrics.orphanPlayers.reset()
  for (const { app: id, count } of orphans) {
    for (const status of statuses) metrics.players.inc({ app: app(id), status }, 0)
    metrics.orphanPlayers.inc({ app: app(id) }, count)
  }
  for (const { app: id, status, count } of players) {
    metrics.players.inc({ app: app(id), status: statusLabel(status) }, count)
  }
}

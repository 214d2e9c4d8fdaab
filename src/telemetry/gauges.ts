import type { Clock } from '../clock/clock.ts'
import type { BudgetReading } from '../engine/ports.ts'
import type { QualityRealtimeRow } from '../tables/analytics.ts'

interface Lateness {
  readonly series: number
  readonly lateBy: number
}

/** How late one stream is over all its apps. */
export interface Lag {
  readonly due: number
  /** ms */
  readonly lateBy: number
}

export interface LagGauge {
  readonly note: (stream: string, app: string, lateness: Lateness) => void
  readonly of: (stream: string) => Lag
  /** Forgets everything: the apps are someone else's now. */
  readonly clear: () => void
}

/** Remembers the last word of every app, because the latest of them all is what matters. */
export function createLagGauge(): LagGauge {
  const streams = new Map<string, Map<string, Lateness>>()
  return {
    note(stream, app, lateness) {
      const apps = streams.get(stream) ?? new Map<string, Lateness>()
      streams.set(stream, apps)
      if (lateness.series === 0) apps.delete(app)
      else apps.set(app, lateness)
    },
    of(stream) {
      const apps = [...(streams.get(stream)?.values() ?? [])]
      return {
        due: apps.reduce((sum, { series }) => sum + series, 0),
        lateBy: apps.reduce((latest, { lateBy }) => Math.max(latest, lateBy), 0),
      }
    },
    clear: () => streams.clear(),
  }
}

/** What the streams still owe, over all apps. */
export interface BacklogGauge {
  /** `seconds` of data are not read yet or not final; the oldest expires in `expiresIn` ms, null when none is owed. */
  readonly note: (
    stream: string,
    app: string,
    state: { readonly seconds: number; readonly expiresIn: number | null },
  ) => void
  /** What every stream owes that said so; `expiresIn` in ms from now, undefined when nothing is owed. */
  readonly all: () => readonly Backlog[]
  readonly clear: () => void
}

interface Backlog {
  readonly stream: string
  readonly seconds: number
  readonly expiresIn: number | undefined
}

interface Entry {
  readonly seconds: number
  /** On the monotonic clock, ms. */
  readonly expiresAt: number
}

export function createBacklogGauge(clock: Clock): BacklogGauge {
  const streams = new Map<string, Map<string, Entry>>()
  return {
    note: (stream, app, { seconds, expiresIn }) => {
      const apps = streams.get(stream) ?? new Map<string, Entry>()
      streams.set(stream, apps)
      const expiresAt = expiresIn === null ? Number.POSITIVE_INFINITY : clock.monotonic() + expiresIn
      apps.set(app, { seconds, expiresAt })
    },
    all: () => [...streams].map(([stream, apps]) => sum(stream, [...apps.values()], clock.monotonic())),
    clear: () => streams.clear(),
  }
}

function sum(stream: string, entries: readonly Entry[], now: number): Backlog {
  const soonest = Math.min(...entries.map(({ expiresAt }) => expiresAt))
  const seconds = entries.reduce((all, entry) => all + entry.seconds, 0)
  return { stream, seconds, expiresIn: Number.isFinite(soonest) ? soonest - now : undefined }
}

/** How budgets are spent: of each limit group the credential that is worst off. */
export interface BudgetGauge {
  readonly note: (scope: string, group: string, reading: BudgetReading) => void
  readonly all: () => readonly GroupSpending[]
  readonly clear: () => void
}

interface GroupSpending {
  readonly group: string
  /** Share of the longest window's requests that count, 0 to 1. */
  readonly used: number
  /** How many times as fast as evenly over the window requests are spent. */
  readonly pace: number
}

interface Noted extends BudgetReading {
  /** ms on a monotonic clock. */
  readonly at: number
}

export function createBudgetGauge(clock: Clock): BudgetGauge {
  const groups = new Map<string, Map<string, Noted>>()
  return {
    note(scope, group, reading) {
      const scopes = groups.get(group) ?? new Map<string, Noted>()
      groups.set(group, scopes.set(scope, { ...reading, at: clock.monotonic() }))
    },
    all: () => {
      const now = clock.monotonic()
      return [...groups].map(([group, scopes]) => {
        const noted = [...scopes.values()]
        return {
          group,
          used: Math.max(...noted.map(({ used }) => used)),
          pace: Math.max(...noted.map(each => paceUntil(now, each))),
        }
      })
    },
    clear: () => groups.clear(),
  }
}

/** Nobody counted since, so a budget that nothing is asked of looks quieter and quieter. */
function paceUntil(now: number, { pace, over, at }: Noted): number {
  return pace * (over / (over + now - at))
}

/** The latest real-time value of each app, product and metric, of the whole project. */
export interface QualityGauge {
  readonly note: (app: string, rows: readonly QualityRealtimeRow[]) => void
  readonly latest: () => readonly QualityReading[]
  /** Of those asked for, the ones without a value, and for how long none has come, ms; `now` in ms since the epoch. */
  readonly missing: (
    asked: readonly QualityQuestion[],
    now: number,
  ) => readonly (QualityQuestion & { readonly age: number })[]
  readonly clear: () => void
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
const WINDOW_MS = 20_000

/** So many series at most: every further one is left to SQL. */
const MOST_READINGS = 2_000

export function createQualityGauge(): QualityGauge {
  const readings = new Map<string, QualityReading>()
  let askedSince = new Map<string, number>()

  function noteOne(app: string, { product, metric, value, at }: QualityRealtimeRow): void {
    const key = keyOf({ app, product, metric })
    const reading = { app, product, metric, value, at: Date.parse(at) + WINDOW_MS }
    const known = readings.get(key)
    if (known ? known.at >= reading.at : readings.size >= MOST_READINGS) return
    readings.set(key, reading)
  }

  return {
    note: (app, rows) => {
      for (const row of rows) if (row.cname === '' && row.uid === '') noteOne(app, row)
    },
    latest: () => [...readings.values()],
    missing: (asked, now) => {
      const unread = asked.filter(question => !readings.has(keyOf(question))).slice(0, MOST_READINGS)
      askedSince = new Map(unread.map(keyOf).map(key => [key, askedSince.get(key) ?? now]))
      return unread.map(question => ({ ...question, age: now - askedSince.get(keyOf(question))! }))
    },
    clear: () => {
      readings.clear()
      askedSince.clear()
    },
  }
}

function keyOf({ app, product, metric }: QualityQuestion): string {
  return JSON.stringify([app, product, metric])
}

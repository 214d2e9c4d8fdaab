import type { QualityRealtimeRow } from '../rows/analytics.ts'

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

export interface QualityReading extends QualityQuestion {
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

import type { QualityRealtimeRow } from '../rows/analytics.ts'

/** The latest real-time value of each app, product and metric, of the whole project. */
export interface QualityBook {
  readonly note: (app: string, rows: readonly QualityRealtimeRow[]) => void
  readonly latest: () => readonly QualityReading[]
  readonly clear: () => void
}

export interface QualityReading {
  readonly app: string
  readonly product: string
  readonly metric: string
  readonly value: number
  /** End of the window that the value stands for, ms since the epoch. */
  readonly at: number
}

/** Real-time values stand for windows of this length, ms. */
const WINDOW_MS = 20_000

/** So many series at most: every further one is left to SQL. */
const MOST_READINGS = 2_000

export function createQualityBook(): QualityBook {
  const readings = new Map<string, QualityReading>()

  function noteOne(app: string, { product, metric, value, at }: QualityRealtimeRow): void {
    const key = JSON.stringify([app, product, metric])
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
    clear: () => readings.clear(),
  }
}

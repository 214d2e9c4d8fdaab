import type { QualityValue } from '../engine/ports.ts'
import { realtimeWindow } from '../provider/analytics/index.ts'
import { type Instruments, type Label, otherApps } from './instruments.ts'

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

/** So many values at most: every further one is left to SQL. */
const MOST_READINGS = 20_000

/** So many series at most. */
const MOST_SERIES = 2_000

/** An older value says nothing of now, ms. */
const OF_NOW_MS = 3_600_000

/** Metrics of which a low value is bad; of all others it is a high one. */
const goodWhenHigh = /^joinSuccess/

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

  /**
   * Of what is asked for and has no value, the age is for how long none has come; `now` in ms since the epoch. Of apps
   * without series of their own the worst value of now is told, with its age.
   */
  write(app: Label, asked: readonly QualityQuestion[], now: number): void {
    this.#metrics.callQuality.reset()
    this.#metrics.callQualityAge.reset()
    const unread = asked.filter(question => !this.#readings.has(keyOf(question))).slice(0, MOST_READINGS)
    this.#askedSince = new Map(unread.map(keyOf).map(key => [key, this.#askedSince.get(key) ?? now]))
    const told = new Map<string, QualityReading>()
    for (const reading of this.#readings.values()) {
      const labelled = { ...reading, app: app(reading.app) }
      const key = keyOf(labelled)
      const other = told.get(key)
      if (other ? isWorse(labelled, other, now) : told.size < MOST_SERIES) told.set(key, labelled)
    }
    for (const reading of told.values()) {
      this.#metrics.callQuality.set(labelsOf(reading), reading.value)
      this.#metrics.callQualityAge.set(labelsOf(reading), (now - reading.at) / 1_000)
    }
    for (const question of unread.filter(each => app(each.app) !== otherApps).slice(0, MOST_SERIES)) {
      const since = this.#askedSince.get(keyOf(question))!
      this.#metrics.callQualityAge.set(labelsOf(question), (now - since) / 1_000)
    }
  }

  forget(app: string): void {
    for (const [key, reading] of this.#readings) if (reading.app === app) this.#readings.delete(key)
  }

  clear(): void {
    this.#readings.clear()
    this.#askedSince.clear()
  }
}

/** Whether of two values of a metric one is to be told rather than the other. */
function isWorse(one: QualityReading, other: QualityReading, now: number): boolean {
  const isOfNow = ({ at }: QualityReading) => now - at <= OF_NOW_MS
  if (isOfNow(one) !== isOfNow(other)) return isOfNow(one)
  return goodWhenHigh.test(one.metric) ? one.value < other.value : one.value > other.value
}

function labelsOf({ app, product, metric }: QualityQuestion) {
  return { app, product, metric }
}

function keyOf(question: QualityQuestion): string {
  return JSON.stringify(Object.values(labelsOf(question)))
}

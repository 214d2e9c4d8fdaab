import { type Granularity, granularitySeconds } from '../../../src/provider/analytics/index.ts'
import type { Calls } from '../calls.ts'
import { hashOf, shareOf } from '../hash.ts'
import type { Settings } from '../options.ts'
import { type QualityMetric, qualityAt, toPercent } from './quality.ts'
import { type Usage, type UsageMetric, usageOf } from './usage.ts'

const badHours = 0.03

/** When one looks, and until when what happened is known by then: Unix milliseconds of the world. */
export interface Moment {
  readonly time: number
  readonly known: number
}

export interface QualitySeries {
  readonly product: string
  readonly metric: QualityMetric
  readonly granularity: Granularity
}

/**
 * The historical values of one app. The value of a time that is not wholly known yet will be another one later,
 * and so will one that has not been computed again yet.
 */
export class Insights {
  readonly #settings: Settings
  readonly #app: string
  readonly #calls: Calls
  readonly #settled = new Map<string, Usage>()

  constructor(settings: Settings, app: string, calls: Calls) {
    this.#settings = settings
    this.#app = app
    this.#calls = calls
  }

  usage(metric: UsageMetric, granularity: Granularity, ts: number, moment: Moment): number {
    const value = this.#usageFrom(ts, granularitySeconds[granularity], moment.known)[metric]
    if (this.#isFinal(ts, granularity, moment.time)) return value
    return Math.max(0, value - Math.max(1, Math.round(value * 0.03)))
  }

  quality({ product, metric, granularity }: QualitySeries, ts: number, moment: Moment): number {
    const hash = hashOf(this.#settings.seed, this.#app, product, granularity)
    const isBad = shareOf(hashOf(hash, ts)) < badHours
    const value = qualityAt(metric, hash, ts, isBad ? 'bad' : 'usual')
    const isOver = moment.known >= (ts + granularitySeconds[granularity]) * 1_000
    const early = isOver ? value : qualityAt(metric, hash, moment.known, 'usual')
    return this.#isFinal(ts, granularity, moment.time) ? early : beforeRestatement(early)
  }

  /** Values are computed again once, about two days after the end of their time. */
  #isFinal(ts: number, granularity: Granularity, time: number): boolean {
    const { restatement, restatementHours } = this.#settings.switches
    if (restatement === 'off') return true
    const delay = restatementHours * 3_600 + 3_600 * shareOf(hashOf('restated', ts))
    return time >= (ts + granularitySeconds[granularity] + delay) * 1_000
  }

  #usageFrom(ts: number, step: number, known: number): Usage {
    const from = ts * 1_000
    const to = Math.min(from + step * 1_000, known)
    const isOver = to < known
    const key = `${ts}/${step}`
    const settled = isOver ? this.#settled.get(key) : undefined
    if (settled) return settled
    const usage = usageOf(to > from ? this.#calls.during(from, to) : [], from, to)
    if (isOver) this.#settled.set(key, usage)
    return usage
  }
}

/** Always another value, and always a percentage. */
function beforeRestatement(value: number): number {
  return value > 50 ? toPercent(value - 0.37) : toPercent(value + 0.37)
}

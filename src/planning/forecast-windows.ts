import type { GroupFacts, WindowFacts } from './forecast-facts.ts'
import { longestWindow } from './windows.ts'

const day = 86_400

/** What becomes of the series of a window stream under a plan. */
export interface WindowForecast {
  readonly kind: 'windows'
  readonly stream: string
  readonly granularity?: string
  readonly series: number
  /** Requests a day at the cadence that the config wishes. */
  readonly wished: number
  /** Fewest requests a day with which everything is read once. */
  readonly least: number
  /** Requests a day at the cadence that follows. */
  readonly requests: number
  /** How often each series is asked, seconds, as far as there is something new. */
  readonly every: number
  /** How long after its end a value is stored at the latest, seconds. */
  readonly freshness: number
  /** Seconds of the past that can be had at any time. */
  readonly reachable: number
  /** Share of the data that is never had. */
  readonly lost: number
  /** Share of the data that is had, but never again once it is final. */
  readonly unconfirmed: number
}

/** A stream with what a plan makes of it. */
interface Cut {
  readonly facts: WindowFacts
  /** Seconds that a request brings on average; 0 when the plan allows no question of this step. */
  readonly frame: number
  /** Seconds of the past that can be had at any time, on average. */
  readonly reachable: number
  /** Share of the data that is still there when it is asked for as often as the config wishes. */
  readonly share: number
  readonly callsPerDay: number
}

/**
 * How often each series can be asked so that the budget lasts: as wished, else all of them less often by the same
 * factor, but none so seldom that data are lost as long as that can be avoided. The seconds that the daemon keeps
 * from the strict bounds are not counted. `allowed`: requests a day that are left to them.
 */
export function forecastWindows(
  facts: GroupFacts,
  streams: readonly WindowFacts[],
  allowed: number,
): readonly WindowForecast[] {
  const { dataDelay } = facts.limits
  const cuts = streams.map(stream => cutOf(facts, stream))
  const costAt = (factor: number) => sum(cuts.map(cut => costOf(cut, stretch(cut, factor))))
  const least = sum(cuts.map(leastOf))
  if (least > allowed) {
    const shortage = least / Math.max(1, allowed)
    return cuts.map(cut => {
      const slower = cut.frame > 0 ? (cut.frame / cut.share) * shortage : 0
      const result = resultOf(cut, dataDelay, Math.max(cut.facts.every, slower))
      return { ...result, requests: leastOf(cut) / shortage, lost: 1 - cut.share / shortage }
    })
  }
  const slowest = costAt(Number.POSITIVE_INFINITY)
  if (slowest > allowed) {
    const unconfirmed = (slowest - allowed) / (slowest - least)
    return cuts.map(cut => {
      const result = resultOf(cut, dataDelay, stretch(cut, Number.POSITIVE_INFINITY))
      const spared = unconfirmed * (result.requests - leastOf(cut))
      return { ...result, unconfirmed, requests: result.requests - spared }
    })
  }
  const factor = smallestFactor(candidate => costAt(candidate) <= allowed)
  return cuts.map(cut => resultOf(cut, dataDelay, stretch(cut, factor)))
}

function cutOf({ limits, expected }: GroupFacts, facts: WindowFacts): Cut {
  const { availableData, timeFrame, dataDelay } = limits
  const reachable = Math.max(0, availableData - dataDelay - 1 - facts.step)
  const frame = Math.min(longestWindow({ timeFrame, step: facts.step }), reachable)
  const share = frame > 0 ? Math.min(1, reachable / facts.every) : 0
  return { facts, frame, reachable, share, callsPerDay: expected?.callsPerDay ?? 0 }
}

/** Every series asked less often by `factor`, but not so seldom that a request cannot bring all that is new. */
function stretch({ facts: { every }, frame }: Cut, factor: number): number {
  return Math.max(every, Math.min(every * factor, frame))
}

/** Requests a day when the newest data are asked for every `period` seconds. */
function costOf(cut: Cut, period: number): number {
  const { facts, frame, reachable } = cut
  if (frame === 0) return 0
  const between = Math.max(period, facts.step)
  const frames = Math.max(1, Math.min(between, reachable) / frame)
  // What is not final before it leaves the newest frame is asked for once more.
  const readings = facts.allowedLateness > 0 && between > frame - facts.allowedLateness ? 2 : 1
  const pages = pagesOf(cut, Math.min(between + facts.allowedLateness, frame))
  return (facts.series * frames * readings * pages * day) / between
}

/** Fewest requests a day with which all is read once that the cadence leaves to be read. */
function leastOf(cut: Cut): number {
  const { facts, frame, share } = cut
  return frame === 0 ? 0 : (facts.series * pagesOf(cut, frame) * share * day) / frame
}

function pagesOf({ facts: { pageSize }, callsPerDay }: Cut, length: number): number {
  return pageSize === undefined ? 1 : Math.max(1, Math.ceil((callsPerDay * length) / day / pageSize))
}

function resultOf(cut: Cut, dataDelay: number, period: number): WindowForecast {
  const { facts, reachable, share } = cut
  const { stream, granularity, series, every, step } = facts
  return {
    kind: 'windows',
    stream,
    ...(granularity === undefined ? {} : { granularity }),
    series,
    wished: costOf(cut, every),
    least: leastOf(cut),
    requests: costOf(cut, period),
    every: Math.max(period, step),
    freshness: dataDelay + period,
    reachable,
    lost: 1 - share,
    unconfirmed: 0,
  }
}

/** Found by growing steps and then by halving, to a ten-thousandth; `isEnough` may waver but holds at the end. */
function smallestFactor(isEnough: (factor: number) => boolean): number {
  if (isEnough(1)) return 1
  let high = 1.01
  while (high < 1e9 && !isEnough(high)) high *= 1.01
  let low = high / 1.01
  while (high / low > 1.0001) {
    const middle = (low + high) / 2
    if (isEnough(middle)) high = middle
    else low = middle
  }
  return high
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0)
}

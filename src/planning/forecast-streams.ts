import {
  allowedPerDay,
  type DetailFacts,
  type ExpectedCalls,
  type GroupFacts,
  type GroupLimits,
  type WindowFacts,
} from './forecast-facts.ts'
import { longestWindow, slices } from './windows.ts'

const day = 86_400

/** What becomes of the series of a window stream under a plan. */
export interface WindowForecast extends Pick<WindowFacts, 'kind' | 'stream' | 'granularity' | 'series'> {
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

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => a + b, 0)
}

/** What becomes of a stream that asks for each call. */
export interface DetailForecast {
  readonly kind: 'details'
  readonly stream: string
  /** Requests that one call costs, on average. */
  readonly perCall: number
  /** Requests a day for all calls; undefined where no number of calls is expected. */
  readonly wished: number | undefined
  /** Requests a day within the budget; undefined likewise. */
  readonly requests: number | undefined
  /** How long after a call its data can be had at the earliest, seconds: so soon are most calls measured. */
  readonly earliest: number
  /** How long after a call it is measured at the latest, if at all, seconds: where some are lost, just before it expires. */
  readonly freshness: number
  /** Share of the calls that cannot be measured. */
  readonly lost: number
}

/** Calls a day that can be fully measured: by all streams of the group. */
export interface MeasurableCalls {
  readonly callsPerDay: number
  /** Requests that one call costs. */
  readonly perCall: number
  /** The call that was reckoned with: the expected one, or an example where none is expected. */
  readonly users: number
  readonly minutes: number
  readonly isExample: boolean
}

const example = { usersPerCall: 50, callMinutes: 45 } as const

export function forecastDetails(
  facts: GroupFacts,
  streams: readonly DetailFacts[],
): { readonly streams: readonly DetailForecast[]; readonly measurable: MeasurableCalls } {
  const { limits, expected } = facts
  const call = expected ?? example
  const allowed = allowedPerDay(facts)
  const costs = streams.map(stream => requestsPerCall(stream, limits, call))
  const perCall = sum(costs)
  const callsPerDay = Math.floor(allowed / perCall)
  const had = expected === undefined ? 1 : Math.min(1, allowed / (expected.callsPerDay * perCall))
  return {
    streams: streams.map(({ stream }, i) => {
      const wished = expected && expected.callsPerDay * costs[i]!
      return {
        ...{ kind: 'details', stream, perCall: costs[i]!, wished },
        ...{ requests: wished && wished * had, lost: 1 - had },
        ...{ earliest: limits.dataDelay, freshness: had < 1 ? limits.availableData : limits.dataDelay },
      }
    }),
    measurable: {
      ...{ callsPerDay, perCall, users: call.usersPerCall, minutes: call.callMinutes },
      isExample: expected === undefined,
    },
  }
}

/** Each slice of a call asks for all of its users, in batches; to the hundredth, where it does not of every call. */
function requestsPerCall(
  { batch, end, everyNth }: DetailFacts,
  { timeFrame }: GroupLimits,
  { usersPerCall, callMinutes }: Omit<ExpectedCalls, 'callsPerDay'>,
): number {
  const least = Math.ceil(usersPerCall / batch)
  const pages = { known: least, 'short-page': Math.floor(usersPerCall / batch) + 1, 'empty-page': least + 1 }
  const ofOne = slices({ from: 0, to: Math.round(callMinutes * 60) }, timeFrame).length * pages[end]
  return Math.round((100 * ofOne) / everyNth) / 100
}

import {
  allowedPerDay,
  type DetailFacts,
  type ExpectedCalls,
  type GroupFacts,
  type GroupLimits,
} from './forecast-facts.ts'
import { slices } from './windows.ts'

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
  const perCall = costs.reduce((a, b) => a + b, 0)
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

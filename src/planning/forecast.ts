import { type Change, changesFor } from './forecast-changes.ts'
import { type DetailForecast, forecastDetails, type MeasurableCalls } from './forecast-details.ts'
import { allowedPerDay, type GroupFacts } from './forecast-facts.ts'
import { forecastWindows, type WindowForecast } from './forecast-windows.ts'
import { forecastLive, type LiveForecast } from './live-channels.ts'

/** What a config needs of one limit group of an app against what the plan allows. Requests are per day. */
export interface GroupForecast {
  readonly group: string
  readonly plan: string
  /** Apps that share the counter. */
  readonly sharers: number
  /** What is left to this app. */
  readonly allowed: number
  /** What the config wishes, as far as it is known. */
  readonly wished: number
  readonly streams: readonly StreamForecast[]
  /** Where channels are asked for while something goes on in them. */
  readonly live?: LiveForecast
  /** Where the group asks for each call. */
  readonly measurable?: MeasurableCalls
  /** Share of the data of the stream that loses most. */
  readonly lost: number
  /** Share that is read, but never again once it is final. */
  readonly unconfirmed: number
  /** What would help, the cheapest first; empty when nothing is lost, or when nothing helps. */
  readonly changes: readonly Change[]
}

export type StreamForecast = WindowForecast | DetailForecast

/** Reckons before anything is sent; nothing here looks at a clock or at the provider. */
export function forecastGroup(facts: GroupFacts): GroupForecast {
  const forecast = reckon(facts)
  return { ...forecast, changes: isComplete(forecast) ? [] : changesFor(facts, isEnough) }
}

function isEnough(facts: GroupFacts): boolean {
  return isComplete(reckon(facts))
}

function isComplete({ lost, unconfirmed }: Pick<GroupForecast, 'lost' | 'unconfirmed'>): boolean {
  return lost === 0 && unconfirmed === 0
}

function reckon(facts: GroupFacts): Omit<GroupForecast, 'changes'> {
  const { group, limits, sharers } = facts
  const windows = facts.streams.filter(stream => stream.kind === 'windows')
  const details = facts.streams.filter(stream => stream.kind === 'details')
  const calls = details.length > 0 ? forecastDetails(facts, details) : undefined
  const live = forecastLive(facts)
  const allowed = allowedPerDay(facts)
  const left = allowed - (live?.taken ?? 0)
  const streams = [...forecastWindows(facts, windows, left), ...(calls?.streams ?? [])]
  return {
    ...{ group, plan: limits.plan, sharers, allowed, streams, ...(live && { live }) },
    wished: streams.reduce((sum, { wished }) => sum + (wished ?? 0), 0),
    ...(calls && { measurable: calls.measurable }),
    lost: Math.max(0, ...streams.map(({ lost }) => lost)),
    unconfirmed: Math.max(0, ...streams.map(stream => (stream.kind === 'windows' ? stream.unconfirmed : 0))),
  }
}

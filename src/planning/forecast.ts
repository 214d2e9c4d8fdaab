import { allowedPerDay, type GroupFacts, type StreamFacts, windowsOf } from './forecast-facts.ts'
import {
  type DetailForecast,
  forecastDetails,
  forecastWindows,
  type MeasurableCalls,
  type WindowForecast,
} from './forecast-streams.ts'
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
  return { ...forecast, changes: isComplete(forecast) ? [] : changesFor(facts) }
}

/** Whether nothing is lost with these facts. */
function isEnough(facts: GroupFacts): boolean {
  return isComplete(reckon(facts))
}

function isComplete({ lost, unconfirmed }: Pick<GroupForecast, 'lost' | 'unconfirmed'>): boolean {
  return lost === 0 && unconfirmed === 0
}

function reckon(facts: GroupFacts): Omit<GroupForecast, 'changes'> {
  const { group, limits, sharers } = facts
  const windows = windowsOf(facts)
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

/** A change of the config or the plan after which nothing would be lost. */
export type Change =
  /** The config asks less often than data can be had; `every` in seconds is enough. */
  | { readonly kind: 'ask-oftener'; readonly stream: string; readonly every: number }
  | { readonly kind: 'fewer-series'; readonly from: number; readonly to: number }
  | { readonly kind: 'without-granularity'; readonly stream: string; readonly granularity: string }
  | { readonly kind: 'without-stream'; readonly stream: string }
  | { readonly kind: 'higher-plan'; readonly plan: string }

interface Candidate {
  readonly change: Change
  /** Questions that are no longer asked; a higher plan costs money, which is more than any of them. */
  readonly givesUp: number
  readonly facts: GroupFacts
}

/** Changes that help, the cheapest first. */
function changesFor(facts: GroupFacts): readonly Change[] {
  const fewer = fewerSeries(facts)
  return [...oftener(facts), ...(fewer ? [fewer] : []), ...withoutParts(facts), ...higherPlans(facts)]
    .filter(candidate => isEnough(candidate.facts))
    .toSorted((a, b) => a.givesUp - b.givesUp)
    .map(({ change }) => change)
}

function oftener(facts: GroupFacts): readonly Candidate[] {
  const { availableData, dataDelay } = facts.limits
  return windowsOf(facts).flatMap(stream => {
    const every = Math.floor((availableData - dataDelay) / 2)
    if (stream.every <= every) return []
    const change: Change = { kind: 'ask-oftener', stream: stream.stream, every }
    const streams = facts.streams.map(each => (each === stream ? { ...stream, every } : each))
    return [{ change, givesUp: 0, facts: { ...facts, streams } }]
  })
}

/** Takes series away one by one, from where there are most; each kind of series keeps one. */
function fewerSeries(facts: GroupFacts): Candidate | undefined {
  const from = seriesIn(facts.streams)
  let changed = facts
  while (!isEnough(changed)) {
    const most = windowsOf(changed).toSorted((a, b) => b.series - a.series)[0]
    if (most === undefined || most.series <= 1) return undefined
    const less = { ...most, series: most.series - 1 }
    changed = { ...changed, streams: changed.streams.map(each => (each === most ? less : each)) }
  }
  const to = seriesIn(changed.streams)
  return { change: { kind: 'fewer-series', from, to }, givesUp: from - to, facts: changed }
}

/** Of the streams that ask for each call, one needs those before it. */
function withoutParts(facts: GroupFacts): readonly Candidate[] {
  return facts.streams.flatMap((part, i) => {
    const rest = facts.streams.filter(each => each !== part)
    const isNeeded = part.kind === 'details' && i < facts.streams.length - 1
    if (rest.length === 0 || isNeeded) return []
    const change = leaveOut(part, rest)
    return [{ change, givesUp: seriesIn([part]), facts: { ...facts, streams: rest } }]
  })
}

function leaveOut(part: StreamFacts, rest: readonly StreamFacts[]): Change {
  const { stream } = part
  const granularity = part.kind === 'windows' ? part.granularity : undefined
  return granularity !== undefined && rest.some(each => each.stream === stream)
    ? { kind: 'without-granularity', stream, granularity }
    : { kind: 'without-stream', stream }
}

function higherPlans(facts: GroupFacts): readonly Candidate[] {
  return facts.higher.map((limits, i) => ({
    change: { kind: 'higher-plan', plan: limits.plan },
    givesUp: 1_000_000 + i,
    facts: { ...facts, limits },
  }))
}

/** Questions that are asked again and again; a stream that asks for each call counts as one. */
function seriesIn(streams: readonly StreamFacts[]): number {
  return streams.reduce((sum, part) => sum + (part.kind === 'windows' ? part.series : 1), 0)
}

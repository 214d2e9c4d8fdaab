import type { Change, GroupForecast, StreamForecast } from './forecast.ts'
import type { DetailForecast, WindowForecast } from './forecast-streams.ts'

/** What a person must know of a forecast, one short sentence each; none when all is as the config wishes. */
export function findingsOf(forecast: GroupForecast): readonly string[] {
  const windows = forecast.streams.filter(stream => stream.kind === 'windows')
  const details = forecast.streams.filter(stream => stream.kind === 'details')
  const [cheapest] = forecast.changes
  return [
    ...windows.flatMap(stream => aboutWindows(stream, forecast)),
    ...details.flatMap(stream => aboutDetails(stream, forecast)),
    ...liveInWords(forecast),
    ...(cheapest ? [`The cheapest change: ${formatChange(cheapest)}.`] : []),
  ]
}

/** What becomes of the channels that are asked for while something goes on in them. */
export function liveInWords({ group, allowed, live }: GroupForecast): readonly string[] {
  if (!live) return []
  const { channels, series, perChannel, left, every } = live
  const most = channels === 0 ? 'none is asked' : `${channels} at a time at most are asked`
  const cost = `${counted(series, 'question')} each, at least every ${durationInWords(every)}`
  const room = `${left} of ${allowed} requests a day are left for them, and each takes ${Math.ceil(perChannel)}`
  return [
    `${group}: of the channels with a room or call going on ${most} (${cost}): ${room}. One that is not asked is no gap.`,
  ]
}

export function formatChange(change: Change): string {
  switch (change.kind) {
    case 'ask-oftener':
      return `ask ${change.stream} every ${durationInWords(change.every)}`
    case 'fewer-series':
      return `ask for ${change.to} series instead of ${change.from}`
    case 'without-granularity':
      return `leave out the granularity ${change.granularity} of ${change.stream}`
    case 'without-stream':
      return `turn ${change.stream} off`
    case 'higher-plan':
      return `the plan ${change.plan}`
  }
}

/** Seconds in the largest unit in which there are two or more of it; rounded. */
export function durationInWords(seconds: number): string {
  const units = [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const
  for (const [unit, length] of units) {
    if (seconds >= 2 * length || seconds === length) return counted(seconds / length, unit)
  }
  return counted(seconds, 'second')
}

/** A share as whole percent; what is not nothing is never said to be 0 %. */
export function formatShare(share: number): string {
  return share > 0 && share < 0.01 ? 'less than 1 %' : `${Math.round(share * 100)} %`
}

/** A stream whose granularities are reckoned apart has a name for each. */
export function nameOf(forecast: StreamForecast): string {
  const granularity = forecast.kind === 'windows' ? forecast.granularity : undefined
  return granularity ? `${forecast.stream} (${granularity})` : forecast.stream
}

function aboutWindows(
  stream: WindowForecast,
  { allowed: all, live, wished, streams }: GroupForecast,
): readonly string[] {
  const { series, every, reachable, lost, unconfirmed } = stream
  const allowed = all - (live?.taken ?? 0)
  const name = nameOf(stream)
  const count = streams.reduce((sum, each) => sum + (each.kind === 'windows' ? each.series : 0), 0)
  const budget = `${count} series in ${allowed} requests a day`
  if (lost > 0) {
    const reason = wished > allowed ? `${name}: ${budget}` : `${name}: ${series} series`
    const reached = `asked every ${durationInWords(every)}, of which ${durationInWords(reachable)} can be had`
    return [`${reason} are ${reached}: ${formatShare(lost)} would be lost.`]
  }
  if (unconfirmed > 0) {
    return [`${name}: ${budget}: ${formatShare(unconfirmed)} would never be read once it is final.`]
  }
  return wished > allowed ? [`${name}: ${budget}, so each is asked every ${durationInWords(every)}.`] : []
}

function aboutDetails(stream: DetailForecast, { allowed, measurable }: GroupForecast): readonly string[] {
  if (stream.lost === 0 || measurable === undefined) return []
  const { callsPerDay, perCall, users } = measurable
  const calls = `${callsPerDay} calls of ${users} users a day, at ${perCall} requests each, fit in ${allowed}`
  const [soon, late] = [durationInWords(stream.earliest), durationInWords(stream.freshness)]
  const ages = `of the others most are measured from ${soon} after their end on, the rest up to ${late} after it`
  return [`${stream.stream}: ${calls}: ${formatShare(stream.lost)} of the calls would be lost; ${ages}.`]
}

function counted(amount: number, unit: string): string {
  const text = amount < 10 ? String(Math.round(amount * 10) / 10) : String(Math.round(amount))
  return text === '1' ? `1 ${unit}` : `${text} ${unit}s`
}

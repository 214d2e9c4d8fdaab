import { appsText } from '../../config/availability.ts'
import type { GroupForecast, StreamForecast } from '../../planning/forecast.ts'
import { findingsOf, formatDuration, formatShare } from '../../planning/forecast-format.ts'
import { countText, textTable } from '../cli/output.ts'
import type { Outlook } from './outlook.ts'

const header = ['stream', 'series', 'needed a day', 'allowed', 'asked every', 'stored within', 'lost']

/** The forecast for people. */
export function forecastLines({ apps, groups, losses }: Outlook): readonly string[] {
  const { plan } = apps[0]!
  if (groups.length === 0)
    return [`${appsText(apps.map(({ id }) => id))}, plan ${plan}: no stream of call analytics is on`]
  const accepted = losses.filter(loss => loss.accepted).map(({ stream }) => stream)
  return [
    `${appsText(apps.map(({ id }) => id))}, plan ${plan}`,
    ...textTable(header, groups.flatMap(groupRows)),
    '',
    ...groups.flatMap(remarks),
    ...(accepted.length > 0 ? [`Accepted by acceptLoss: ${accepted.join(', ')}.`] : []),
  ]
}

function groupRows(group: GroupForecast): readonly (readonly (string | number | null)[])[] {
  return group.streams.map(stream => [
    nameOf(stream),
    stream.kind === 'windows' ? stream.series : null,
    stream.wished === undefined ? null : Math.ceil(stream.wished),
    group.allowed,
    stream.kind === 'windows' ? formatDuration(stream.every) : `${stream.perCall} a call`,
    formatDuration(stream.freshness),
    stream.lost > 0 ? formatShare(stream.lost) : 'nothing',
  ])
}

function nameOf(stream: StreamForecast): string {
  const granularity = stream.kind === 'windows' ? stream.granularity : undefined
  return granularity ? `${stream.stream} (${granularity})` : stream.stream
}

function remarks(group: GroupForecast): readonly string[] {
  const { measurable, sharers } = group
  return [
    ...(sharers > 1
      ? [`${group.group}: ${sharers} apps share the counter, so each has its part of it.`]
      : []),
    ...findingsOf(group),
    ...(measurable ? [formatMeasurable(measurable)] : []),
  ]
}

function formatMeasurable({
  callsPerDay,
  perCall,
  users,
  minutes,
  isExample,
}: NonNullable<GroupForecast['measurable']>): string {
  const calls = `${countText(callsPerDay)} calls a day can be measured in full`
  const cost = `a call of ${users} users and ${minutes} minutes costs ${perCall} requests`
  return `${calls}: ${cost}${isExample ? ' (an example; "expect" of the app says what you have)' : ''}.`
}

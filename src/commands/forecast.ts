import { appsText, offTexts } from '../config/availability.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import type { GroupForecast } from '../planning/forecast.ts'
import { durationInWords, findingsOf, formatShare, nameOf } from '../planning/forecast-format.ts'
import { countText } from '../telemetry/wording.ts'
import { CommandError } from './cli/exit.ts'
import type { ReportOptions } from './cli/options.ts'
import { printLines, textTable } from './cli/output.ts'
import { type Outlook, outlooksOf } from './forecast/outlook.ts'
import { storageRows } from './forecast/storage.ts'
import { mixedPlans } from './wiring/counters.ts'

/**
 * Tells from the configuration alone what it needs of the provider against what the plans allow. Throws when data
 * would be lost that nobody has given up.
 */
export async function forecast(options: ReportOptions): Promise<void> {
  const config = await loadConfig(options.config, { env: process.env })
  const outlooks = outlooksOf(config)
  printLines(options.json ? [JSON.stringify(forecastJson(config, outlooks))] : textOf(config, outlooks))
  const losing = outlooks.filter(isLosing)
  if (losing.length > 0) {
    const who = losing.map(
      outlook => `${lostIn(outlook).join(', ')} of ${appsText(outlook.apps.map(({ id }) => id))}`,
    )
    throw new CommandError(`data would be lost: ${who.join('; ')} (acceptLoss of the app accepts that)`)
  }
}

/**
 * What a daemon should say when it starts: where data would be lost, or read but never once it is final, or live
 * channels are wished and none can be asked about. One sentence each, for all apps that are alike; what the operator accepts is not told.
 */
export function forecastWarnings(config: Config): readonly string[] {
  const found = outlooksOf(config).flatMap(({ apps, groups, losses }) => {
    const accepted = new Set<string>(losses.filter(loss => loss.accepted).map(({ stream }) => stream))
    return groups
      .filter(({ lost, unconfirmed, streams, live }) => {
        const isAccepted = streams.every(({ stream, lost }) => lost === 0 || accepted.has(stream))
        return (lost > 0 && !isAccepted) || unconfirmed > 0 || live?.channels === 0
      })
      .flatMap(findingsOf)
      .map(text => `${appsText(apps.map(({ id }) => id))}: ${text}`)
  })
  return [...mixedPlans(config), ...found]
}

function textOf(config: Config, outlooks: readonly Outlook[]): readonly string[] {
  const parts = outlooks.flatMap(outlook => [...forecastLines(outlook), ''])
  const off = offTexts(config).map(text => `off: ${text}`)
  return [
    ...parts,
    ...off,
    ...mixedPlans(config),
    outlooks.some(isLosing) ? 'data would be lost' : 'nothing would be lost unexpectedly',
  ]
}

function isLosing(outlook: Outlook): boolean {
  return lostIn(outlook).length > 0
}

function lostIn({ losses }: Outlook): readonly string[] {
  return losses.filter(({ accepted }) => !accepted).map(({ stream }) => stream)
}

function forecastJson(config: Config, outlooks: readonly Outlook[]) {
  return {
    ok: !outlooks.some(isLosing),
    off: offTexts(config),
    mixed: mixedPlans(config),
    forecasts: outlooks.map(({ apps, groups, losses, storage }) => ({
      apps: apps.map(({ id }) => id),
      plan: apps[0]!.plan,
      ...{ losses, storage },
      groups: groups.map(group => ({ ...group, findings: findingsOf(group) })),
    })),
  }
}

const header = ['stream', 'series', 'wanted a day', 'allowed', 'asked every', 'stored within', 'lost']

const storageHeader = ['table', 'rows a day', 'size a day', 'kept for', 'in all']

/** The forecast for people. */
export function forecastLines({ apps, groups, losses, storage }: Outlook): readonly string[] {
  const { plan } = apps[0]!
  if (groups.length === 0)
    return [`${appsText(apps.map(({ id }) => id))}, plan ${plan}: no stream of call analytics is on`]
  const accepted = losses.filter(loss => loss.accepted).map(({ stream }) => stream)
  return [
    `${appsText(apps.map(({ id }) => id))}, plan ${plan}`,
    ...textTable(header, groups.flatMap(groupRows)),
    '',
    ...groups.flatMap(remarks),
    '',
    ...textTable(storageHeader, storageRows(storage)),
    ...(accepted.length > 0 ? [`Accepted by acceptLoss: ${accepted.join(', ')}.`] : []),
  ]
}

function groupRows(group: GroupForecast): readonly (readonly (string | number | null)[])[] {
  return group.streams.map(stream => [
    nameOf(stream),
    stream.kind === 'windows' ? stream.series : null,
    stream.wished === undefined ? null : Math.ceil(stream.wished),
    group.allowed,
    stream.kind === 'windows' ? durationInWords(stream.every) : `${stream.perCall} a call`,
    durationInWords(stream.freshness),
    stream.lost > 0 ? formatShare(stream.lost) : 'nothing',
  ])
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

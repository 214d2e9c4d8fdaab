import { appsText, offTexts } from '../config/availability.ts'
import type { Config } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import { findingsOf } from '../planning/forecast-format.ts'
import { CommandError } from './cli/exit.ts'
import { forecastLines } from './forecast/lines.ts'
import { type Outlook, outlooksOf } from './forecast/outlook.ts'
import { mixedPlans } from './wiring/counters.ts'

interface ForecastOptions {
  readonly config: string
  readonly json?: boolean
}

/**
 * Tells from the configuration alone what it needs of the provider against what the plans allow. Throws when data
 * would be lost that nobody has given up.
 */
export async function forecast(options: ForecastOptions): Promise<void> {
  const config = await loadConfig(options.config, { env: process.env })
  const outlooks = outlooksOf(config)
  const lines = options.json ? [JSON.stringify(forecastJson(config, outlooks))] : textOf(config, outlooks)
  for (const line of lines) process.stdout.write(`${line}\n`)
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
    forecasts: outlooks.map(({ apps, groups, losses }) => ({
      apps: apps.map(({ id }) => id),
      plan: apps[0]!.plan,
      losses,
      groups: groups.map(group => ({ ...group, findings: findingsOf(group) })),
    })),
  }
}

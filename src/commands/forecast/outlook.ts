import { appsText, streamsOn } from '../../config/availability.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import type { AppSettings } from '../../engine/settings.ts'
import { forecastGroup, type GroupForecast } from '../../planning/forecast.ts'
import type { GroupFacts } from '../../planning/forecast-facts.ts'
import { liveInWords } from '../../planning/forecast-format.ts'
import { forecastLive } from '../../planning/live-channels.ts'
import { mapValues } from '../../settings/leaf.ts'
import { createFollowing } from '../app-settings.ts'
import { factsOf } from './facts.ts'

/** What becomes of apps that are alike in everything that the forecast reckons with. */
export interface Outlook {
  readonly apps: readonly AppConfig[]
  readonly groups: readonly GroupForecast[]
  /** Streams of which data would be lost, and how much of them. */
  readonly losses: readonly Loss[]
}

export interface Loss {
  readonly stream: string
  /** Share of the data; of details, of the calls. */
  readonly share: number
  /** The operator knows. */
  readonly accepted: boolean
}

/** Reckons for every app; what is equal is reckoned once, however many apps there are. */
export function outlooksOf(config: Config): readonly Outlook[] {
  const alike = new Map<string, { readonly apps: AppConfig[]; readonly facts: readonly GroupFacts[] }>()
  for (const [app, facts] of factsOf(config)) {
    const key = JSON.stringify([facts, app.plan, app.acceptLoss])
    const known = alike.get(key)
    if (known) known.apps.push(app)
    else alike.set(key, { apps: [app], facts })
  }
  return [...alike.values()].map(({ apps, facts }) => {
    const groups = facts.map(forecastGroup)
    return { apps, groups, losses: lossesOf(groups, apps[0]!) }
  })
}

/** A stream with several granularities counts with the one that loses most. */
function lossesOf(groups: readonly GroupForecast[], { acceptLoss }: AppConfig): readonly Loss[] {
  const shares = new Map<string, number>()
  for (const { stream, lost } of groups.flatMap(({ streams }) => streams)) {
    if (lost > 0) shares.set(stream, Math.max(lost, shares.get(stream) ?? 0))
  }
  return [...shares].map(([stream, share]) => ({ stream, share, accepted: acceptLoss.includes(stream) }))
}

/** Gives the streams of an app as many live channels as its budget has room for beside all else that is asked. */
export function livePlaces(config: Config): (app: AppConfig, settings: AppSettings) => AppSettings {
  if (!hasLive(config)) return (_, settings) => settings
  const facts = factsOf(config)
  return (app, settings) => {
    const most = new Map(facts.get(app)?.flatMap(placesIn))
    const windows = mapValues(settings.windows, (each, stream) =>
      each.live ? { ...each, live: { ...each.live, most: most.get(stream) ?? 0 } } : each,
    )
    return { ...settings, windows }
  }
}

/** For how many channels real time is asked, of all apps that are alike; said wherever a configuration asks for it. */
export function liveTexts(config: Config): readonly string[] {
  if (!hasLive(config)) return []
  return outlooksOf(config).flatMap(({ apps, groups }) =>
    groups.flatMap(liveInWords).map(text => `${appsText(apps.map(({ id }) => id))}: ${text}`),
  )
}

function placesIn(facts: GroupFacts): readonly [string, number][] {
  const live = forecastLive(facts)
  return facts.streams.map(({ stream }) => [stream, live?.channels ?? 0])
}

/** Whether any stream is followed in the channels that are live. */
function hasLive(config: Config): boolean {
  const following = createFollowing()
  return config.apps.some(app =>
    streamsOn(config, app).some(stream => stream.kind === 'window' && following(app, stream).live),
  )
}

import { appsText } from '../../config/availability.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import type { AppSettings, WindowSettings } from '../../engine/settings.ts'
import type { GroupFacts } from '../../planning/forecast-facts.ts'
import { liveInWords } from '../../planning/forecast-format.ts'
import { forecastLive } from '../../planning/live-channels.ts'
import { factsOf } from './facts.ts'
import { outlooksOf } from './outlook.ts'

/** Gives the streams of an app as many live channels as its budget has room for beside all else that is asked. */
export function livePlaces(config: Config): (app: AppConfig, settings: AppSettings) => AppSettings {
  if (!config.apps.some(hasLive)) return (_, settings) => settings
  const facts = factsOf(config)
  return (app, settings) => {
    const most = new Map(facts.get(app)?.flatMap(placesIn))
    const windows = Object.entries(settings.windows).map(([stream, each]): [string, WindowSettings] => {
      return [stream, each.live ? { ...each, live: { ...each.live, most: most.get(stream) ?? 0 } } : each]
    })
    return { ...settings, windows: Object.fromEntries(windows) }
  }
}

/** For how many channels real time is asked, of all apps that are alike; said wherever a configuration asks for it. */
export function liveTexts(config: Config): readonly string[] {
  if (!config.apps.some(hasLive)) return []
  return outlooksOf(config).flatMap(({ apps, groups }) =>
    groups.flatMap(liveInWords).map(text => `${appsText(apps.map(({ id }) => id))}: ${text}`),
  )
}

function placesIn(facts: GroupFacts): readonly [string, number][] {
  const live = forecastLive(facts)
  return facts.streams.map(({ stream }) => [stream, live?.channels ?? 0])
}

function hasLive({ streams: { 'realtime-usage': usage, 'realtime-quality': quality } }: AppConfig): boolean {
  return [usage, quality].some(settings => settings !== 'off' && settings.channels === 'live')
}

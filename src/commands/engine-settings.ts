import type { AppConfig, Config } from '../config/config.ts'
import type { EngineSettings } from '../engine/settings.ts'
import { defaultParameterNames } from '../provider/analytics/index.ts'
import type { Deployment } from '../streams/stream.ts'
import { appSettings } from './app-settings.ts'
import { livePlaces } from './forecast/outlook.ts'

/** How many shards the apps are spread over: as many processes at most can share the work. */
export const shards = 64
/** How often ownership is renewed, ms: what another process gives back waits no longer. */
const renewEvery = 1_000
/** A stopping daemon waits this long for the pages in hand, ms. */
const drainDeadline = 8_000

/** More of one app are followed in turn, so that invented ones cannot fill the memory. */
const mostRooms = 10_000

/** What the engine needs, out of the configuration. */
export function engineSettings(config: Config): EngineSettings {
  const { classroom, analytics, players } = config.provider
  const places = livePlaces(config)
  return {
    apps: config.apps.map(app => places(app, appSettings(config, app))),
    reading: {
      submitter: classroom?.submitter ?? 'operator',
      sequenceScope: classroom?.sequenceScope ?? 'room',
    },
    roomMemory: classroom?.roomMemory ?? 0,
    deadline: Math.max(classroom?.deadline ?? 0, analytics?.deadline ?? 0, players?.deadline ?? 0),
    housekeeping: config.schedule.housekeeping,
    ...{ shards, renewEvery, drainDeadline, mostRooms },
  }
}

/** How the provider of a configuration wants its streams asked; `appsNow`: its apps, where they may change. */
export function deploymentOf({ provider, apps }: Config, appsNow = () => apps): Deployment {
  let known = { apps: appsNow(), streams: streamsOf(appsNow()) }
  const streamsNow = () => {
    const apps = appsNow()
    if (apps !== known.apps) known = { apps, streams: streamsOf(apps) }
    return known.streams
  }
  return {
    widgetPath: provider.classroom?.widgetPath ?? 'without-region',
    words: provider.analytics ?? defaultParameterNames,
    analyticsLimits: provider.analytics?.limits ?? 'joint',
    playerLimits: provider.players?.limits ?? 'joint',
    playersPath: provider.players?.paths.list,
    settingsOf: (app, { name, settings }) => {
      const said = streamsNow().get(app)?.[name]
      return (said === undefined || said === 'off' ? settings.parse({}) : said) as never
    },
  }
}

function streamsOf(apps: readonly AppConfig[]): ReadonlyMap<string, AppConfig['streams']> {
  return new Map(apps.map(app => [app.id, app.streams]))
}

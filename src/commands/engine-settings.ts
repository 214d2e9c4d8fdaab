import { isDrained } from '../config/availability.ts'
import type { AppConfig, Config } from '../config/config.ts'
import { regionalScope } from '../engine/ports.ts'
import type { AppSettings, EngineSettings, GroupLimit, StreamSettings } from '../engine/settings.ts'
import { defaultParameterNames } from '../provider/analytics/index.ts'
import { perSecond } from '../provider/limits.ts'
import { everyCall } from '../streams/calls/selection.ts'
import type { Deployment } from '../streams/index.ts'
import { type CursorStreamName, cursorStreamNames } from '../streams/stream.ts'
import { analyticsSettings, type ReadWindows, shareWindows } from './analytics-settings.ts'
import { livePlaces } from './forecast/outlook.ts'
import { playerLimits, playerStream } from './player-settings.ts'

/** How many shards the apps are spread over: as many processes at most can share the work. */
export const shards = 64
/** How long a shard stays ours without a renewal, and how often it is renewed, ms. */
export const ownershipTtl = 12_000
const renewEvery = 3_000
/** A stopping daemon waits this long for the pages in hand, ms. */
const drainDeadline = 8_000

/** More of one app are followed in turn, so that invented ones cannot fill the memory. */
const mostRooms = 10_000

/** What the engine needs, out of the configuration. */
export function engineSettings(config: Config): EngineSettings {
  const { classroom, analytics, players } = config.provider
  const readWindows = shareWindows()
  const places = livePlaces(config)
  return {
    apps: config.apps.map(app => places(app, appSettings(config, app, readWindows))),
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

/** How the provider of a configuration wants its streams asked. */
export function deploymentOf({ provider, apps }: Config): Deployment {
  const sessions = new Map(apps.map(app => [app.id, app.streams['call-sessions']]))
  const metrics = new Map(apps.map(app => [app.id, app.streams['call-metrics']]))
  return {
    widgetPath: provider.classroom?.widgetPath ?? 'without-region',
    words: provider.analytics ?? defaultParameterNames,
    analyticsLimits: provider.analytics?.limits ?? 'joint',
    playerLimits: provider.players?.limits ?? 'joint',
    playersPath: provider.players?.paths.list,
    serverUsers: app => {
      const settings = sessions.get(app)
      return settings === undefined || settings === 'off' ? 'include' : settings.serverUsers
    },
    selects: app => {
      const settings = metrics.get(app)
      return settings === undefined || settings === 'off' ? everyCall : settings.select
    },
  }
}

function appSettings(config: Config, app: AppConfig, readWindows: ReadWindows): AppSettings {
  const { id, region, regions, rooms } = app
  const streams = Object.fromEntries(
    cursorStreamNames.flatMap(name => {
      const settings =
        name === 'cloud-players' ? playerStream(config, app) : classroomStream(config, app, name)
      return settings ? [[name, settings] as const] : []
    }),
  )
  const analytics = analyticsSettings(config, app, readWindows)
  return {
    id,
    region,
    regions: regions.length > 1 ? regions.map(name => ({ name, limits: classroomLimits(app, name) })) : [],
    rooms,
    streams,
    ...analytics,
    limits: { ...classroomLimits(app), ...analytics.limits, ...playerLimits(config, app) },
  }
}

/** No limits of the classroom service are documented: only its feed, which may consume, is counted durably. */
export function classroomLimits(
  { id, limits }: AppConfig,
  region = '',
): Readonly<Record<string, GroupLimit>> {
  const { classroom, 'classroom-feed': feed } = limits
  const scope = regionalScope(id, region)
  return {
    classroom: {
      scope,
      rates: [perSecond(classroom.perSecond)],
      concurrency: classroom.concurrency,
      counted: 'process',
    },
    'classroom-feed': { scope, rates: [perSecond(feed.perSecond)], concurrency: 1, counted: 'ledger' },
  }
}

type ClassroomStreamName = Exclude<CursorStreamName, 'cloud-players'>

function classroomStream(
  config: Config,
  app: AppConfig,
  name: ClassroomStreamName,
): StreamSettings | undefined {
  const { classroom } = config.provider
  const cadence = app.streams[name]
  if (cadence === 'off' || !classroom || !isDrained(config, app, name)) return undefined
  const [activeEvery, idleEvery] =
    'every' in cadence ? [cadence.every, cadence.every] : [cadence.activeEvery, cadence.idleEvery]
  const concurrency = Math.ceil(app.limits.classroom.concurrency * shareOf(name))
  return { activeEvery, idleEvery, memory: classroom.roomMemory, concurrency }
}

/** No stream may fill every place of the group, so that one that hangs leaves room for the others. */
function shareOf(stream: ClassroomStreamName): number {
  return stream === 'room-events' ? 3 / 4 : 1 / 4
}

import { streamsOn } from '../config/availability.ts'
import type { AppConfig, Config } from '../config/config.ts'
import { allowanceOf, ratesOf } from '../config/limits.ts'
import { regionalScope } from '../engine/ports.ts'
import type { AppSettings, GroupLimit, StreamSettings } from '../engine/settings.ts'
import { analyticsGroups, countersOf } from '../provider/analytics/index.ts'
import { type PlayerGroup, playerGroups } from '../provider/players/index.ts'
import {
  type CursorStream,
  isCursor,
  isSubstream,
  isWindow,
  type Stream,
  type WindowSettings,
  type WindowStream,
} from '../streams/stream.ts'
import { counterScope, sharedRates } from './wiring/counters.ts'

type Limits = AppSettings['limits']

/** Ten thousand apps that are set alike ask the same questions: those of a configuration have them in common. */
const questions = new WeakMap<Config, Map<string, WindowSettings>>()

/** How a window stream is followed as an app has it set. */
export function following(config: Config, app: AppConfig, { name, follows }: WindowStream): WindowSettings {
  const known = questions.get(config) ?? new Map<string, WindowSettings>()
  questions.set(config, known)
  const said = app.streams[name] as object
  const key = JSON.stringify([name, said])
  const settings = known.get(key) ?? follows(said)
  known.set(key, settings)
  return settings
}

/** What the engine must know of one app; a stream that cannot be drained is absent. */
export function appSettings(config: Config, app: AppConfig): AppSettings {
  const { id, region, regions, timeZone, userLink, rooms } = app
  const on = streamsOn(config, app)
  const several = regions.length > 1
  return {
    id,
    region,
    timeZone,
    userLink,
    regions: several ? regions.map(name => ({ name, limits: classroomLimits(app, name) })) : [],
    rooms,
    streams: byName(on.filter(isCursor), stream => cursorSettings(config, app, stream)),
    windows: byName(on.filter(isWindow), stream => following(config, app, stream)),
    details: byName(on.filter(isSubstream), ({ name, operation, pace }) => ({
      ...pace(app.streams[name] as object),
      concurrency: app.limits[operation.limitGroup]!.concurrency,
    })),
    limits: {
      ...classroomLimits(app),
      ...(on.some(({ operation }) => operation.family === 'analytics') && analyticsLimits(config, app)),
      ...playerLimits(config, app),
    },
  }
}

function byName<S extends Stream, T>(streams: readonly S[], make: (stream: S) => T) {
  return Object.fromEntries(streams.map(stream => [stream.name, make(stream)]))
}

/** No stream of rooms may fill every place of the group, so that one that hangs leaves room for the others. */
function cursorSettings({ provider }: Config, app: AppConfig, stream: CursorStream): StreamSettings {
  const cadence = stream.cadence(app.streams[stream.name] as object)
  const memory = provider.classroom?.roomMemory ?? 0
  if (stream.kind === 'feed') return { ...cadence, memory, concurrency: 1 }
  if (stream.scope === 'app') return { ...cadence, memory: 0, concurrency: 1 }
  const places = app.limits[stream.operation.limitGroup]!.concurrency
  return { ...cadence, memory, concurrency: Math.ceil(places * (stream.share ?? 1 / 4)) }
}

/** No limits of the classroom service are documented: only its feed, which may consume, is counted durably. */
export function classroomLimits({ id, limits }: AppConfig, region = ''): Limits {
  const scope = regionalScope(id, region)
  const limitOf = (group: string) => {
    return { scope, rates: ratesOf(limits[group]!), concurrency: limits[group]!.concurrency }
  }
  return {
    classroom: { ...limitOf('classroom'), counted: 'process' },
    'classroom-feed': { ...limitOf('classroom-feed'), counted: 'ledger' },
  }
}

/** What the plan of an app allows of call analytics, whether or not any of it is drained. */
export function analyticsLimits(config: Config, app: AppConfig): Limits {
  const scope = counterScope(config, app, 'analytics')
  const limits = analyticsGroups.flatMap((group): readonly (readonly [string, GroupLimit])[] => {
    const allowance = allowanceOf(app, group)
    if (!allowance) return []
    const { rates, ...range } = allowance
    const { concurrency } = app.limits[group]!
    const shared = sharedRates(config, app, group, rates)
    const limit: GroupLimit = { scope, range, rates: shared, concurrency, counted: 'ledger' }
    return countersOf(group, config.provider.analytics?.limits ?? 'joint').map(name => [name, limit])
  })
  return Object.fromEntries(limits)
}

/** What may be asked of the cloud player service for an app; nothing where it has no key or there is no service. */
export function playerLimits(config: Config, app: AppConfig): Limits {
  if (!config.provider.players || !app.rest) return {}
  const scope = counterScope(config, app, 'players')
  const limitOf = (group: PlayerGroup): GroupLimit => {
    const said = app.limits[group]!
    const rates = sharedRates(config, app, group, ratesOf(said))
    return { scope, rates, concurrency: said.concurrency, counted: 'ledger' }
  }
  return Object.fromEntries(playerGroups.map(group => [group, limitOf(group)]))
}

/** How long a stream of the whole app is left alone on purpose, seconds; undefined of one that is off. */
export function restOf(app: AppSettings, stream: string): number | undefined {
  if (![app.streams, app.windows, app.details].some(on => stream in on)) return undefined
  return Math.max(pauseOf(app, stream), (app.streams[stream]?.idleEvery ?? 0) / 1_000)
}

/** The longest time between two moments of a stream, seconds; 0 where it is asked at intervals. */
export function pauseOf({ streams, windows }: AppSettings, stream: string): number {
  const { moments, activeEvery } = streams[stream] ?? {}
  const window = windows[stream]
  return ((moments && activeEvery) ?? (window?.moments && window.every) ?? 0) / 1_000
}

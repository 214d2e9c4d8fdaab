import { appsText, streamsOn } from '../../config/availability.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { allowanceOf } from '../../config/limits.ts'
import type { AppSettings } from '../../engine/settings.ts'
import { forecastGroup, type GroupForecast } from '../../planning/forecast.ts'
import type { GroupFacts, GroupLimits, StreamFacts } from '../../planning/forecast-facts.ts'
import { liveInWords } from '../../planning/forecast-format.ts'
import type { StoredTable } from '../../planning/forecast-storage.ts'
import { forecastLive } from '../../planning/live-channels.ts'
import {
  type AnalyticsGroup,
  analyticsLimits,
  countedBy,
  granularitySeconds,
} from '../../provider/analytics/index.ts'
import { plans } from '../../provider/limits.ts'
import { mapValues } from '../../settings/leaf.ts'
import type { Stream, WindowSettings, WindowStream } from '../../streams/stream.ts'
import { appSettings, following } from '../app-settings.ts'
import { counterScope, sharedRates } from '../wiring/counters.ts'
import { storageOf } from './storage.ts'

/** What becomes of apps that are alike in everything that the forecast reckons with. */
export interface Outlook {
  readonly apps: readonly AppConfig[]
  readonly groups: readonly GroupForecast[]
  /** Streams of which data would be lost, and how much of them. */
  readonly losses: readonly Loss[]
  /** What comes into the tables of call analytics, of each of the apps. */
  readonly storage: readonly StoredTable[]
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
  const alike = Map.groupBy(factsOf(config), ([app, facts]) =>
    JSON.stringify([facts, app.plan, app.acceptLoss, app.streams['call-metrics']]),
  )
  return [...alike.values()].map(same => {
    const [app, facts] = same[0]!
    const groups = facts.map(forecastGroup)
    const storage = storageOf(config, app, facts, groups)
    return { apps: same.map(([app]) => app), groups, losses: lossesOf(groups, app), storage }
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
  return config.apps.some(app =>
    streamsOn(config, app).some(stream => stream.kind === 'window' && following(config, app, stream).live),
  )
}

/** What is looked up once of each app. */
interface Drained {
  readonly app: AppConfig
  readonly scope: string
  readonly windows: AppSettings['windows']
  /** Streams by the counter that they draw on. */
  readonly counters: ReadonlyMap<string, readonly Stream[]>
}

/** What the forecast reckons with: for each app, the limit groups of which it drains something. */
function factsOf(config: Config): ReadonlyMap<AppConfig, readonly GroupFacts[]> {
  const drained = config.apps.map(
    (app): Drained => ({
      ...{ app, scope: counterScope(config, app, 'analytics'), windows: appSettings(config, app).windows },
      counters: Map.groupBy(
        streamsOn(config, app).filter(({ operation }) => operation.family === 'analytics'),
        ({ operation }) => countedBy(operation, config.provider.analytics?.limits ?? 'joint').limitGroup,
      ),
    }),
  )
  const sharers = Map.groupBy(
    drained.flatMap(({ scope, counters }) => [...counters.keys()].map(name => `${scope} ${name}`)),
    counter => counter,
  )
  return new Map(
    drained.map(each => {
      const facts = [...each.counters.keys()].map(counter =>
        groupFacts(config, each, counter, sharers.get(`${each.scope} ${counter}`)!.length),
      )
      return [each.app, facts]
    }),
  )
}

function groupFacts(
  config: Config,
  { app, counters, windows }: Drained,
  counter: string,
  sharers: number,
): GroupFacts {
  const streams = counters.get(counter)!
  const group = streams[0]!.operation.limitGroup as AnalyticsGroup
  const allowance = allowanceOf(app, group)!
  return {
    group: counter,
    limits: { plan: app.plan, ...allowance, rates: sharedRates(config, app, group, allowance.rates) },
    higher: higherPlans(config, app, group),
    sharers,
    streams: streams.flatMap(stream => streamFacts(app, windows, stream)),
    expected: app.expect,
  }
}

function higherPlans(config: Config, app: AppConfig, group: AnalyticsGroup): readonly GroupLimits[] {
  return plans.slice(plans.indexOf(app.plan) + 1).flatMap(higher => {
    const limits = analyticsLimits[group][higher]
    return limits ? [{ plan: higher, ...limits, rates: sharedRates(config, app, group, limits.rates) }] : []
  })
}

function streamFacts(
  app: AppConfig,
  windows: AppSettings['windows'],
  stream: Stream,
): readonly StreamFacts[] {
  const { name } = stream
  if (stream.kind === 'substream')
    return [{ kind: 'details', stream: name, ...stream.cost(app.streams[name] as object) }]
  return stream.kind === 'window' ? windowFacts(stream, windows[name]!) : []
}

/** Series of one stream with the same step are cut alike. */
function windowFacts({ name, pageSize }: WindowStream, settings: WindowSettings): readonly StreamFacts[] {
  const bySteps = Map.groupBy(settings.series, ({ step }) => step)
  return [...bySteps].map(([step, series]): StreamFacts => {
    const granularity = granularityOf(step)
    return {
      kind: 'windows',
      stream: name,
      ...(granularity && { granularity }),
      ...(pageSize && { pageSize }),
      series: series.length,
      step,
      every: settings.every / 1_000,
      allowedLateness: settings.allowedLateness,
      ...(settings.live && { perChannel: settings.live.of('a channel').length }),
    }
  })
}

function granularityOf(step: number): string | undefined {
  return Object.entries(granularitySeconds).find(([, seconds]) => seconds === step)?.[0]
}

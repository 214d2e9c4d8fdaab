import { allowanceOf } from '../config/allowance.ts'
import { analyticsStreamsOn } from '../config/availability.ts'
import type { AppConfig, Config } from '../config/config.ts'
import type {
  AppSettings,
  GroupLimit,
  LiveSettings,
  SubstreamSettings,
  WindowSettings,
} from '../engine/settings.ts'
import { analyticsGroups, countersOf } from '../provider/analytics/index.ts'
import { allCalls } from '../streams/analytics/calls.ts'
import {
  qualityInsightSeries,
  realtimeQualitySeries,
  realtimeUsageSeries,
  usageInsightSeries,
} from '../streams/series/series.ts'
import {
  type SubstreamName,
  type WindowSeries,
  type WindowStreamName,
  windowStreamNames,
} from '../streams/stream.ts'
import type { QualityQuestion } from '../telemetry/gauges.ts'
import { analyticsScope, sharedRates } from './wiring/counters.ts'

type Windows = Readonly<Partial<Record<WindowStreamName, WindowSettings>>>
type Details = Readonly<Partial<Record<SubstreamName, SubstreamSettings>>>

/** What the engine must know of the call analytics of one app; a stream that cannot be drained is absent. */
export interface AnalyticsSettings {
  readonly windows: Windows
  readonly details: Details
  readonly limits: Readonly<Record<string, GroupLimit>>
}

/** Window streams as an app's settings have them, whether or not they can be drained. */
export type ReadWindows = (app: AppConfig) => Windows

export function analyticsSettings(
  config: Config,
  app: AppConfig,
  readWindows: ReadWindows = windowsOf,
): AnalyticsSettings {
  const on: ReadonlySet<string> = new Set(analyticsStreamsOn(config, app))
  const kept = <V>(all: Readonly<Record<string, V>>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => on.has(name)))
  const place: SubstreamSettings = { concurrency: app.limits['call-details'].concurrency }
  return {
    windows: kept(readWindows(app)) as Windows,
    details: kept({ 'call-sessions': place, 'call-metrics': place }) as Details,
    limits: on.size > 0 ? analyticsGroupLimits(config, app) : {},
  }
}

/** Ten thousand apps that are set alike ask the same questions: they have them in common. */
export function shareWindows(): ReadWindows {
  const known = new Map<string, Windows>()
  return app => {
    const key = JSON.stringify(windowStreamNames.map(name => app.streams[name]))
    const windows = known.get(key) ?? windowsOf(app)
    known.set(key, windows)
    return windows
  }
}

/** A bounded look back for late calls costs one request; insights and real-time values cost the same however long. */
function windowsOf({ streams }: AppConfig): Windows {
  const { calls, 'usage-insight': usage, 'quality-insight': quality } = streams
  const { 'realtime-usage': scale, 'realtime-quality': rates } = streams
  return {
    ...(calls !== 'off' && {
      calls: {
        series: [allCalls],
        every: calls.every,
        allowedLateness: seconds(calls.allowedLateness),
        revisitEvery: calls.revisitEvery,
        frame: 'needed',
      },
    }),
    ...(usage !== 'off' && { 'usage-insight': { series: usageInsightSeries(usage), ...insight(usage) } }),
    ...(quality !== 'off' && {
      'quality-insight': { series: qualityInsightSeries(quality), ...insight(quality) },
    }),
    ...(scale !== 'off' && {
      'realtime-usage': { ...inChannels(scale, realtimeUsageSeries), ...realtime(scale) },
    }),
    ...(rates !== 'off' && {
      'realtime-quality': { ...inChannels(rates, realtimeQualitySeries), ...realtime(rates) },
    }),
  }
}

/** How many live channels the budget has room for is known only once all that is asked is. */
function inChannels<S extends { readonly channels: readonly string[] | 'live' }>(
  settings: S,
  seriesOf: (
    settings: Omit<S, 'channels'> & { readonly channels: readonly string[] },
  ) => readonly WindowSeries[],
): { readonly series: readonly WindowSeries[]; readonly live?: LiveSettings } {
  const { channels, ...rest } = settings
  if (channels !== 'live') return { series: seriesOf({ ...rest, channels }) }
  return {
    series: seriesOf({ ...rest, channels: [] }),
    live: {
      most: 0,
      of: channel => seriesOf({ ...rest, channels: [channel] }).filter(({ ask }) => ask.cname === channel),
    },
  }
}

function insight({ every, allowedLateness }: { readonly every: number; readonly allowedLateness: number }) {
  return { every, allowedLateness: seconds(allowedLateness), revisitEvery: every, frame: 'full' } as const
}

/** The provider does not compute real-time values again. */
function realtime({ every }: { readonly every: number }) {
  return { every, allowedLateness: 0, revisitEvery: every, frame: 'full' } as const
}

/** What the plan of an app allows of call analytics, whether or not any of it is drained. */
export function analyticsGroupLimits(config: Config, app: AppConfig): Readonly<Record<string, GroupLimit>> {
  const scope = analyticsScope(config, app)
  const limits = analyticsGroups.flatMap((group): readonly (readonly [string, GroupLimit])[] => {
    const allowance = allowanceOf(app, group)
    if (!allowance) return []
    const { rates, ...range } = allowance
    const { concurrency } = app.limits[group]
    const shared = sharedRates(config, app, group, rates)
    const limit: GroupLimit = { scope, range, rates: shared, concurrency, counted: 'ledger' }
    return countersOf(group, config.provider.analytics?.limits ?? 'joint').map(name => [name, limit])
  })
  return Object.fromEntries(limits)
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1_000)
}

/** The real-time values of whole projects that are asked for, of the apps named. */
export function qualityAsked(
  apps: readonly AppSettings[],
  owned: readonly string[],
): readonly QualityQuestion[] {
  const mine = new Set(owned)
  return apps
    .filter(({ id }) => mine.has(id))
    .flatMap(({ id, windows }) =>
      (windows['realtime-quality']?.series ?? [])
        .filter(({ ask }) => ask.cname === undefined && ask.uids === undefined)
        .map(({ ask }) => ({ app: id, product: ask.productType!, metric: ask.metric! })),
    )
}

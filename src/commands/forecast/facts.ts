import { allowanceOf, groupOfStream } from '../../config/allowance.ts'
import { analyticsStreamsOn } from '../../config/availability.ts'
import type { AnalyticsStreamName, AppConfig, Config } from '../../config/config.ts'
import type { WindowSettings } from '../../engine/settings.ts'
import type { DetailFacts, GroupFacts, GroupLimits, StreamFacts } from '../../planning/forecast-facts.ts'
import {
  type AnalyticsGroup,
  analyticsLimits,
  countedBy,
  granularitySeconds,
  maxima,
} from '../../provider/analytics/index.ts'
import { plans } from '../../provider/limits.ts'
import { streams } from '../../streams/index.ts'
import type { WindowStreamName } from '../../streams/stream.ts'
import { type AnalyticsSettings, analyticsSettings, shareWindows } from '../analytics-settings.ts'
import { analyticsScope, sharedRates } from '../wiring/counters.ts'

/** What is looked up once of each app. */
interface Drained {
  readonly app: AppConfig
  readonly scope: string
  readonly settings: AnalyticsSettings
  /** Streams by the counter that they draw on. */
  readonly counters: ReadonlyMap<string, readonly AnalyticsStreamName[]>
}

/** What the forecast reckons with: for each app, the limit groups of which it drains something. */
export function factsOf(config: Config): ReadonlyMap<AppConfig, readonly GroupFacts[]> {
  const readWindows = shareWindows()
  const drained = config.apps.map(
    (app): Drained => ({
      ...{ app, scope: analyticsScope(config, app), settings: analyticsSettings(config, app, readWindows) },
      counters: Map.groupBy(analyticsStreamsOn(config, app), name => {
        return countedBy(streams[name].operation, config.provider.analytics?.limits ?? 'joint').limitGroup
      }),
    }),
  )
  const sharers = countSharers(drained)
  return new Map(
    drained.map(each => {
      const facts = [...each.counters.keys()].map(counter =>
        groupFacts(config, each, counter, sharers.get(`${each.scope} ${counter}`) ?? 1),
      )
      return [each.app, facts]
    }),
  )
}

function groupFacts(
  config: Config,
  { app, counters, settings }: Drained,
  counter: string,
  sharers: number,
): GroupFacts {
  const names = counters.get(counter)!
  const group = groupOfStream[names[0]!]
  const allowance = allowanceOf(app, group)!
  return {
    group: counter,
    limits: { plan: app.plan, ...allowance, rates: sharedRates(config, app, group, allowance.rates) },
    higher: higherPlans(config, app, group),
    sharers,
    streams: names.flatMap(name => streamFacts(app, settings, name)),
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
  { streams: { 'call-sessions': sessions, 'call-metrics': metrics } }: AppConfig,
  settings: AnalyticsSettings,
  name: AnalyticsStreamName,
): readonly StreamFacts[] {
  switch (name) {
    case 'call-sessions':
      return [{ kind: 'details', stream: name, batch: maxima.pageSize, everyNth: 1, end: lastPage(sessions) }]
    case 'call-metrics':
      return [
        {
          ...{ kind: 'details', stream: name, batch: maxima.sids, end: 'known' },
          everyNth: metrics === 'off' ? 1 : metrics.select.everyNth,
        },
      ]
    default:
      return windowFacts(name, settings.windows[name]!)
  }
}

function lastPage(sessions: AppConfig['streams']['call-sessions']): DetailFacts['end'] {
  return sessions !== 'off' && sessions.serverUsers === 'exclude' ? 'empty-page' : 'short-page'
}

/** Series of one stream with the same step are cut alike. */
function windowFacts(name: WindowStreamName, settings: WindowSettings): readonly StreamFacts[] {
  const bySteps = Map.groupBy(settings.series, ({ step }) => step)
  return [...bySteps].map(([step, series]): StreamFacts => {
    const granularity = granularityOf(step)
    return {
      kind: 'windows',
      stream: name,
      ...(granularity && { granularity }),
      ...(name === 'calls' && { pageSize: maxima.pageSize }),
      ...{
        series: series.length,
        step,
        every: settings.every / 1_000,
        allowedLateness: settings.allowedLateness,
      },
      ...(settings.live && { perChannel: settings.live.of('a channel').length }),
    }
  })
}

function granularityOf(step: number): string | undefined {
  return Object.entries(granularitySeconds).find(([, seconds]) => seconds === step)?.[0]
}

/** Apps that draw on each counter. */
function countSharers(drained: readonly Drained[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const each of drained) {
    for (const name of each.counters.keys()) {
      const counter = `${each.scope} ${name}`
      counts.set(counter, (counts.get(counter) ?? 0) + 1)
    }
  }
  return counts
}

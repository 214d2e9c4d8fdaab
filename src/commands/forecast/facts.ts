import { streamsOn } from '../../config/availability.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import { allowanceOf } from '../../config/limits.ts'
import type { AppSettings } from '../../engine/settings.ts'
import type { GroupFacts, GroupLimits, StreamFacts } from '../../planning/forecast-facts.ts'
import {
  type AnalyticsGroup,
  analyticsLimits,
  countedBy,
  granularitySeconds,
} from '../../provider/analytics/index.ts'
import { plans } from '../../provider/limits.ts'
import type { Stream, WindowSettings, WindowStream } from '../../streams/stream.ts'
import { appSettings, createFollowing } from '../app-settings.ts'
import { analyticsScope, sharedRates } from '../wiring/counters.ts'

/** What is looked up once of each app. */
interface Drained {
  readonly app: AppConfig
  readonly scope: string
  readonly windows: AppSettings['windows']
  /** Streams by the counter that they draw on. */
  readonly counters: ReadonlyMap<string, readonly Stream[]>
}

/** What the forecast reckons with: for each app, the limit groups of which it drains something. */
export function factsOf(config: Config): ReadonlyMap<AppConfig, readonly GroupFacts[]> {
  const following = createFollowing()
  const drained = config.apps.map(
    (app): Drained => ({
      ...{ app, scope: analyticsScope(config, app), windows: appSettings(config, app, following).windows },
      counters: Map.groupBy(
        streamsOn(config, app).filter(({ operation }) => operation.family === 'analytics'),
        ({ operation }) => countedBy(operation, config.provider.analytics?.limits ?? 'joint').limitGroup,
      ),
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

import {
  type Granularity,
  granularitySeconds,
  maxima,
  realtimeWindow,
} from '../../provider/analytics/index.ts'
import type { WindowSeries } from '../stream.ts'

export interface UsageInsightSettings {
  readonly metrics: readonly string[]
  readonly granularities: readonly Granularity[]
}

export interface QualityInsightSettings extends UsageInsightSettings {
  readonly products: readonly string[]
}

export interface RealtimeUsageSettings {
  readonly products: readonly string[]
  readonly metrics: readonly string[]
  /** Channels that are asked for besides the whole project. */
  readonly channels: readonly string[]
}

export interface RealtimeQualitySettings extends RealtimeUsageSettings {
  /** Users that are asked for besides all users together. */
  readonly uids: readonly string[]
  /** Where: in each channel, or in the whole project, which not every deployment may serve. */
  readonly usersOf: 'channels' | 'project'
}

/** One series for each metric and granularity. */
export function usageInsightSeries({
  metrics,
  granularities,
}: UsageInsightSettings): readonly WindowSeries[] {
  return distinct(
    metrics.flatMap(metric => granularities.map(granularity => insight([metric], { metric }, granularity))),
  )
}

/** One series for each product, metric and granularity. */
export function qualityInsightSeries(settings: QualityInsightSettings): readonly WindowSeries[] {
  return distinct(
    pairs(settings).flatMap(({ path, ask }) =>
      settings.granularities.map(granularity => insight(path, ask, granularity)),
    ),
  )
}

/** One series for each product and metric: of the whole project, and of each channel. */
export function realtimeUsageSeries(settings: RealtimeUsageSettings): readonly WindowSeries[] {
  return distinct(
    pairs(settings).flatMap(({ path, ask }) => [
      realtime(path, ask),
      ...settings.channels.map(cname => realtime([...path, cname], { ...ask, cname })),
    ]),
  )
}

/** The same, and of the users by themselves, as many in one question as it takes. */
export function realtimeQualitySeries(settings: RealtimeQualitySettings): readonly WindowSeries[] {
  const batches = batchesOf([...new Set(settings.uids)].toSorted())
  const places = settings.usersOf === 'project' ? [''] : settings.channels
  return distinct([
    ...realtimeUsageSeries(settings),
    ...pairs(settings).flatMap(({ path, ask }) =>
      places.flatMap(cname =>
        batches.map(uids => realtime([...path, cname, uids], { ...ask, ...(cname && { cname }), uids })),
      ),
    ),
  ])
}

function batchesOf(uids: readonly string[]): readonly string[] {
  return Array.from({ length: Math.ceil(uids.length / maxima.uids) }, (_, n) => {
    return uids.slice(n * maxima.uids, (n + 1) * maxima.uids).join()
  })
}

interface Question {
  readonly path: readonly string[]
  readonly ask: Readonly<Record<string, string>>
}

function pairs({
  products,
  metrics,
}: Pick<RealtimeUsageSettings, 'products' | 'metrics'>): readonly Question[] {
  return products.flatMap(productType =>
    metrics.map(metric => ({ path: [productType, metric], ask: { productType, metric } })),
  )
}

function insight(path: Question['path'], ask: Question['ask'], granularity: Granularity): WindowSeries {
  return {
    key: keyOf([...path, granularity]),
    ask: { ...ask, aggregateGranularity: granularity },
    step: granularitySeconds[granularity],
    expects: 'each',
  }
}

/**
 * One entry a window is promised, of a project and of a channel alike. A user comes and goes, and has none while away.
 */
function realtime(path: Question['path'], ask: Question['ask']): WindowSeries {
  const series = { key: keyOf(path), ask, step: realtimeWindow }
  return ask.uids === undefined ? { ...series, expects: 'each' } : series
}

/** Parts are encoded, so that a slash inside one of them makes no other key of it. */
function keyOf(path: Question['path']): string {
  return path.map(encodeURIComponent).join('/')
}

/** A word that the settings hold twice is asked for once. */
function distinct(series: readonly WindowSeries[]): readonly WindowSeries[] {
  return [...new Map(series.map(one => [one.key, one])).values()]
}

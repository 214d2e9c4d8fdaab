import {
  defaultSeriesWords,
  type Granularity,
  granularities,
  granularitySeconds,
  knownProducts,
  qualityGranularities,
  qualityMetrics,
  usageGranularities,
  usageMetrics,
} from '../../../src/provider/analytics/index.ts'
import type { Query } from './query.ts'
import { invalid } from './refusals.ts'
import type { AnalyticsVisit } from './visit.ts'

export function readUsageInsight(visit: AnalyticsVisit): readonly object[] {
  const metric = visit.query.oneOf('metric', usageMetrics)
  const granularity = granularityOf(visit.query, usageGranularities)
  return bucketsOf(visit, granularity).map(ts => ({
    ts,
    [metric]: visit.insights.usage(metric, granularity, ts, visit),
  }))
}

export function readQualityInsight(visit: AnalyticsVisit): readonly object[] {
  const product = visit.query.oneOf('productType', knownProducts)
  const metric = visit.query.oneOf('metric', qualityMetrics)
  const granularity = granularityOf(visit.query, qualityGranularities)
  return bucketsOf(visit, granularity).map(ts => ({
    ts,
    [metric]: visit.insights.quality({ product, metric, granularity }, ts, visit),
  }))
}

/** The beginnings of all hours, days or minutes that the frame touches, that of its end included. */
function bucketsOf({ asked }: AnalyticsVisit, granularity: Granularity): readonly number[] {
  const step = granularitySeconds[granularity]
  const [first, last] = [Math.floor(asked.start / step), Math.floor(asked.end / step)]
  return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step)
}

function granularityOf(query: Query, allowed: readonly Granularity[]): Granularity {
  const word = query.text('aggregateGranularity')
  const granularity = granularities.find(one => defaultSeriesWords.granularities[one] === word)
  if (!granularity || !allowed.includes(granularity)) throw invalid('aggregateGranularity')
  return granularity
}

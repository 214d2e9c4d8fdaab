import {
  defaultParameterNames,
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
import type { AnalyticsContext } from './visit.ts'

export function readUsageInsight(context: AnalyticsContext): readonly object[] {
  const metric = context.query.oneOf('metric', usageMetrics)
  const granularity = granularityOf(context.query, usageGranularities)
  return bucketsOf(context, granularity).map(ts => ({
    ts,
    [metric]: context.insights.usage(metric, granularity, ts, context),
  }))
}

export function readQualityInsight(context: AnalyticsContext): readonly object[] {
  const product = context.query.oneOf('productType', knownProducts)
  const metric = context.query.oneOf('metric', qualityMetrics)
  const granularity = granularityOf(context.query, qualityGranularities)
  return bucketsOf(context, granularity).map(ts => ({
    ts,
    [metric]: context.insights.quality({ product, metric, granularity }, ts, context),
  }))
}

/** The beginnings of all hours, days or minutes that the frame touches, that of its end included. */
function bucketsOf({ asked }: AnalyticsContext, granularity: Granularity): readonly number[] {
  const step = granularitySeconds[granularity]
  const [first, last] = [Math.floor(asked.start / step), Math.floor(asked.end / step)]
  return Array.from({ length: last - first + 1 }, (_, n) => (first + n) * step)
}

function granularityOf(query: Query, allowed: readonly Granularity[]): Granularity {
  const word = query.text('aggregateGranularity')
  const granularity = granularities.find(one => defaultParameterNames.granularities[one] === word)
  if (!granularity || !allowed.includes(granularity)) throw invalid('aggregateGranularity')
  return granularity
}

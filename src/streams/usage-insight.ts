import type { z } from 'zod'
import { usageInsight as operation, usageGranularities, usageMetrics } from '../provider/analytics/index.ts'
import { usageInsight as table } from '../tables/analytics.ts'
import type { WindowSeries } from './page.ts'
import { pacedSection } from './parts/cadence.ts'
import {
  distinct,
  followInsight,
  granularity,
  insight,
  insightMistakes,
  insightTimes,
  metrics,
  valueStream,
} from './series/series.ts'

const settings = pacedSection({
  ...insightTimes('60h'),
  metrics: metrics(usageMetrics),
  granularities: granularity(usageGranularities),
})
type Settings = z.output<typeof settings>

/** Numbers of users, channels and minutes of a whole project over time; restated about two days later. */
export const usageInsight = valueStream({
  name: 'usage-insight',
  title: 'Usage of the project, by hour and day',
  operation,
  table,
  settings,
  follows: (settings: Settings) => followInsight(settings, seriesOf(settings)),
  mistakes: insightMistakes,
})

function seriesOf({ metrics, granularities }: Settings): readonly WindowSeries[] {
  return distinct(
    metrics.flatMap(metric => granularities.map(granularity => insight([metric], { metric }, granularity))),
  )
}

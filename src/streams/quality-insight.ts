import type { z } from 'zod'
import { granularities, qualityInsight as operation, qualityMetrics } from '../provider/analytics/index.ts'
import { qualityInsight as table } from '../tables/analytics.ts'
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
  products,
  questionsOf,
  valueStream,
} from './series/series.ts'

const settings = pacedSection({
  ...insightTimes('64h'),
  products: products(),
  metrics: metrics(qualityMetrics),
  granularities: granularity(granularities),
})
type Settings = z.output<typeof settings>

/** Rates of success, freezing and delay of each product over time; restated about two days later. */
export const qualityInsight = valueStream({
  name: 'quality-insight',
  title: 'Call quality of the project, by hour and day',
  operation,
  table,
  settings,
  follows: (settings: Settings) => followInsight(settings, seriesOf(settings)),
  mistakes: insightMistakes,
})

/** One series for each product, metric and granularity. */
function seriesOf(settings: Settings): readonly WindowSeries[] {
  return distinct(
    questionsOf(settings).flatMap(({ path, ask }) =>
      settings.granularities.map(granularity => insight(path, ask, granularity)),
    ),
  )
}

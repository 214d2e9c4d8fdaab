import { z } from 'zod'
import {
  granularities,
  qualityInsight as operation,
  qualityMetrics,
  word,
} from '../provider/analytics/index.ts'
import { section } from '../settings/leaf.ts'
import { type QualityInsightRow, qualityInsight as table } from '../tables/analytics.ts'
import type { WindowPage, WindowResult, WindowSeries } from './page.ts'
import { orCron } from './parts/cadence.ts'
import { arrivalTime } from './parts/values.ts'
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
import { readValues, wholeWindow } from './series/values.ts'

const settings = section(
  {
    ...insightTimes('64h'),
    products: products(),
    metrics: metrics(qualityMetrics),
    granularities: granularity(granularities),
  },
  orCron('every'),
)
type Settings = z.output<typeof settings>

/** Rates of success, freezing and delay of each product over time; restated about two days later. */
export const qualityInsight = valueStream({
  name: 'quality-insight',
  title: 'Call quality of the project, by hour and day',
  operation,
  writes: [table],
  toRows,
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

const Ask = z.object({ productType: word, metric: word, aggregateGranularity: z.enum(granularities) })

function toRows(page: WindowPage): WindowResult {
  const { productType: product, metric, aggregateGranularity: granularity } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const fetched_at = arrivalTime(page)
  const rows = read.values.map(({ at, value, extra }): QualityInsightRow => {
    return { product, metric, granularity, at, value, extra, fetched_at }
  })
  return wholeWindow({ 'analytics.quality_insight': rows }, read, page)
}

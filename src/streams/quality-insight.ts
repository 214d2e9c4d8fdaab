import { z } from 'zod'
import {
  defaultParameterNames,
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
  askIn,
  distinct,
  followInsight,
  format,
  granularity,
  insight,
  insightMistakes,
  insightTimes,
  metrics,
  products,
  questionsOf,
} from './series/series.ts'
import { readData, readValues, wholeWindow } from './series/values.ts'
import type { WindowStream } from './stream.ts'

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
export const qualityInsight: WindowStream = {
  kind: 'window',
  name: 'quality-insight',
  title: 'Call quality of the project, by hour and day',
  operation,
  writes: [table],
  read: readData,
  request: askIn(defaultParameterNames),
  toRows,
  settings,
  follows: (settings: Settings) => followInsight(settings, seriesOf(settings)),
  mistakes: insightMistakes,
  configured: ({ words }) => format(qualityInsight, words),
}

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
  return wholeWindow({ 'analytics.quality_insight': rows }, read)
}

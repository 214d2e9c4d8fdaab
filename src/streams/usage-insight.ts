import { z } from 'zod'
import {
  granularities,
  usageInsight as operation,
  usageGranularities,
  usageMetrics,
  word,
} from '../provider/analytics/index.ts'
import { section } from '../settings/leaf.ts'
import { usageInsight as table, type UsageInsightRow } from '../tables/analytics.ts'
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
  valueStream,
} from './series/series.ts'
import { readValues, wholeWindow } from './series/values.ts'

const settings = section(
  {
    ...insightTimes('60h'),
    metrics: metrics(usageMetrics),
    granularities: granularity(usageGranularities),
  },
  orCron('every'),
)
type Settings = z.output<typeof settings>

/** Numbers of users, channels and minutes of a whole project over time; restated about two days later. */
export const usageInsight = valueStream({
  name: 'usage-insight',
  title: 'Usage of the project, by hour and day',
  operation,
  writes: [table],
  toRows,
  settings,
  follows: (settings: Settings) => followInsight(settings, seriesOf(settings)),
  mistakes: insightMistakes,
})

/** One series for each metric and granularity. */
function seriesOf({ metrics, granularities }: Settings): readonly WindowSeries[] {
  return distinct(
    metrics.flatMap(metric => granularities.map(granularity => insight([metric], { metric }, granularity))),
  )
}

const Ask = z.object({ metric: word, aggregateGranularity: z.enum(granularities) })

function toRows(page: WindowPage): WindowResult {
  const { metric, aggregateGranularity: granularity } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const fetched_at = arrivalTime(page)
  const rows = read.values.map(({ at, value, extra }): UsageInsightRow => {
    return { metric, granularity, at, value, extra, fetched_at }
  })
  return wholeWindow({ 'analytics.usage_insight': rows }, read, page)
}

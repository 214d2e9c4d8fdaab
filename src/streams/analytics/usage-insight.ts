import { z } from 'zod'
import {
  defaultParameterNames,
  granularities,
  usageInsight as operation,
  usageGranularities,
  usageMetrics,
  word,
} from '../../provider/analytics/index.ts'
import { section } from '../../settings/leaf.ts'
import type { UsageInsightRow } from '../../tables/analytics.ts'
import { usageInsight as table } from '../../tables/analytics.ts'
import { askIn, format } from '../series/parameter-names.ts'
import { usageInsightSeries } from '../series/series.ts'
import { followInsight, granularity, insightMistakes, insightTimes, metrics } from '../series/settings.ts'
import { readData, readValues, wholeWindow } from '../series/values.ts'
import type { WindowPage, WindowResult, WindowStream } from '../stream.ts'
import { arrivalTime } from '../times.ts'

const settings = section({
  ...insightTimes('60h'),
  metrics: metrics(usageMetrics),
  granularities: granularity(usageGranularities),
})
type Settings = z.output<typeof settings>

/** Numbers of users, channels and minutes of a whole project over time; restated about two days later. */
export const usageInsight: WindowStream = {
  kind: 'window',
  name: 'usage-insight',
  title: 'Usage of the project, by hour and day',
  operation,
  writes: [table],
  read: readData,
  request: askIn(defaultParameterNames),
  toRows,
  settings,
  follows: (settings: Settings) => followInsight(settings, usageInsightSeries(settings)),
  mistakes: insightMistakes,
  configured: ({ words }) => format(usageInsight, words),
}

const Ask = z.object({ metric: word, aggregateGranularity: z.enum(granularities) })

function toRows(page: WindowPage): WindowResult {
  const { metric, aggregateGranularity: granularity } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const fetched_at = arrivalTime(page)
  const rows = read.values.map(({ at, value, extra }): UsageInsightRow => {
    return { metric, granularity, at, value, extra, fetched_at }
  })
  return wholeWindow({ 'analytics.usage_insight': rows }, read)
}

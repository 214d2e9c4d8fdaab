import { z } from 'zod'
import {
  defaultParameterNames,
  realtimeUsage as operation,
  realtimeUsageMetrics,
  word,
} from '../provider/analytics/index.ts'
import { section } from '../settings/leaf.ts'
import { type UsageRealtimeRow, usageRealtime } from '../tables/analytics.ts'
import type { WindowPage, WindowResult } from './page.ts'
import { orCron } from './parts/cadence.ts'
import {
  askIn,
  channels,
  distinct,
  followRealtime,
  format,
  metrics,
  products,
  realtimeMistakes,
  realtimeSeries,
  realtimeTimes,
} from './series/series.ts'
import { readData, readValues, wholeWindow } from './series/values.ts'
import type { WindowStream } from './stream.ts'

const settings = section(
  {
    ...realtimeTimes(),
    products: products(),
    metrics: metrics(realtimeUsageMetrics),
    channels: channels(),
  },
  orCron('every'),
)
type Settings = z.output<typeof settings>

/** Numbers of users and channels in windows of 20 seconds, of the project or of a channel. */
export const realtimeUsage: WindowStream = {
  kind: 'window',
  name: 'realtime-usage',
  title: 'Usage in windows of 20 seconds',
  operation,
  writes: [usageRealtime],
  read: readData,
  request: askIn(defaultParameterNames),
  toRows,
  settings,
  follows: (settings: Settings) =>
    followRealtime(settings, (said, channels) => distinct(realtimeSeries({ ...said, channels }))),
  mistakes: realtimeMistakes,
  configured: ({ words }) => format(realtimeUsage, words),
}

const Ask = z.object({ productType: word, metric: word, cname: z.string().default('') })

function toRows(page: WindowPage): WindowResult {
  const { productType: product, metric, cname } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const rows = read.values.map(
    ({ at, value, extra }): UsageRealtimeRow => ({ product, metric, cname, at, value, extra }),
  )
  return wholeWindow({ 'analytics.usage_realtime': rows }, read)
}

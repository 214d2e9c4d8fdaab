import { z } from 'zod'
import { realtimeUsage as operation, realtimeUsageMetrics, word } from '../provider/analytics/index.ts'
import { section } from '../settings/leaf.ts'
import { type UsageRealtimeRow, usageRealtime } from '../tables/analytics.ts'
import type { WindowPage, WindowResult } from './page.ts'
import { orCron } from './parts/cadence.ts'
import {
  channels,
  distinct,
  followRealtime,
  metrics,
  products,
  realtimeMistakes,
  realtimeSeries,
  realtimeTimes,
  valueStream,
} from './series/series.ts'
import { readValues, wholeWindow } from './series/values.ts'

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
export const realtimeUsage = valueStream({
  name: 'realtime-usage',
  title: 'Usage in windows of 20 seconds',
  operation,
  writes: [usageRealtime],
  toRows,
  settings,
  follows: (settings: Settings) =>
    followRealtime(settings, (said, channels) => distinct(realtimeSeries({ ...said, channels }))),
  mistakes: realtimeMistakes,
})

const Ask = z.object({ productType: word, metric: word, cname: z.string().default('') })

function toRows(page: WindowPage): WindowResult {
  const { productType: product, metric, cname } = Ask.parse(page.series.ask)
  const read = readValues(page, metric)
  const rows = read.values.map(
    ({ at, value, extra }): UsageRealtimeRow => ({ product, metric, cname, at, value, extra }),
  )
  return wholeWindow({ 'analytics.usage_realtime': rows }, read, page)
}

import type { z } from 'zod'
import { realtimeUsage as operation, realtimeUsageMetrics } from '../provider/analytics/index.ts'
import { usageRealtime } from '../tables/analytics.ts'
import { pacedSection } from './parts/cadence.ts'
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

const settings = pacedSection({
  ...realtimeTimes(),
  products: products(),
  metrics: metrics(realtimeUsageMetrics),
  channels: channels(),
})
type Settings = z.output<typeof settings>

/** Numbers of users and channels in windows of 20 seconds, of the project or of a channel. */
export const realtimeUsage = valueStream({
  name: 'realtime-usage',
  title: 'Usage in windows of 20 seconds',
  operation,
  table: usageRealtime,
  settings,
  follows: (settings: Settings) =>
    followRealtime(settings, (said, channels) => distinct(realtimeSeries({ ...said, channels }))),
  mistakes: realtimeMistakes,
})

import { z } from 'zod'
import { allows, type LimitsByPlan, minutes, perDay, perMinute, seconds } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { ofAnalytics, SeriesAnswer, seriesValue } from './answers.ts'
import { qualityMetrics } from './insights.ts'
import { appid, channel, knownProducts, listOf, maxima, seriesRange, word } from './parameters.ts'

/** Length of the windows that real-time values stand for, in seconds; they are aligned to midnight UTC. */
export const realtimeWindow = 20

/** The document's table of limits of both endpoints; whether they share a counter is not said, so they do. */
const realtimeLimits: LimitsByPlan = {
  premium: allows([perMinute(3), perDay(480)], minutes(40), minutes(40), seconds(40)),
  enterprise: allows([perMinute(10), perDay(1_440)], minutes(60), minutes(60), seconds(20)),
}

export const realtimeUsageMetrics = ['userCount', 'channelCount'] as const

const series = {
  ...seriesRange,
  appid,
  productType: word.describe(`Product: ${knownProducts.join(', ')}`),
  cname: channel.optional().describe('Channel; the whole project unless told'),
} as const

export const realtimeUsage = {
  ...ofAnalytics,
  name: 'realtimeUsage',
  summary: 'Reads numbers of users or channels in windows of 20 seconds',
  path: '/beta/realtime/usage/by_time_20sec',
  queryParams: {
    ...series,
    metric: word.describe(`What is measured: ${realtimeUsageMetrics.join(', ')}`),
  },
  answer: SeriesAnswer,
  items: { data: seriesValue(realtimeUsageMetrics) },
  limitGroup: 'realtime',
  limits: realtimeLimits,
} as const satisfies Operation

/** Only what is asked for by user ID has these fields, and the values in them. */
const UserValues = seriesValue(qualityMetrics)
  .partial()
  .extend({
    uid: z.union([z.number(), z.string()]).optional(),
    values: z.array(seriesValue(qualityMetrics)).optional(),
  })

export const realtimeQuality = {
  ...ofAnalytics,
  name: 'realtimeQuality',
  summary: 'Reads a quality metric in windows of 20 seconds',
  path: '/beta/realtime/quality/by_time_20sec',
  queryParams: {
    ...series,
    metric: word.describe(`What is measured: ${qualityMetrics.join(', ')}`),
    uids: listOf(maxima.uids)
      .optional()
      .describe(
        `Each of these users by itself: at most ${maxima.uids} IDs with commas between; some deployments want cname too`,
      ),
  },
  answer: SeriesAnswer,
  items: { data: UserValues },
  limitGroup: 'realtime',
  ownLimitGroup: 'realtime-quality',
  limits: realtimeLimits,
} as const satisfies Operation

export const realtimeOperations = [realtimeUsage, realtimeQuality] as const

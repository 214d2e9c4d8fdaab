import { allows, days, hours, perDay, perMinute } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { ofAnalytics, SeriesAnswer, seriesValue } from './answers.ts'
import { appid, type Granularity, knownProducts, seriesRange, word } from './parameters.ts'

/** Granularities that both plans with access allow. */
export const usageGranularities: readonly Granularity[] = ['hour', 'day']
export const qualityGranularities: readonly Granularity[] = ['minute', 'hour', 'day']

/** Values of the lists that the document does not show, known from services of this kind. */
export const usageMetrics = [
  'userCount',
  'sessionCount',
  'channelCount',
  'peakCurrentChannels',
  'peakCurrentUsers',
  'totalDuration',
  'totalVideoDuration',
  'totalAudioDuration',
] as const

export const qualityMetrics = [
  'joinSuccessRate',
  'joinSuccessIn5sRate',
  'audioFreezeRate',
  'videoFreezeRate',
  'networkDelay',
] as const

const frame = { ...seriesRange, appid } as const

export const usageInsight = {
  ...ofAnalytics,
  name: 'usageInsight',
  summary: 'Reads a usage metric over a time frame',
  path: '/beta/insight/usage/by_time',
  queryParams: {
    ...frame,
    metric: word.describe(`What is measured: ${usageMetrics.join(', ')}`),
    aggregateGranularity: word.describe('Time that one value stands for: 1d or 1h'),
  },
  answer: SeriesAnswer,
  items: { data: seriesValue(usageMetrics) },
  limitGroup: 'usage-insight',
  limits: {
    premium: allows([perMinute(3), perDay(40)], days(14), days(3), hours(12)),
    enterprise: allows([perMinute(10), perDay(60)], days(30), days(7), hours(6)),
  },
} as const satisfies Operation

export const qualityInsight = {
  ...ofAnalytics,
  name: 'qualityInsight',
  summary: 'Reads a quality metric of a product over a time frame',
  path: '/beta/insight/quality/by_time',
  queryParams: {
    ...frame,
    metric: word.describe(`What is measured: ${qualityMetrics.join(', ')}`),
    aggregateGranularity: word.describe('Time that one value stands for: 1d, 1h or 1m'),
    productType: word.describe(`Product: ${knownProducts.join(', ')}`),
  },
  answer: SeriesAnswer,
  items: { data: seriesValue(qualityMetrics) },
  limitGroup: 'quality-insight',
  limits: {
    premium: allows([perMinute(3), perDay(40)], days(14), days(3), hours(6)),
    enterprise: allows([perMinute(10), perDay(60)], days(30), days(7), hours(6)),
  },
} as const satisfies Operation

export const insightOperations = [usageInsight, qualityInsight] as const

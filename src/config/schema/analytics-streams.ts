import { z } from 'zod'
import {
  type Granularity,
  granularities,
  maxima,
  qualityMetrics,
  realtimeUsageMetrics,
  usageGranularities,
  usageMetrics,
} from '../../provider/analytics/index.ts'
import { formatDuration } from '../../settings/duration.ts'
import { listOf, section } from '../../settings/leaf.ts'
import { channelName, count, duration, oneOf, text } from '../../settings/values.ts'
import type { SubstreamName, WindowStreamName } from '../../streams/stream.ts'

/** Call records; all durations in ms. */
export interface CallsSettings {
  readonly every: number
  /** How long after its end a range is read again for calls that turn up late. */
  readonly allowedLateness: number
  readonly revisitEvery: number
}

export interface SessionsSettings {
  /** Whether users that the provider takes for servers (Linux) are asked for too. */
  readonly serverUsers: 'include' | 'exclude'
}

export interface SessionMetricsSettings {
  /** Of which calls they are fetched. */
  readonly select: {
    readonly channels: readonly string[]
    readonly everyNth: number
    readonly minUsers: number
  }
}

export interface UsageInsightSettings {
  readonly every: number
  readonly allowedLateness: number
  readonly metrics: readonly string[]
  readonly granularities: readonly Granularity[]
}

export interface QualityInsightSettings extends UsageInsightSettings {
  readonly products: readonly string[]
}

export interface RealtimeUsageSettings {
  readonly every: number
  readonly products: readonly string[]
  readonly metrics: readonly string[]
  /** Channels that are asked for besides the whole project: these, or whichever a room or call goes on in. */
  readonly channels: readonly string[] | 'live'
}

export interface RealtimeQualitySettings extends RealtimeUsageSettings {
  /** Users whose own values are asked for. */
  readonly uids: readonly string[]
  readonly usersOf: 'channels' | 'project'
}

export interface AnalyticsStreams {
  readonly calls: CallsSettings
  readonly 'call-sessions': SessionsSettings
  readonly 'call-metrics': SessionMetricsSettings
  readonly 'usage-insight': UsageInsightSettings
  readonly 'quality-insight': QualityInsightSettings
  readonly 'realtime-usage': RealtimeUsageSettings
  readonly 'realtime-quality': RealtimeQualitySettings
}

const minute = 60_000
const hour = 60 * minute

/**
 * The values of a day are computed again about two days after its end, so those of its first hour are three days old
 * by then. What is older than the delay and this has been computed again, in every plan.
 */
const restatedUsage = { every: 6 * hour, allowedLateness: 60 * hour } as const
const restatedQuality = { every: 6 * hour, allowedLateness: 64 * hour } as const

export const defaultAnalyticsStreams: AnalyticsStreams & Record<WindowStreamName | SubstreamName, object> = {
  calls: { every: minute, allowedLateness: hour, revisitEvery: 10 * minute },
  'call-sessions': { serverUsers: 'include' },
  'call-metrics': { select: { channels: [], everyNth: 1, minUsers: 0 } },
  'usage-insight': { ...restatedUsage, metrics: usageMetrics, granularities: ['hour', 'day'] },
  'quality-insight': {
    ...restatedQuality,
    products: ['Native'],
    metrics: qualityMetrics,
    granularities: ['hour', 'day'],
  },
  'realtime-usage': {
    every: 5 * minute,
    products: ['Native'],
    metrics: realtimeUsageMetrics,
    channels: [],
  },
  'realtime-quality': {
    every: 5 * minute,
    products: ['Native'],
    metrics: qualityMetrics,
    channels: [],
    uids: [],
    usersOf: 'channels',
  },
}

function time(least: string, most: string, fallback: number, meaning: string) {
  return duration(least, most)
    .optional()
    .describe(meaning)
    .meta({ default: formatDuration(fallback) })
}

function words(item: string, fallback: readonly string[], meaning: string) {
  const word = text(`${item}: 1 to 64 letters, digits, "_", "." or "-"`, /^[A-Za-z0-9_.-]{1,64}$/)
  return listOf(word, { min: 1 }).optional().describe(meaning).meta({ default: fallback })
}

const products = (fallback: readonly string[]) =>
  words(
    'a product',
    fallback,
    'Products that are asked for, one by one. Native and WebRTC are known to exist.',
  )
const metrics = (fallback: readonly string[]) =>
  words('a metric', fallback, 'Metrics that are asked for, one by one, by the names of the provider.')

function granularity<const G extends Granularity>(allowed: readonly G[], fallback: readonly Granularity[]) {
  return listOf(oneOf(allowed), { min: 1 })
    .optional()
    .describe('How long a time one value stands for; each is asked for by itself.')
    .meta({ default: fallback })
}

const every = 'How often the newest values are asked for.'
const allowedLateness =
  'How long after its time a value is read again, because the provider computes it again; then it is complete.'

const channels = z
  .union([oneOf(['live']), listOf(channelName())])
  .optional()
  .describe(
    'Channels that are asked for besides the whole project; live: those with a room or call going on, as many as the budget has room for, which `penstock forecast` tells.',
  )
  .meta({ default: [] })

const uids = listOf(
  text('a user ID, without spaces and commas', /^[^\s,]{1,64}$/, { type: ['string', 'number'] }),
)
  .optional()
  .describe(`Users whose own values are asked for, up to ${maxima.uids} in a request.`)
  .meta({ default: [] })

const { calls, 'usage-insight': usage, 'quality-insight': quality } = defaultAnalyticsStreams
const { 'realtime-usage': scale, 'realtime-quality': rates } = defaultAnalyticsStreams

/** Settings of each stream of call analytics, with what it brings. */
export const analyticsStreamShapes = {
  calls: {
    meaning: 'Call records.',
    settings: {
      every: time('10s', '1h', calls.every, 'How often new calls are looked for.'),
      allowedLateness: time(
        '0s',
        '1d',
        calls.allowedLateness,
        'How long after its end a range of time is searched again for calls that turn up late; then it is complete.',
      ),
      revisitEvery: time('1m', '1d', calls.revisitEvery, 'How often calls that go on are looked at again.'),
    },
  },
  'call-sessions': {
    meaning: 'Sessions of the users of each call, once it has ended.',
    settings: {
      serverUsers: oneOf(['include', 'exclude'])
        .optional()
        .describe(
          'Whether users that run on Linux, mostly servers, are asked for too. Without them one more request a call shows which page is the last.',
        )
        .meta({ default: defaultAnalyticsStreams['call-sessions'].serverUsers }),
    },
  },
  'call-metrics': {
    meaning: 'Quality metrics of each session.',
    settings: {
      select: section({
        channels: listOf(channelName())
          .prefault([])
          .describe('Only calls in these channels; those of all channels where none is named.'),
        everyNth: count(1, 10_000)
          .prefault('1')
          .describe('Only one call in so many, by chance; the same ones each time.'),
        minUsers: count(0, 100_000).prefault('0').describe('Only calls with so many users at least.'),
      })
        .optional()
        .describe('Of which calls metrics are fetched, where the plan does not measure all of them.'),
    },
  },
  'usage-insight': {
    meaning: 'Numbers of users, channels and minutes, by hour and day.',
    settings: {
      every: time('10m', '7d', usage.every, every),
      allowedLateness: time('0s', '30d', usage.allowedLateness, allowedLateness),
      metrics: metrics(usage.metrics),
      granularities: granularity(usageGranularities, usage.granularities),
    },
  },
  'quality-insight': {
    meaning: 'Rates of success, freezing and delay, by hour and day.',
    settings: {
      every: time('10m', '7d', quality.every, every),
      allowedLateness: time('0s', '30d', quality.allowedLateness, allowedLateness),
      products: products(quality.products),
      metrics: metrics(quality.metrics),
      granularities: granularity(granularities, quality.granularities),
    },
  },
  'realtime-usage': {
    meaning: 'Numbers of users and channels in windows of 20 seconds.',
    settings: {
      every: time('20s', '1h', scale.every, every),
      products: products(scale.products),
      metrics: metrics(scale.metrics),
      channels,
    },
  },
  'realtime-quality': {
    meaning: 'Rates of success, freezing and delay in windows of 20 seconds.',
    settings: {
      every: time('20s', '1h', rates.every, every),
      products: products(rates.products),
      metrics: metrics(rates.metrics),
      channels,
      uids,
      usersOf: oneOf(['channels', 'project'])
        .optional()
        .describe(
          'Whether those users are asked for in each of the channels, or in the whole project, which a provider may refuse.',
        )
        .meta({ default: rates.usersOf }),
    },
  },
} as const satisfies Readonly<
  Record<
    WindowStreamName | SubstreamName,
    { readonly meaning: string; readonly settings: z.core.$ZodLooseShape }
  >
>

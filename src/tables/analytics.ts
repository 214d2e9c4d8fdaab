import type { Json } from './json.ts'
import { optional, type RowOf, required, table, telling } from './table.ts'

export const call = table('analytics.call', 'Calls as the search listed them last', {
  within: 'app',
  key: {
    call_id: required.text("The provider's ID of the call"),
  },
  columns: {
    cname: optional.text('Channel name; of a class it is the room_uuid'),
    created_at: required.timestamp('Start of the call'),
    destroyed_at: optional.timestamp('End of the call; of one that goes on, as far as the provider says'),
    finished: optional.boolean('False while the call goes on; once true it stays true'),
    extra: optional.json('Fields that have no column here, as they came'),
  },
  made: {
    first_seen_at: required.timestamp('When the search listed it first, our clock'),
    updated_at: required.timestamp('When anything about it changed last, our clock'),
    emptied_at: optional.timestamp(
      'When retention took who was in it and how well they heard; null until then',
    ),
  },
  onConflict: 'merge',
  except: { finished: 'latch', destroyed_at: 'final' },
  touched: 'updated_at',
})
export type CallRow = RowOf<typeof call>

export const callSession = table(
  'analytics.call_session',
  'One stay of one user in a call; who leaves and comes back has another one',
  {
    within: 'app',
    key: {
      call_id: required.text("The provider's ID of the call"),
      sid: required.text("The provider's ID of the stay"),
    },
    columns: {
      cname: optional.text('Channel name; of a class it is the room_uuid'),
      uid: telling('uid', optional.text('User ID; the same user may stay more than once')),
      network: optional.text('Kind of network, as the provider names it'),
      platform: optional.text('Operating system, as the provider names it'),
      speaker: optional.boolean('Whether the user speaks in the call; once true it stays true'),
      sdk_version: optional.text("Version of the SDK that the user's app holds"),
      device_type: optional.text('Device, as the provider names it'),
      joined_at: optional.timestamp('When the stay began'),
      left_at: optional.timestamp('When it ended; of one that goes on, as far as the provider says'),
      finished: optional.boolean('Whether the user has left; once true it stays true'),
      extra: optional.json('Fields that have no column here, as they came'),
    },
    onConflict: 'merge',
    except: { finished: 'latch', left_at: 'final', speaker: 'latch' },
  },
)
export type CallSessionRow = RowOf<typeof callSession>

export const sessionSeries = table(
  'analytics.session_series',
  'What analytics.session_metric tells value by value, as it lies on disk: the values of a metric of a session on one day (UTC); a partition a week',
  {
    within: 'app',
    key: {
      call_id: required.text("The provider's ID of the call"),
      sid: required.text('Stay of the user that the values were measured in'),
      mid: required.int('Metric; analytics.metric has its name and unit'),
      peer_uid: telling(
        'uid',
        required.text(
          "The remote user that the values are about; 0: the session's own user; empty: the provider did not say",
        ),
      ),
      at: required.timestamp('Begin of the day'),
    },
    columns: {
      gaps: required.ints(
        'Seconds from the begin of the day to the first value, and from each value to the next',
      ),
      value: required.doubles('The values, in the unit of the metric'),
      extra: optional.json(
        'What else came with some of the values, by the seconds since the begin of the day; others: what the same answer gave for this second before; null with most',
      ),
    },
    onConflict: 'replace',
    partitioned: { keptAs: 'samples' },
  },
)

/**
 * All values of one metric of one session, the only row type that stands for several rows of its table: one for each day
 * of which there is a value.
 */
export interface SessionSeriesRow {
  readonly call_id: string
  readonly sid: string
  readonly peer_uid: string
  readonly mid: number
  /** Unix seconds, UTC; as many as `value`, each at most once. */
  readonly at: readonly number[]
  readonly value: readonly number[]
  /** What else came with each value, null with most; absent where nothing came with any. */
  readonly extra?: readonly Json[]
}

const product = required.text('Kind of client that the value is about')

/** What a value of either insight stands for, and what is told of it. */
const insightKey = {
  metric: required.text('Name of the metric, as it was asked for'),
  granularity: required.text<'minute' | 'hour' | 'day'>(
    'minute, hour or day: how long a time the value stands for',
  ),
  at: required.timestamp('Begin of what the value stands for'),
}

const ofValue = {
  value: required.double('As the provider gives it; of several in one answer the last'),
  extra: optional.json(
    'Fields that have no column here, as they came; others: what the same answer gave for this time before; null with most',
  ),
}

const insightValue = {
  within: 'app',
  columns: {
    ...ofValue,
    fetched_at: required.timestamp('When this value was last read, our clock'),
  },
  made: {
    revision: required.int(
      'Counts from 1 how often the provider has given another value; it computes them again about two days later',
    ),
  },
  onConflict: 'revise',
} as const

export const usageInsight = table(
  'analytics.usage_insight',
  'Usage of the project as the provider counts it, by minute, hour or day (UTC)',
  { ...insightValue, key: insightKey },
)

export const qualityInsight = table(
  'analytics.quality_insight',
  'Quality of the project as the provider counts it, by minute, hour or day (UTC)',
  { ...insightValue, key: { product, ...insightKey } },
)

const realtimeSeries = {
  product,
  metric: insightKey.metric,
  cname: required.text('Channel; empty: the whole project'),
}

const realtimeValue = {
  within: 'app',
  onConflict: 'replace',
  partitioned: { keptAs: 'realtime' },
} as const

export const usageRealtime = table(
  'analytics.usage_realtime',
  'Numbers of users and channels in windows of 20 seconds; a partition a month',
  {
    ...realtimeValue,
    key: { ...realtimeSeries, at: required.timestamp('Begin of the 20 seconds') },
    columns: ofValue,
  },
)

export const qualityRealtime = table(
  'analytics.quality_realtime',
  'Quality in windows of 20 seconds; a partition a month',
  {
    ...realtimeValue,
    key: {
      ...realtimeSeries,
      uid: telling('uid', required.text('User; empty: all users')),
      at: required.timestamp('Begin of the 20 seconds'),
    },
    columns: {
      ...ofValue,
      extra: optional.json(
        'Fields that have no column here, as they came; entry: those of the user, beside the first of the values; others: what the same answer gave for this time before',
      ),
    },
  },
)
export type QualityRealtimeRow = RowOf<typeof qualityRealtime>

export const analyticsTables = [
  call,
  callSession,
  sessionSeries,
  usageInsight,
  qualityInsight,
  usageRealtime,
  qualityRealtime,
]

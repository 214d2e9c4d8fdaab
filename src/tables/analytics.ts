import type { Json } from './json.ts'
import { optional, type RowOf, required, table } from './table.ts'

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
      uid: optional.text('User ID; the same user may stay more than once'),
      network: optional.text('Kind of network, as the provider names it'),
      platform: optional.text('Operating system, as the provider names it'),
      speaker: optional.boolean('Whether the user speaks in the call'),
      sdk_version: optional.text("Version of the SDK that the user's app holds"),
      device_type: optional.text('Device, as the provider names it'),
      joined_at: optional.timestamp('When the stay began'),
      left_at: optional.timestamp('When it ended; of one that goes on, as far as the provider says'),
      finished: optional.boolean('Whether the user has left; once true it stays true'),
      extra: optional.json('Fields that have no column here, as they came'),
    },
    onConflict: 'merge',
    except: { finished: 'latch', left_at: 'final' },
  },
)
export type CallSessionRow = RowOf<typeof callSession>

export const sessionMetric = table(
  'analytics.session_metric',
  'Quality of each session over time, about one value of each metric in two seconds; a partition a week',
  {
    within: 'app',
    key: {
      call_id: required.text("The provider's ID of the call"),
      sid: required.text('Stay of the user that the value was measured in'),
      peer_uid: required.text(
        "The remote user that the value is about; 0: the session's own user; empty: the provider did not say",
      ),
      mid: required.int('Metric; analytics.metric has its name and unit'),
      at: required.timestamp('When it was measured'),
    },
    columns: {
      value: required.double('In the unit of the metric'),
      extra: optional.json(
        'What else came with the value, as it came: elements behind the pair, or members beside it; null with most. Beside the first value of an answer also what else its series and its entry say, by these names, and what the pair says as pair',
      ),
    },
    onConflict: 'replace',
    partitioned: { keptFor: '90d' },
  },
)

/**
 * All values of one metric of one session, the only row type that stands for many rows of its table: one for each
 * pair of `at` and `value`.
 */
export interface SessionMetricRow {
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

export const usageInsight = table(
  'analytics.usage_insight',
  'Usage of the project as the provider counts it, by minute, hour or day (UTC)',
  {
    within: 'app',
    key: {
      metric: required.text('Name of the metric, as it was asked for'),
      granularity: required.text<'minute' | 'hour' | 'day'>(
        'minute, hour or day: how long a time the value stands for',
      ),
      at: required.timestamp('Begin of what the value stands for'),
    },
    columns: {
      value: required.double('As the provider gives it'),
      extra: optional.json('Fields that have no column here, as they came; null with most'),
      fetched_at: required.timestamp('When this value was last read, our clock'),
    },
    made: {
      revision: required.int(
        'Counts from 1 how often the provider has given another value; it computes them again about two days later',
      ),
    },
    onConflict: 'revise',
  },
)
export type UsageInsightRow = RowOf<typeof usageInsight>

export const qualityInsight = table(
  'analytics.quality_insight',
  'Quality of the project as the provider counts it, by minute, hour or day (UTC)',
  {
    within: 'app',
    key: {
      product: required.text('Kind of client that the value is about'),
      metric: required.text('Name of the metric, as it was asked for'),
      granularity: required.text<'minute' | 'hour' | 'day'>(
        'minute, hour or day: how long a time the value stands for',
      ),
      at: required.timestamp('Begin of what the value stands for'),
    },
    columns: {
      value: required.double('As the provider gives it'),
      extra: optional.json('Fields that have no column here, as they came; null with most'),
      fetched_at: required.timestamp('When this value was last read, our clock'),
    },
    made: {
      revision: required.int(
        'Counts from 1 how often the provider has given another value; it computes them again about two days later',
      ),
    },
    onConflict: 'revise',
  },
)
export type QualityInsightRow = RowOf<typeof qualityInsight>

export const usageRealtime = table(
  'analytics.usage_realtime',
  'Numbers of users and channels in windows of 20 seconds; a partition a month',
  {
    within: 'app',
    key: {
      product: required.text('Kind of client that the value is about'),
      metric: required.text('Name of the metric, as it was asked for'),
      cname: required.text('Channel; empty: the whole project'),
      at: required.timestamp('Begin of the 20 seconds'),
    },
    columns: {
      value: required.double('As the provider gives it'),
      extra: optional.json('Fields that have no column here, as they came; null with most'),
    },
    onConflict: 'replace',
    partitioned: { keptFor: '400d' },
  },
)
export type UsageRealtimeRow = RowOf<typeof usageRealtime>

export const qualityRealtime = table(
  'analytics.quality_realtime',
  'Quality in windows of 20 seconds; a partition a month',
  {
    within: 'app',
    key: {
      product: required.text('Kind of client that the value is about'),
      metric: required.text('Name of the metric, as it was asked for'),
      cname: required.text('Channel; empty: the whole project'),
      uid: required.text('User; empty: all users'),
      at: required.timestamp('Begin of the 20 seconds'),
    },
    columns: {
      value: required.double('As the provider gives it'),
      extra: optional.json(
        'Fields that have no column here, as they came; entry: those of the user, beside the first of the values',
      ),
    },
    onConflict: 'replace',
    partitioned: { keptFor: '400d' },
  },
)
export type QualityRealtimeRow = RowOf<typeof qualityRealtime>

export const analyticsTables = [
  call,
  callSession,
  sessionMetric,
  usageInsight,
  qualityInsight,
  usageRealtime,
  qualityRealtime,
]

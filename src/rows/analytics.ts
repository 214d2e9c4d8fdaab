import type { Json, Timestamp } from './json.ts'

/**
 * Rows of schema `analytics`, as a stream hands them over. The commit adds `app_id`; columns are named as in the
 * database.
 */
export interface CallRow {
  readonly call_id: string
  /** Channel name; the roomUuid of a class. */
  readonly cname: string | null
  readonly created_at: Timestamp
  readonly destroyed_at: Timestamp | null
  readonly finished: boolean | null
  readonly extra: Json
}

export interface CallSessionRow {
  readonly call_id: string
  readonly sid: string
  readonly cname: string | null
  readonly uid: string | null
  readonly network: string | null
  readonly platform: string | null
  readonly speaker: boolean | null
  readonly sdk_version: string | null
  readonly device_type: string | null
  readonly joined_at: Timestamp | null
  readonly left_at: Timestamp | null
  readonly finished: boolean | null
  readonly extra: Json
}

/**
 * All values of one metric of one session, the only row type that stands for many rows of its table: one for each
 * pair of `at` and `value`.
 */
export interface SessionMetricRow {
  readonly call_id: string
  readonly sid: string
  /** The remote user; '0' where the values are of the session's own user, '' where the answer does not say whose. */
  readonly peer_uid: string
  readonly mid: number
  /** Unix seconds, UTC; as many as `value`, each at most once. */
  readonly at: readonly number[]
  readonly value: readonly number[]
  /** What else came with each value, null with most; absent where nothing came with any. */
  readonly extra?: readonly Json[]
}

interface Measured {
  readonly metric: string
  readonly at: Timestamp
  readonly value: number
  readonly extra: Json
}

/** The provider computes values again about two days later; the database counts how often a value changed. */
export interface UsageInsightRow extends Measured {
  readonly granularity: 'minute' | 'hour' | 'day'
  readonly fetched_at: Timestamp
}

export interface QualityInsightRow extends UsageInsightRow {
  readonly product: string
}

export interface UsageRealtimeRow extends Measured {
  readonly product: string
  /** '' for the whole project. */
  readonly cname: string
}

export interface QualityRealtimeRow extends UsageRealtimeRow {
  /** '' for all users. */
  readonly uid: string
}

export interface AnalyticsTables {
  readonly 'analytics.call': CallRow
  readonly 'analytics.call_session': CallSessionRow
  readonly 'analytics.session_metric': SessionMetricRow
  readonly 'analytics.usage_insight': UsageInsightRow
  readonly 'analytics.quality_insight': QualityInsightRow
  readonly 'analytics.usage_realtime': UsageRealtimeRow
  readonly 'analytics.quality_realtime': QualityRealtimeRow
}

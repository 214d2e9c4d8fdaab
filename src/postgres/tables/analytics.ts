import type { AnalyticsTables } from '../../rows/analytics.ts'
import type { Specs } from './spec.ts'

const measured = { metric: 'text', at: 'timestamptz', value: 'double precision', extra: 'jsonb' } as const
const insight = { ...measured, granularity: 'text', fetched_at: 'timestamptz' } as const
const realtime = { ...measured, product: 'text', cname: 'text' } as const

export const analyticsTables: Specs<AnalyticsTables> = {
  'analytics.call': {
    within: 'app',
    key: ['call_id'],
    columns: {
      call_id: 'text',
      cname: 'text',
      created_at: 'timestamptz',
      destroyed_at: 'timestamptz',
      finished: 'boolean',
      extra: 'jsonb',
    },
    onConflict: 'merge',
    except: { finished: 'latch', destroyed_at: 'final' },
    touched: 'updated_at',
  },
  'analytics.call_session': {
    within: 'app',
    key: ['call_id', 'sid'],
    columns: {
      call_id: 'text',
      sid: 'text',
      cname: 'text',
      uid: 'text',
      network: 'text',
      platform: 'text',
      speaker: 'boolean',
      sdk_version: 'text',
      device_type: 'text',
      joined_at: 'timestamptz',
      left_at: 'timestamptz',
      finished: 'boolean',
      extra: 'jsonb',
    },
    onConflict: 'merge',
    except: { finished: 'latch', left_at: 'final' },
  },
  // One row stands for many; commit/samples.ts takes them apart.
  'analytics.session_metric': {
    within: 'app',
    key: ['call_id', 'sid', 'peer_uid', 'mid', 'at'],
    columns: {
      call_id: 'text',
      sid: 'text',
      peer_uid: 'text',
      mid: 'int',
      at: 'timestamptz',
      value: 'double precision',
      extra: 'jsonb',
    },
    onConflict: 'replace',
    partitioned: true,
  },
  'analytics.usage_insight': {
    within: 'app',
    key: ['metric', 'granularity', 'at'],
    columns: insight,
    onConflict: 'revise',
  },
  'analytics.quality_insight': {
    within: 'app',
    key: ['product', 'metric', 'granularity', 'at'],
    columns: { ...insight, product: 'text' },
    onConflict: 'revise',
  },
  'analytics.usage_realtime': {
    within: 'app',
    key: ['product', 'metric', 'cname', 'at'],
    columns: realtime,
    onConflict: 'replace',
    partitioned: true,
  },
  'analytics.quality_realtime': {
    within: 'app',
    key: ['product', 'metric', 'cname', 'uid', 'at'],
    columns: { ...realtime, uid: 'text' },
    onConflict: 'replace',
    partitioned: true,
  },
}

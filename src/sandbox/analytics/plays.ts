import {
  type AnalyticsGroup,
  callMetrics,
  callSearch,
  callSessions,
  qualityInsight,
  realtimeQuality,
  realtimeUsage,
  usageInsight,
} from '../../provider/analytics/index.ts'
import type { Operation } from '../../provider/operation.ts'
import { readQualityInsight, readUsageInsight } from './frames.ts'
import { readMetrics } from './metrics.ts'
import { readRealtimeQuality, readRealtimeUsage } from './realtime.ts'
import { searchCalls } from './search.ts'
import { listSessions } from './sessions.ts'
import type { AnalyticsVisit } from './visit.ts'

export interface Play {
  readonly operation: Operation & { readonly limitGroup: AnalyticsGroup }
  /** Names of the parameters that hold the range. */
  readonly range: readonly [start: string, end: string]
  /** A successful answer, besides its code and message. Throws AnalyticsRefusal. */
  readonly act: (visit: AnalyticsVisit) => object
}

const ofCalls = ['start_ts', 'end_ts'] as const
const ofSeries = ['startTs', 'endTs'] as const

export const analyticsPlays: readonly Play[] = [
  { operation: callSearch, range: ofCalls, act: searchCalls },
  { operation: callSessions, range: ofCalls, act: listSessions },
  { operation: callMetrics, range: ofCalls, act: readMetrics },
  { operation: usageInsight, range: ofSeries, act: visit => ({ data: readUsageInsight(visit) }) },
  { operation: qualityInsight, range: ofSeries, act: visit => ({ data: readQualityInsight(visit) }) },
  { operation: realtimeUsage, range: ofSeries, act: visit => ({ data: readRealtimeUsage(visit) }) },
  { operation: realtimeQuality, range: ofSeries, act: visit => ({ data: readRealtimeQuality(visit) }) },
]

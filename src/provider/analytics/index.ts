import type { LimitsByPlan } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { callDetailsLimits, callMetrics, callSessions } from './call-details.ts'
import { callSearch, callSearchLimits } from './call-search.ts'
import { qualityInsight, qualityInsightLimits, usageInsight, usageInsightLimits } from './insights.ts'
import type { SeriesParameter, SeriesWords } from './parameters.ts'
import { realtimeLimits, realtimeQuality, realtimeUsage } from './realtime.ts'

export * from './answers.ts'
export * from './call-details.ts'
export * from './call-search.ts'
export * from './errors.ts'
export * from './insights.ts'
export * from './metrics.ts'
export * from './parameters.ts'
export * from './realtime.ts'

/** The seven operations in the order of the document. */
export const analyticsOperations: readonly Operation[] = [
  callSearch,
  callSessions,
  callMetrics,
  usageInsight,
  qualityInsight,
  realtimeUsage,
  realtimeQuality,
]

export const analyticsGroups = [
  'call-search',
  'call-details',
  'usage-insight',
  'quality-insight',
  'realtime',
] as const
export type AnalyticsGroup = (typeof analyticsGroups)[number]

/** What each plan allows, by limit group. */
export const analyticsLimits: Readonly<Record<AnalyticsGroup, LimitsByPlan>> = {
  'call-search': callSearchLimits,
  'call-details': callDetailsLimits,
  'usage-insight': usageInsightLimits,
  'quality-insight': qualityInsightLimits,
  realtime: realtimeLimits,
}

/** An insight or real-time operation with the parameter names that a deployment uses. */
export function withParameterNames(operation: Operation, { parameters }: SeriesWords): Operation {
  const named = Object.entries(operation.queryParams).map(([name, rule]) => [
    parameters[name as SeriesParameter] ?? name,
    rule,
  ])
  return { ...operation, queryParams: Object.fromEntries(named) }
}

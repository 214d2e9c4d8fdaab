import type { LimitsByPlan } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { callDetailsLimits, callMetrics, callSessions } from './call-details.ts'
import { callSearch, callSearchLimits } from './call-search.ts'
import { qualityInsight, qualityInsightLimits, usageInsight, usageInsightLimits } from './insights.ts'
import type { ParameterNames, SeriesParameter } from './parameters.ts'
import { realtimeLimits, realtimeQuality, realtimeUsage } from './realtime.ts'

export * from './answers.ts'
export * from './call-details.ts'
export * from './call-search.ts'
export * from './insights.ts'
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

/**
 * How the tables of limits that hold for two endpoints are read. `joint`: both share a counter, which is inside either
 * reading; `split`: each has its own.
 */
export const analyticsLimitReadings = ['joint', 'split'] as const
export type AnalyticsLimitReading = (typeof analyticsLimitReadings)[number]

/** Counters that the second of two endpoints has where each has its own; the first keeps the name of their table. */
const ownCounters: Readonly<Record<string, string>> = {
  [callMetrics.name]: 'call-metrics',
  [realtimeQuality.name]: 'realtime-quality',
}

/** The operation with the counter that its requests are debited to. */
export function countedBy<O extends Operation>(operation: O, reading: AnalyticsLimitReading): O {
  const own = reading === 'split' ? ownCounters[operation.name] : undefined
  return own === undefined ? operation : { ...operation, limitGroup: own }
}

/** The counters of a table of limits. */
export function countersOf(group: AnalyticsGroup, reading: AnalyticsLimitReading): readonly string[] {
  const second = { 'call-details': callMetrics, realtime: realtimeQuality }[group as string]
  return second && reading === 'split' ? [group, ownCounters[second.name]!] : [group]
}

/** An insight or real-time operation with the parameter names that a deployment uses. */
export function withParameterNames(operation: Operation, { parameters }: ParameterNames): Operation {
  const named = Object.entries(operation.queryParams).map(([name, rule]) => [
    parameters[name as SeriesParameter] ?? name,
    rule,
  ])
  return { ...operation, queryParams: Object.fromEntries(named) }
}

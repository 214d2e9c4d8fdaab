import type { LimitsByPlan } from '../limits.ts'
import type { Operation } from '../operation.ts'
import { callDetailOperations } from './call-details.ts'
import { callSearch } from './call-search.ts'
import { insightOperations } from './insights.ts'
import type { ParameterNames, SeriesParameter } from './parameters.ts'
import { realtimeOperations } from './realtime.ts'

export * from './answers.ts'
export * from './call-details.ts'
export * from './call-search.ts'
export * from './insights.ts'
export * from './parameters.ts'
export * from './realtime.ts'

/** The seven operations in the order of the document. */
export const analyticsOperations = [
  callSearch,
  ...callDetailOperations,
  ...insightOperations,
  ...realtimeOperations,
] as const

export type AnalyticsGroup = (typeof analyticsOperations)[number]['limitGroup']

export const analyticsGroups: readonly AnalyticsGroup[] = [
  ...new Set(analyticsOperations.map(({ limitGroup }) => limitGroup)),
]

/** What each plan allows, by limit group. */
export const analyticsLimits = Object.fromEntries(
  analyticsOperations.map(({ limitGroup, limits }) => [limitGroup, limits]),
) as Readonly<Record<AnalyticsGroup, LimitsByPlan>>

/**
 * How the tables of limits that hold for two endpoints are read. `joint`: both share a counter, which is inside either
 * reading; `split`: each has its own.
 */
export const analyticsLimitReadings = ['joint', 'split'] as const
export type AnalyticsLimitReading = (typeof analyticsLimitReadings)[number]

/** The operation with the counter that its requests are debited to. */
export function countedBy<O extends Operation>(operation: O, reading: AnalyticsLimitReading): O {
  const { ownLimitGroup } = operation
  return reading === 'joint' || !ownLimitGroup ? operation : { ...operation, limitGroup: ownLimitGroup }
}

export function countersOf(group: AnalyticsGroup, reading: AnalyticsLimitReading): readonly string[] {
  const operations: readonly Operation[] = analyticsOperations.filter(each => each.limitGroup === group)
  return [...new Set(operations.map(each => countedBy(each, reading).limitGroup))]
}

/** An insight or real-time operation with the parameter names that a deployment uses. */
export function withParameterNames(operation: Operation, { parameters }: ParameterNames): Operation {
  const named = Object.entries(operation.queryParams).map(([name, rule]) => [
    parameters[name as SeriesParameter] ?? name,
    rule,
  ])
  return { ...operation, queryParams: Object.fromEntries(named) }
}

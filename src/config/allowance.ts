import { type AnalyticsGroup, analyticsLimits } from '../provider/analytics/index.ts'
import type { PlanLimits, Rate } from '../provider/limits.ts'
import type { AnalyticsStreamName, AppConfig } from './config.ts'
import type { PlanOverride } from './schema/limits.ts'

/** The limit group that the requests of each stream are counted in. */
export const groupOfStream: Readonly<Record<AnalyticsStreamName, AnalyticsGroup>> = {
  calls: 'call-search',
  'call-sessions': 'call-details',
  'call-metrics': 'call-details',
  'usage-insight': 'usage-insight',
  'quality-insight': 'quality-insight',
  'realtime-usage': 'realtime',
  'realtime-quality': 'realtime',
}

export const analyticsStreamNames = Object.keys(groupOfStream) as readonly AnalyticsStreamName[]

const rateWindows = { perSecond: 1, perMinute: 60, perDay: 86_400 } as const
type RateKey = keyof typeof rateWindows
const rateKeys = Object.keys(rateWindows) as readonly RateKey[]
const rangeKeys = ['availableData', 'timeFrame', 'dataDelay'] as const

/** Keys of an override that take the place of a documented number. */
export type LimitKey = RateKey | (typeof rangeKeys)[number]

/**
 * What an app may ask of a limit group, in seconds: the documented numbers of its plan, and in their place what the
 * operator says. Undefined where the plan has no access and the operator has not given every number.
 */
export function allowanceOf({ plan, limits }: AppConfig, group: AnalyticsGroup): PlanLimits | undefined {
  const said = limits[group]
  const documented = analyticsLimits[group][plan]
  if (!documented && missingFrom(said, group).length > 0) return undefined
  const [availableData, timeFrame, dataDelay] = rangeKeys.map(
    key => seconds(said[key]) ?? documented?.[key] ?? 0,
  )
  return {
    rates: ratesOf(said, documented?.rates ?? []),
    availableData: availableData!,
    timeFrame: timeFrame!,
    dataDelay: dataDelay!,
  }
}

/** What an override of a plan without access must say besides. */
export function missingFrom(said: PlanOverride, group: AnalyticsGroup): readonly LimitKey[] {
  const needed: readonly LimitKey[] = [...documentedRates(group), ...rangeKeys]
  return needed.filter(key => said[key] === undefined)
}

/** Kinds of rates that the documents give for a group in any plan. */
function documentedRates(group: AnalyticsGroup): readonly RateKey[] {
  const windows = Object.values(analyticsLimits[group]).flatMap(({ rates }) => rates.map(rate => rate.window))
  return rateKeys.filter(key => windows.includes(rateWindows[key]))
}

function ratesOf(said: PlanOverride, documented: readonly Rate[]): readonly Rate[] {
  return rateKeys.flatMap((key): readonly Rate[] => {
    const window = rateWindows[key]
    const requests = said[key] ?? documented.find(rate => rate.window === window)?.requests
    return requests === undefined ? [] : [{ requests, window }]
  })
}

function seconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.floor(ms / 1_000)
}

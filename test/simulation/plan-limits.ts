import type { Arrival } from '../../sandbox/src/index.ts'
import type { AnalyticsLimitReading } from '../../src/provider/analytics/index.ts'
import type { Plan, PlanLimits } from '../../src/provider/limits.ts'
import { groupOf } from './oracle/open.ts'

/** Projects of one credential, with the plan of each. */
export type Plans = Readonly<Record<string, Plan>>

const [minute, hour, day] = [60, 3_600, 86_400]

function allowed(
  often: readonly [requests: number, window: number],
  perDay: number,
  [availableData, timeFrame, dataDelay]: readonly [number, number, number],
): PlanLimits {
  const [requests, window] = often
  return {
    ...{ availableData, timeFrame, dataDelay },
    rates: [
      { requests, window },
      { requests: perDay, window: day },
    ],
  }
}

/** What the provider's document allows, by limit group and plan, written from it once more: a plan left out has no access. */
const documented: Readonly<Record<string, Readonly<Partial<Record<Plan, PlanLimits>>>>> = {
  'call-search': {
    standard: allowed([1, 1], 1_000, [3 * day, 8 * hour, minute]),
    premium: allowed([3, 1], 2_000, [7 * day, 16 * hour, minute]),
    enterprise: allowed([10, 1], 10_000, [15 * day, day, minute]),
  },
  'call-details': {
    standard: allowed([1, 1], 1_000, [day, hour, 5 * minute]),
    premium: allowed([3, 1], 2_000, [7 * day, 3 * hour, 5 * minute]),
    enterprise: allowed([10, 1], 10_000, [15 * day, 6 * hour, 5 * minute]),
  },
  'usage-insight': {
    premium: allowed([3, minute], 40, [14 * day, 3 * day, 12 * hour]),
    enterprise: allowed([10, minute], 60, [30 * day, 7 * day, 6 * hour]),
  },
  'quality-insight': {
    premium: allowed([3, minute], 40, [14 * day, 3 * day, 6 * hour]),
    enterprise: allowed([10, minute], 60, [30 * day, 7 * day, 6 * hour]),
  },
  realtime: {
    premium: allowed([3, minute], 480, [40 * minute, 40 * minute, 40]),
    enterprise: allowed([10, minute], 1_440, [hour, hour, 20]),
  },
}

/** What a plan allows of a limit group; undefined where it has no access. */
export function limitsOf(plan: Plan | undefined, group: string): PlanLimits | undefined {
  return plan && documented[group]?.[plan]
}

/** What the requests to an operation are counted with: all of its limit group, unless each endpoint is counted by itself. */
export function counterOf(operation: string, reading: AnalyticsLimitReading): string {
  return reading === 'joint' ? groupOf.get(operation)! : operation
}

/** The strictest of what the projects of one credential may ask together: who has no access says nothing. */
export function sharedRates(plans: Plans, group: string): PlanLimits['rates'] {
  const fewest = new Map<number, number>()
  for (const plan of Object.values(plans)) {
    for (const { requests, window } of limitsOf(plan, group)?.rates ?? []) {
      fewest.set(window, Math.min(requests, fewest.get(window) ?? requests))
    }
  }
  return [...fewest].map(([window, requests]) => ({ requests, window }))
}

/** Of a limit group, for all projects of the credential together. */
export function sharedPerDay(plans: Plans, group: string): number | undefined {
  return sharedRates(plans, group).find(({ window }) => window === day)?.requests
}

interface Counted {
  readonly arrival: Pick<Arrival, 'time' | 'app'>
  readonly operation: string
}

/** Requests beyond what one credential may ask, by counter, length and reading of the window; in the order of arrival. */
export function beyondRates(
  asked: readonly Counted[],
  plans: Plans,
  reading: AnalyticsLimitReading,
): Readonly<Record<string, number>> {
  const found: Record<string, number> = {}
  for (const [counter, counted] of byCounter(asked, reading)) {
    const times = counted.map(({ arrival }) => arrival.time)
    for (const { requests, window } of sharedRates(plans, groupOf.get(counted[0]!.operation)!)) {
      const length = window * 1_000
      const inAny = over(times, requests, (first, last) => last - first < length)
      const inMarked = over(times, requests, (first, last) => {
        return Math.floor(first / length) === Math.floor(last / length)
      })
      if (inAny > 0) found[`${counter}: ${requests} in any ${window} s`] = inAny
      if (inMarked > 0) found[`${counter}: ${requests} in ${window} s of the clock`] = inMarked
    }
  }
  return found
}

function over(
  times: readonly number[],
  requests: number,
  isWithin: (first: number, last: number) => boolean,
): number {
  return times.filter((last, n) => n >= requests && isWithin(times[n - requests]!, last)).length
}

/** Who shares what, from when on, ms since the epoch. */
interface Sharing {
  readonly plans: Plans
  readonly reading: AnalyticsLimitReading
  readonly start: number
}

/** Of each counter the requests of the first 24 hours as a share of the day of all projects. */
export function shareOfDay(
  asked: readonly Counted[],
  { plans, reading, start }: Sharing,
): ReadonlyMap<string, number> {
  return new Map(
    [...byCounter(asked, reading)].map(([counter, counted]) => {
      const first = counted.filter(({ arrival }) => arrival.time < start + day * 1_000).length
      return [counter, first / sharedPerDay(plans, groupOf.get(counted[0]!.operation)!)!]
    }),
  )
}

/** No project's part of a spent counter is smaller than this share of an even one. */
const FAIR = 0.5
/** What may be sent in one go at first is spent by then, ms, whoever had it. */
const STARTED = 2 * hour * 1_000

/** Projects that had much less of a counter than the others although it was spent, with the requests of each. */
export function unfair(
  asked: readonly Counted[],
  { plans, reading, start, isSpent }: Sharing & { readonly isSpent: (counter: string) => boolean },
): readonly string[] {
  const later = asked.filter(({ arrival }) => arrival.time >= start + STARTED)
  return [...byCounter(later, reading)].flatMap(([counter, counted]) => {
    const group = groupOf.get(counted[0]!.operation)!
    const sharing = Object.keys(plans).filter(app => limitsOf(plans[app], group))
    const even = counted.length / sharing.length
    const made = sharing.map(app => ({
      app,
      count: counted.filter(({ arrival }) => arrival.app === app).length,
    }))
    if (!isSpent(counter) || made.every(({ count }) => count >= even * FAIR)) return []
    return [`${counter}: ${made.map(({ app, count }) => `${app} ${count}`).join(', ')}`]
  })
}

function byCounter(asked: readonly Counted[], reading: AnalyticsLimitReading) {
  return Map.groupBy(asked, ({ operation }) => counterOf(operation, reading))
}

import type { RangeLimits } from '../planning/windows.ts'

/**
 * Documented limits as values, in the provider's own units. A number stands once, beside the operation it
 * belongs to, with the document it comes from.
 */
export interface Rate {
  /** Requests allowed in any window of this length. */
  readonly requests: number
  /** Length of the window in seconds. */
  readonly window: number
}

export function perSecond(requests: number): Rate {
  return { requests, window: 1 }
}

export function perMinute(requests: number): Rate {
  return { requests, window: 60 }
}

export function perDay(requests: number): Rate {
  return { requests, window: 86_400 }
}

/** Of each window the fewest requests that any of the rates allows in it. */
export function strictest(rates: readonly Rate[]): readonly Rate[] {
  const windows = [...new Set(rates.map(({ window }) => window))]
  return windows.map(window => {
    const requests = Math.min(...rates.filter(rate => rate.window === window).map(rate => rate.requests))
    return { requests, window }
  })
}

/** Seconds from one request to the next at a pace that all rates allow for good; 0 where there are none. */
export function spacingOf(rates: readonly Rate[]): number {
  return Math.max(0, ...rates.map(({ window, requests }) => window / requests))
}

/** What a pricing plan allows of one limit group. */
export interface PlanLimits extends RangeLimits {
  readonly rates: readonly Rate[]
}

/** What a plan allows, in the order of the columns of the document's tables; times in seconds. */
export function allows(
  rates: readonly Rate[],
  availableData: number,
  timeFrame: number,
  dataDelay: number,
): PlanLimits {
  return { rates, availableData, timeFrame, dataDelay }
}

export const plans = ['starter', 'standard', 'premium', 'enterprise'] as const
export type Plan = (typeof plans)[number]

/** A plan that is absent has no access. */
export type LimitsByPlan = Readonly<Partial<Record<Plan, PlanLimits>>>

export function seconds(n: number): number {
  return n
}

export function minutes(n: number): number {
  return n * 60
}

export function hours(n: number): number {
  return n * 3_600
}

export function days(n: number): number {
  return n * 86_400
}

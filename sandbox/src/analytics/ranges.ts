import type { LimitMessage } from '../../../src/provider/analytics/index.ts'
import type { PlanLimits } from '../../../src/provider/limits.ts'
import { befalls } from '../hash.ts'
import type { Settings } from '../options.ts'
import type { ViolationKind } from '../violations.ts'

export interface Asked {
  /** Unix seconds as they were sent. */
  readonly start: number
  readonly end: number
}

export interface RangeRuling {
  readonly refusal: LimitMessage | undefined
  readonly broken: readonly ViolationKind[]
}

const messages = {
  delay: 'query latency limit error',
  reach: 'query time range limit error',
  span: 'query time length limit error',
} as const satisfies Partial<Record<ViolationKind, LimitMessage>>

/** The bounds that an app meets at `now`, Unix milliseconds: in some hours less is served than the plan says. */
export function servedRange(
  { seed, switches }: Settings,
  app: string,
  group: string,
  { availableData, timeFrame, dataDelay }: Omit<PlanLimits, 'rates'>,
  now: number,
): Omit<PlanLimits, 'rates'> {
  const isTight = isTightHour({ seed, switches }, app, group, now)
  return isTight
    ? { availableData: availableData / 2, timeFrame: timeFrame / 2, dataDelay: dataDelay * 2 }
    : { availableData, timeFrame, dataDelay }
}

/** Whether an app meets narrower bounds at `now`, Unix milliseconds, than its plan says. */
export function isTightHour(
  { seed, switches }: Pick<Settings, 'seed' | 'switches'>,
  app: string,
  group: string,
  now: number,
): boolean {
  return befalls(switches.tightHours, seed, 'tight', app, group, Math.floor(now / 3_600_000))
}

/**
 * Whether the range keeps the bounds of the plan, all of them strict. `now` is in Unix milliseconds; a
 * provider may know its time in whole seconds only, so the end must be older than those.
 */
export function ruleRange(
  { start, end }: Asked,
  { dataDelay, availableData, timeFrame }: Omit<PlanLimits, 'rates'>,
  now: number,
): RangeRuling {
  const broken = [
    ...(end < Math.floor(now / 1_000) - dataDelay ? [] : (['delay'] as const)),
    ...(start > now / 1_000 - availableData ? [] : (['reach'] as const)),
    ...(end - start < timeFrame ? [] : (['span'] as const)),
  ]
  return { refusal: broken[0] && messages[broken[0]], broken }
}

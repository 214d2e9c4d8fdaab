import fc from 'fast-check'
import type { WindowRules } from '../../src/planning/windows.ts'
import {
  analyticsLimits,
  granularitySeconds,
  qualityGranularities,
  realtimeWindow,
  usageGranularities,
} from '../../src/provider/analytics/index.ts'
import { days, hours, type LimitsByPlan, plans } from '../../src/provider/limits.ts'

/** Every way in which a plan lets a stream ask for ranges of time. */
export interface PlannedStream {
  readonly name: string
  readonly every: number
  readonly rules: Omit<WindowRules, 'margin'>
}

type Shape = Pick<WindowRules, 'step' | 'frame' | 'allowedLateness'>

function under(name: string, limits: LimitsByPlan, every: number, shape: Shape): readonly PlannedStream[] {
  return plans.flatMap(plan => {
    const allowed = limits[plan]
    if (!allowed) return []
    const { availableData, timeFrame, dataDelay } = allowed
    return [{ name: `${name}, ${plan}`, every, rules: { availableData, timeFrame, dataDelay, ...shape } }]
  })
}

const insight = { frame: 'full', allowedLateness: hours(54) } as const

export const plannedStreams: readonly PlannedStream[] = [
  ...under('calls', analyticsLimits['call-search'], 300, {
    ...{ step: 1, frame: 'needed', allowedLateness: hours(1) },
  }),
  ...usageGranularities.flatMap(word =>
    under(`usage by ${word}`, analyticsLimits['usage-insight'], hours(6), {
      ...insight,
      step: granularitySeconds[word],
    }),
  ),
  ...qualityGranularities.flatMap(word =>
    under(`quality by ${word}`, analyticsLimits['quality-insight'], hours(6), {
      ...insight,
      step: granularitySeconds[word],
    }),
  ),
  ...under('real time', analyticsLimits.realtime, 300, {
    ...{ step: realtimeWindow, frame: 'full', allowedLateness: 0 },
  }),
]

/** Some moment of some years, with and without a fraction of a second. */
export const moment = fc.oneof(
  fc.integer({ min: days(19_000), max: days(25_000) }),
  fc.double({ min: days(19_000), max: days(25_000), noNaN: true }),
)

const margin = fc.record({ start: fc.nat(200), end: fc.nat(200) })

/** A stream of a plan, with the margins that a daemon may keep. */
export const someRules: fc.Arbitrary<WindowRules> = fc
  .tuple(fc.constantFrom(...plannedStreams), margin)
  .map(([{ rules }, kept]) => ({ ...rules, margin: kept }))

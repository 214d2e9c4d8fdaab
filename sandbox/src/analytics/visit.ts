import type { Settings } from '../options.ts'
import type { AppWorld } from '../world.ts'
import type { Insights } from './insights.ts'
import type { Query } from './query.ts'
import type { Asked } from './ranges.ts'

/** A request that has passed authentication and the limits of its plan. */
export interface AnalyticsContext {
  readonly settings: Settings
  /** Its ID. */
  readonly app: string
  readonly world: AppWorld
  readonly insights: Insights
  readonly query: Query
  readonly asked: Asked
  /** What time it is in the world, Unix milliseconds. */
  readonly time: number
  /** Until when everything has happened; earlier than `time` while the world stands still. */
  readonly now: number
  /** Until when the aggregated values know of what happened: the delay of the plan ago. */
  readonly known: number
  /** Until when they are counted by now: that goes on while the world stands still. */
  readonly counted: number
}

/** Unix milliseconds as whole Unix seconds. */
export function inSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1_000)
}

import type { AppConfig, Config } from '../../config/config.ts'
import { FIRST_LEAD } from '../../engine/ranges/window-following.ts'
import { LOOK_EVERY_MS } from '../../engine/ranges/window-source.ts'
import { floorTo, type Range } from '../../planning/ranges.ts'
import type { RangeLimits } from '../../planning/windows.ts'
import { spacingOf } from '../../provider/limits.ts'
import { appSettings } from '../app-settings.ts'
import { counterScope } from '../wiring/counters.ts'

/** How a range is cut; all in seconds. */
export interface Cut extends Pick<RangeLimits, 'availableData' | 'dataDelay'> {
  /** What one value stands for: the range begins with a whole one. 1 where items have any time. */
  readonly step: number
  /** The first multiple of the step, Unix seconds, that is still served when the daemon comes to ask for it. */
  readonly earliest: number
}

/** What of a range can be had, and what cannot; all in Unix seconds. */
export interface CutRange {
  /** What can be had; undefined when that is nothing. */
  readonly range: Range | undefined
  readonly outside: readonly Outside[]
}

export interface Outside {
  readonly range: Range
  readonly why: 'gone' | 'leaving' | 'too young'
}

/** Cuts a range to what the provider serves at `now` and goes on serving until it is asked for. */
export function cutToAvailable(
  { from, to }: Range,
  { availableData, dataDelay, step, earliest }: Cut,
  now: number,
): CutRange {
  const [lowerBound, upperBound] = [now - availableData + 1, now - dataDelay]
  const begin = Math.max(floorTo(from, step), earliest)
  const served = { from: begin, to: Math.min(to, upperBound) }
  const outside: readonly Outside[] = [
    { why: 'gone', range: { from, to: Math.min(to, lowerBound) } },
    { why: 'leaving', range: { from: Math.max(from, lowerBound), to: Math.min(to, begin, upperBound) } },
    { why: 'too young', range: { from: Math.max(from, upperBound), to } },
  ]
  return {
    range: isEmpty(served) ? undefined : served,
    outside: outside.filter(({ range }) => !isEmpty(range)),
  }
}

function isEmpty({ from, to }: Range): boolean {
  return from >= to
}

/**
 * Seconds from a mark until the daemon has certainly asked for what the mark begins with: it looks for marks now and
 * then, and what expires first is asked for first, a question for each series of all apps that share the budget,
 * as slowly as the budget lasts.
 */
export function leadOf(config: Config, app: AppConfig, group: string): number {
  const scope = counterScope(config, app, 'analytics')
  const sharing = config.apps.filter(each => counterScope(config, each, 'analytics') === scope)
  const series = sharing.reduce((sum, each) => sum + seriesIn(config, each, group), 0)
  const { rates } = appSettings(config, app).limits[group]!
  return Math.ceil(LOOK_EVERY_MS / 1_000 + FIRST_LEAD + Math.max(1, series) * spacingOf(rates))
}

function seriesIn(config: Config, app: AppConfig, group: string): number {
  const { windows } = appSettings(config, app)
  return Object.values(config.streams)
    .filter(({ operation }) => operation.limitGroup === group)
    .reduce((sum, { name }) => sum + (windows[name]?.series.length ?? 0), 0)
}

import { ceilTo, floorTo } from './align.ts'
import type { Frame } from './coverage.ts'
import type { Range, Ranges } from './range.ts'
import { between } from './ranges.ts'

/** Strict bounds of a question about a range of time, in seconds. */
export interface RangeRules {
  /** The start as sent must be later than the provider's now less this. */
  readonly availableData: number
  /** End less start, as sent, must be below this. */
  readonly timeFrame: number
  /** The end as sent must be earlier than the provider's now less this. */
  readonly dataDelay: number
}

/** How the windows of a series are cut; all in seconds. */
export interface WindowRules extends RangeRules {
  /** What one value stands for; windows begin and end at multiples of it. 1 where items have any time. */
  readonly step: number
  /** `needed`: only what is owed; `full`: as much as one request may ask, where more costs nothing. */
  readonly frame: 'needed' | 'full'
  /** How long after its end a range may still change. */
  readonly allowedLateness: number
  /**
   * Kept from the strict bounds when a window is planned: for the error of the estimated clock and, at the start,
   * for the time between planning and arrival.
   */
  readonly margin: { readonly start: number; readonly end: number }
}

/** Start and end of a request as they are sent, Unix seconds. */
export interface WindowBounds {
  readonly start: number
  readonly end: number
}

/** Below this step a question names its end; from here on it names the beginning of its last value. */
const BUCKETS_FROM = 60

/** What can be asked for at `now` (the provider's, Unix seconds), margins kept and aligned to the step. */
export function frameOf({ availableData, dataDelay, step, margin }: WindowRules, now: number): Frame {
  const upperBound = Math.floor(now - availableData + margin.start) + 1
  const lowerBound = Math.ceil(now - dataDelay - margin.end) - 1
  return { upperBound: ceilTo(upperBound, step), lowerBound: floorTo(lowerBound, step) }
}

/** Seconds that one window may own: a multiple of the step; 0 when the span allows not even one. */
export function longestWindow({ timeFrame, step }: Pick<WindowRules, 'timeFrame' | 'step'>): number {
  return Math.max(0, ceilTo(timeFrame + lastValue(step), step) - step)
}

/** A range as it is sent: a question for values of a minute and more names the beginning of the last one. */
export function boundsOf({ step }: Pick<WindowRules, 'step'>, { from, to }: Range): WindowBounds {
  return { start: from, end: to - lastValue(step) }
}

/** Whether the provider takes these bounds at `now`; no margin is kept. */
export function isAllowed(
  { availableData, timeFrame, dataDelay }: RangeRules,
  bounds: WindowBounds,
  now: number,
): boolean {
  const { start, end } = bounds
  return start <= end && start > now - availableData && end < now - dataDelay && end - start < timeFrame
}

/**
 * Whole seconds after `now` during which bounds that are allowed stay so: the start leaves the reach with time.
 * No margin is kept; a window just planned is good for at least its margin. Negative when it is too late.
 */
export function validFor(
  { availableData }: Pick<RangeRules, 'availableData'>,
  { start }: WindowBounds,
  now: number,
): number {
  return Math.ceil(start + availableData - now) - 1
}

/** When the first second of a range can no longer be planned, Unix seconds. */
export function expiryOf({ availableData, margin }: WindowRules, { from }: Range): number {
  return from + availableData - margin.start
}

/** What of a range is final when it was read at `readAt` (the provider's now, Unix seconds): values whole only. */
export function finalPart(rules: WindowRules, { from, to }: Range, readAt: number): Ranges {
  return between(from, Math.min(to, watermark(rules, readAt)))
}

/** What ends here or earlier is final when it is read at `now`. */
export function watermark({ dataDelay, allowedLateness, step }: WindowRules, now: number): number {
  return floorTo(Math.ceil(now - dataDelay - allowedLateness), step)
}

/** Two windows in the place of one that holds too much; undefined when it is a single step. */
export function halve({ from, to }: Range, step: number): readonly [Range, Range] | undefined {
  const middle = from + ceilTo((to - from) / 2, step)
  return middle < to
    ? [
        { from, to: middle },
        { from: middle, to },
      ]
    : undefined
}

function lastValue(step: number): number {
  return step >= BUCKETS_FROM ? step : 0
}

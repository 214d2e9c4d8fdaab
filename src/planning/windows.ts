import { type Coverage, type Frame, provisional, unread, unserved, unsettled } from './coverage.ts'
import { between, ceilTo, floorTo, intersect, type Range, type Ranges, subtract } from './ranges.ts'
import type { Purpose } from './shares.ts'

/** Strict bounds of a question about a range of time, in seconds. */
export interface RangeLimits {
  /** The start as sent must be later than the provider's now less this. */
  readonly availableData: number
  /** End less start, as sent, must be below this. */
  readonly timeFrame: number
  /** The end as sent must be earlier than the provider's now less this. */
  readonly dataDelay: number
}

/** How the windows of a series are cut; all in seconds. */
export interface WindowRules extends RangeLimits {
  /** What one value stands for; windows begin and end at multiples of it. 1 where items have any time. */
  readonly step: number
  /** `needed`: only the backlog; `full`: as much as one request may ask, where more costs nothing. */
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
export interface Bounds {
  readonly start: number
  readonly end: number
}

/** Below this step a question names its end; from here on it names the beginning of its last value. */
const BUCKETS_FROM = 60

/** What can be asked for at `now` (the provider's, Unix seconds), margins kept and aligned to the step. */
export function frameOf({ availableData, dataDelay, step, margin }: WindowRules, now: number): Frame {
  const lowerBound = Math.floor(now - availableData + margin.start) + 1
  const upperBound = Math.ceil(now - dataDelay - margin.end) - 1
  return { lowerBound: ceilTo(lowerBound, step), upperBound: floorTo(upperBound, step) }
}

/** Seconds that one window may own: a multiple of the step; 0 when the span allows not even one. */
export function longestWindow({ timeFrame, step }: Pick<WindowRules, 'timeFrame' | 'step'>): number {
  return Math.max(0, ceilTo(timeFrame + lastValue(step), step) - step)
}

/** A range as it is sent: a question for values of a minute and more names the beginning of the last one. */
export function boundsOf({ step }: Pick<WindowRules, 'step'>, { from, to }: Range): Bounds {
  return { start: from, end: to - lastValue(step) }
}

/** Whether the provider takes these bounds at `now`; no margin is kept. */
export function isAllowed(
  { availableData, timeFrame, dataDelay }: RangeLimits,
  bounds: Bounds,
  now: number,
): boolean {
  const { start, end } = bounds
  return start <= end && start > now - availableData && end < now - dataDelay && end - start < timeFrame
}

/**
 * Whole seconds after `now` during which bounds that are allowed stay so: the start expires with time.
 * No margin is kept; a window just planned is good for at least its margin. Negative when it is too late.
 */
export function validFor(
  { availableData }: Pick<RangeLimits, 'availableData'>,
  { start }: Bounds,
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
function watermark({ dataDelay, allowedLateness, step }: WindowRules, now: number): number {
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

/**
 * The next window of a series for a purpose, or undefined when it has no work now. Live is the newest; revisit was read
 * before and is final if it is read now, or lies behind what a newest window can span and may change still; backfill is
 * long past or wanted again; repair was not served when it was asked for. `now` is the provider's, Unix seconds;
 * `longest` (seconds) asks for less than the span allows, where a longer window was too much. Applied again and again
 * with what was read, the purposes leave nothing out that can be asked for.
 */
export function planWindow(
  rules: WindowRules,
  coverage: Coverage,
  now: number,
  purpose: Purpose,
  longest = Number.POSITIVE_INFINITY,
): Range | undefined {
  const frame = frameOf(rules, now)
  const limit = Math.min(longestWindow(rules), Math.max(rules.step, floorTo(longest, rules.step)))
  if (frame.lowerBound >= frame.upperBound || limit === 0) return undefined
  const newest = newestWindow(rules, coverage, frame, limit)
  const before = between(frame.lowerBound, newest?.from ?? frame.upperBound)
  const oldest = (targets: Ranges) => oldestWindow(rules, coverage, frame, { limit, targets })
  switch (purpose) {
    case 'live':
      return newest && isDue(rules, coverage, frame, newest, now) ? newest : undefined
    case 'revisit': {
      // A call that began where the newest window no longer reaches may have ended since.
      const reached = rules.frame === 'needed' ? frame.upperBound - limit : frame.lowerBound
      const told = between(frame.lowerBound, Math.max(watermark(rules, now), reached))
      return oldest(intersect(intersect(provisional(coverage, frame), told), before))
    }
    case 'backfill':
      return oldest(intersect(unread(coverage, frame), before))
    case 'repair':
      return oldest(intersect(unserved(coverage, frame), before))
  }
}

/** Where the newest data are: as much as a request takes, or the backlog without a break up to the upper bound. */
function newestWindow(
  rules: WindowRules,
  coverage: Coverage,
  frame: Frame,
  limit: number,
): Range | undefined {
  const { lowerBound, upperBound } = frame
  const givenUp = floorTo(lastGivenUp(coverage, frame)?.to ?? lowerBound, rules.step)
  const earliest = Math.max(lowerBound, upperBound - limit, givenUp)
  if (rules.frame === 'full') return earliest < upperBound ? { from: earliest, to: upperBound } : undefined
  const tail = unsettled(coverage, frame).at(-1)
  if (tail?.to !== upperBound) return undefined
  return { from: Math.max(floorTo(tail.from, rules.step), upperBound - limit), to: upperBound }
}

/** What was given up may be what cannot be read: no window spans it, or what is beside it could not be read either. */
function lastGivenUp({ lost }: Coverage, { upperBound }: Frame): Range | undefined {
  return lost.findLast(({ to }) => to <= upperBound)
}

/** Something in it is unread; or its first value leaves it with the next new one, and is final if it is read now. */
function isDue(rules: WindowRules, coverage: Coverage, frame: Frame, newest: Range, now: number): boolean {
  if (intersect(unread(coverage, frame), [newest]).length > 0) return true
  if (rules.frame === 'needed') return false
  const leaving = between(newest.from, Math.min(newest.from + rules.step, watermark(rules, now)))
  return intersect(provisional(coverage, frame), leaving).length > 0
}

/** From the first second of `targets` on: the longest window, or one that ends with the last target within it. */
function oldestWindow(
  rules: WindowRules,
  { lost }: Coverage,
  frame: Frame,
  { limit, targets }: { readonly limit: number; readonly targets: Ranges },
): Range | undefined {
  const first = targets[0]
  if (first === undefined) return undefined
  const from = floorTo(first.from, rules.step)
  const givenUp = lost.map(range => ceilTo(range.from, rules.step)).find(at => at > from)
  const end = Math.min(from + limit, givenUp ?? frame.upperBound, frame.upperBound)
  if (rules.frame === 'full') return { from, to: end }
  const last = subtract(targets, between(end, frame.upperBound)).at(-1)!
  return { from, to: ceilTo(last.to, rules.step) }
}

/**
 * A call from `from` to `to` (Unix seconds, both included) in as few questions as the span allows: each is shorter
 * than it, and begins in the second in which the one before ends, so that nothing is left out whether or not a
 * provider counts the end in. They lie on a grid from the start of the call, so a call that has grown keeps its
 * first slices. A call that ends before it starts is asked for at its first second.
 */
export function slices({ from, to }: Range, timeFrame: number): readonly Range[] {
  const length = sliceLength(timeFrame)
  const count = Math.max(1, Math.ceil((to - from) / length))
  return Array.from({ length: count }, (_, i) => ({
    from: from + i * length,
    to: Math.max(from, Math.min(from + (i + 1) * length, to)),
  }))
}

/**
 * Slices of a call that goes on which may be asked for at `now` (the provider's, Unix seconds) and should be: they
 * are over and older than the delay, and their start has spent `share` (0 to 1) of the available data.
 */
export function closedSlices(
  start: number,
  rules: RangeLimits,
  now: number,
  share: number,
): readonly Range[] {
  const { availableData, timeFrame, dataDelay } = rules
  const length = sliceLength(timeFrame)
  const ended = Math.ceil((now - dataDelay - start) / length) - 1
  const ageing = Math.floor((now - share * availableData - start) / length) + 1
  const count = Math.max(0, Math.min(ended, ageing))
  return Array.from({ length: count }, (_, i) => ({
    from: start + i * length,
    to: start + (i + 1) * length,
  }))
}

/** The longest that is strictly below the span, in whole seconds; at least one. */
function sliceLength(timeFrame: number): number {
  return Math.max(1, Math.ceil(timeFrame) - 1)
}

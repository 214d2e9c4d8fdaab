import type { Clock } from '../clock/clock.ts'
import { ceilTo } from '../planning/align.ts'
import type { WindowRules } from '../planning/windows.ts'
import type { FailureKind } from '../provider/errors.ts'
import type { RangeLimits } from '../provider/limits.ts'
import type { Bounds } from '../streams/stream.ts'
import type { ClockOffset, ItemBounds } from './ports.ts'

/** How the windows of a series are cut; the bounds of the plan come to it. */
export type WindowCut = Pick<WindowRules, 'step' | 'frame' | 'finalAfter'>

/** The strict bounds that a limit group sets to questions about ranges of time, by the provider's own clock. */
export interface RangeRules {
  /** The provider's clock as far as it is known, Unix seconds. */
  readonly now: () => number
  readonly of: (cut: WindowCut) => WindowRules
  /** Longest range of one request, seconds: end less start must be below it. */
  readonly span: () => number
  /** What must be left of a plan's time when it is sent, seconds: the clock may be wrong, and the way is long. */
  readonly slack: () => number
  /** What begins before this multiple of `step`, Unix seconds, can certainly not be asked for any more. */
  readonly gone: (step: number) => number
  /** What may be asked for now, Unix seconds: both bounds strict, margins kept. */
  readonly bounds: () => ItemBounds
  /** The provider refused a question that should have been allowed: from now on less is asked for. */
  readonly tighten: (kind: FailureKind, bounds: Bounds) => void
}

/**
 * Seconds that a question keeps away from its bounds. A request may be long on its way, which moves the earliest
 * start; the provider's clock is told to the second.
 */
const startMargin = 15
const endMargin = 3
const wayMargin = 5

/** Of a clock that is told to the second, ms: the margins above allow for it. */
const allowedDoubt = 1_000

/** Before the provider has told the time, or where its answers are at odds, its clock may be this far off, seconds. */
const unknownClock = 120

/** What one refusal moves a bound by, seconds, and how far refusals can move it. */
const endStep = 10
const longestEnd = 900
const startShare = 0.02
const shortestSpan = 60

export function createRangeRules(
  limits: RangeLimits,
  clock: Clock,
  clockOffset: () => ClockOffset | undefined,
): RangeRules {
  let { span } = limits
  const tightened = { start: 0, end: 0 }
  const now = () => Math.floor((clock.now() + (clockOffset()?.ahead ?? 0)) / 1_000)

  /** By how many seconds more the provider's clock may be wrong than the margins allow for. */
  const unsure = () => {
    const known = clockOffset()
    if (!known) return unknownClock
    return Math.min(unknownClock, Math.max(0, Math.ceil((known.doubt - allowedDoubt) / 1_000)))
  }

  function margin(): WindowRules['margin'] {
    const start = startMargin + tightened.start + unsure()
    return { start, end: endMargin + tightened.end + unsure() }
  }

  return {
    now,
    of: cut => ({ reach: limits.reach, span, delay: limits.delay, ...cut, margin: margin() }),
    span: () => span,
    slack: () => unsure() + wayMargin,
    gone: step => ceilTo(now() - limits.reach - unsure(), step),
    bounds: () => {
      const { start, end } = margin()
      return { after: now() - limits.reach + start, before: now() - limits.delay - end }
    },
    tighten: (kind, { start, end }) => {
      if (kind === 'latency_limit') tightened.end = Math.min(longestEnd, tightened.end + endStep)
      if (kind === 'time_range_limit') {
        tightened.start = Math.min(limits.reach / 2, tightened.start + limits.reach * startShare)
      }
      if (kind === 'time_length_limit')
        span = Math.max(shortestSpan, Math.min(span, Math.ceil((end - start) / 2)))
    },
  }
}

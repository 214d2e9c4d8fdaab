import type { Clock } from '../../clock/clock.ts'
import { ceilTo } from '../../planning/ranges.ts'
import type { Bounds, RangeLimits, WindowRules } from '../../planning/windows.ts'
import type { ClockOffset, ItemBounds } from '../ports.ts'
import { createLearnedBounds, type Distances, type Told } from './learned-bounds.ts'

/** How the windows of a series are cut; the bounds of the plan come to it. */
type WindowCut = Pick<WindowRules, 'step' | 'frame' | 'allowedLateness'>

/** The strict bounds that a limit group sets to questions about ranges of time, by the provider's own clock. */
export type RangeRules = ReturnType<typeof createRangeRules>

/**
 * Seconds that a question keeps away from its bounds. A request may be long on its way, which moves the earliest
 * start; the provider's clock is told to the second.
 */
const startMargin = 15
const endMargin = 3
const wayMargin = 5

/** Of a clock that is told to the second, ms: the margins above allow for it. */
const allowedDoubt = 1_000

/**
 * Before the provider has told the time, or where its answers are at odds, its clock may be this far off, seconds. At the
 * start that costs what is oldest for good; at the end it costs nothing that cannot be had a little later, so that there
 * more is allowed for, up to a share of what is available, until a question was served.
 */
const unknownClock = { start: 120, end: 900, shareOfEnd: 0.25 }

/**
 * Where nothing says that answers tell the time: a question about a range that was served tells that the clock is not far
 * off. A service has one clock, so its limit groups share this.
 */
interface ClockProof {
  wasServed: boolean
}

export function createRangeRules(
  limits: RangeLimits,
  clock: Clock,
  clockOffset: () => ClockOffset | undefined,
  proof: ClockProof = { wasServed: false },
) {
  const learned = createLearnedBounds(limits, clock)
  /** The provider's clock as far as it is known, Unix seconds. */
  const now = () => Math.floor((clock.now() + (clockOffset()?.ahead ?? 0)) / 1_000)

  /** By how many seconds more the provider's clock may be wrong than the margins allow for. */
  const unsure = (most = unknownClock.start) => {
    const known = clockOffset()
    return known ? Math.min(most, Math.max(0, Math.ceil((known.doubt - allowedDoubt) / 1_000))) : most
  }
  const unsureEnd = () => unsure(doubtAtEnd(limits, proof.wasServed))

  function margin(atEnd = unsureEnd()): WindowRules['margin'] {
    const { start, end } = learned.kept()
    return { start: startMargin + start + unsure(), end: endMargin + end + atEnd }
  }

  const rulesOf = (cut: WindowCut, atEnd?: number): WindowRules => ({
    availableData: limits.availableData,
    timeFrame: limits.timeFrame - learned.kept().timeFrame,
    dataDelay: limits.dataDelay,
    ...cut,
    margin: margin(atEnd),
  })

  /** How far a question stays away from each bound as it is documented. */
  function distances({ start, end }: Bounds): Distances {
    return {
      start: start - (now() - limits.availableData),
      end: now() - limits.dataDelay - end,
      timeFrame: limits.timeFrame - (end - start),
    }
  }

  /**
   * A question is about to be sent. Undefined where it goes beyond a bound that a refusal has tightened and whose probe
   * is not due: then it must be planned anew.
   */
  function begin(bounds: Bounds) {
    const question = learned.begin(distances(bounds))
    if (!question) return undefined
    return {
      /** While it waits: whether others were refused where it would ask, so that it must be planned anew. */
      isOutdated: () => question.isOutdated(distances(bounds)),
      /**
       * Waits for its end. Where the provider refused a range that should have been allowed, less is asked for from now
       * on; the documented bound is tried again later.
       */
      of: async <T>(work: Promise<T>, told: (result: T) => Told): Promise<T> => {
        let outcome: Told = 'unknown'
        try {
          const result = await work
          outcome = told(result)
          return result
        } finally {
          proof.wasServed ||= outcome === 'served'
          question.end(outcome)
        }
      },
    }
  }

  return {
    now,
    of: (cut: WindowCut): WindowRules => rulesOf(cut),
    /** What they would be if our own clock were the provider's; undefined once an answer has told anything of that. */
    onceTold: (cut: WindowCut): WindowRules | undefined =>
      clockOffset() || proof.wasServed ? undefined : rulesOf(cut, 0),
    /** Longest range of one request, seconds: end less start must be below it. */
    timeFrame: () => limits.timeFrame - learned.kept().timeFrame,
    /** What must be left of a plan's time when it is sent, seconds: the clock may be wrong, and the way is long. */
    slack: () => unsure() + wayMargin,
    /**
     * What begins before this multiple of `step`, Unix seconds, can certainly not be asked for any more; nothing as long as
     * our own clock alone says so.
     */
    gone: (step: number) => {
      const isTold = clockOffset() !== undefined || proof.wasServed
      const beyond = isTold ? Math.ceil((clockOffset()?.beyond ?? 0) / 1_000) : Number.POSITIVE_INFINITY
      return ceilTo(now() - limits.availableData - unsure() - beyond, step)
    },
    /** What may be asked for now, Unix seconds: both bounds strict, margins kept. */
    bounds: (): ItemBounds => {
      const { start, end } = margin()
      return { after: now() - limits.availableData + start, before: now() - limits.dataDelay - end }
    },
    begin,
  }
}

/** For how much a question about what is newest allows where the time is not known, seconds. */
function doubtAtEnd({ availableData, dataDelay }: RangeLimits, wasServed: boolean): number {
  const { start, end, shareOfEnd } = unknownClock
  return Math.min(wasServed ? start : end, Math.max(0, Math.floor((availableData - dataDelay) * shareOfEnd)))
}

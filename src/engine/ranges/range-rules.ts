import type { Clock } from '../../clock/clock.ts'
import { ceilTo } from '../../planning/ranges.ts'
import type { Bounds, RangeLimits, WindowRules } from '../../planning/windows.ts'
import type { FailureKind } from '../../provider/errors.ts'
import type { ClockOffset, ItemBounds } from '../ports.ts'

/** How the windows of a series are cut; the bounds of the plan come to it. */
type WindowCut = Pick<WindowRules, 'step' | 'frame' | 'allowedLateness'>

/** The strict bounds that a limit group sets to questions about ranges of time, by the provider's own clock. */
export interface RangeRules {
  /** The provider's clock as far as it is known, Unix seconds. */
  readonly now: () => number
  readonly of: (cut: WindowCut) => WindowRules
  /** Longest range of one request, seconds: end less start must be below it. */
  readonly timeFrame: () => number
  /** What must be left of a plan's time when it is sent, seconds: the clock may be wrong, and the way is long. */
  readonly slack: () => number
  /** What begins before this multiple of `step`, Unix seconds, can certainly not be asked for any more. */
  readonly gone: (step: number) => number
  /** What may be asked for now, Unix seconds: both bounds strict, margins kept. */
  readonly bounds: () => ItemBounds
  /**
   * A question is about to be sent. Undefined where it goes beyond a bound that a refusal has tightened and whose probe
   * is not due: then it must be planned anew.
   */
  readonly begin: (bounds: Bounds) => Attempt | undefined
}

/** What became of a question, as far as it tells of the bounds. */
export type Told = 'served' | 'unknown' | FailureKind

/** A question on its way. */
export interface Attempt {
  /**
   * Waits for its end. Where the provider refused a range that should have been allowed, less is asked for from now
   * on; the documented bound is tried again later.
   */
  readonly of: <T>(work: Promise<T>, told: (result: T) => Told) => Promise<T>
}

type Bound = 'start' | 'end' | 'timeFrame'
const boundNames: readonly Bound[] = ['start', 'end', 'timeFrame']
const boundOf: Readonly<Partial<Record<FailureKind, Bound>>> = {
  time_range_limit: 'start',
  latency_limit: 'end',
  time_length_limit: 'timeFrame',
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

/**
 * Before the provider has told the time, or where its answers are at odds, its clock may be this far off, seconds. At the
 * start that costs what is oldest for good; at the end it costs nothing that cannot be had a little later, so that there
 * more is allowed for, up to a share of what is available, until a question was served.
 */
const unknownClock = { start: 120, end: 900, shareOfEnd: 0.25 }

/** What the first refusal moves a bound by, seconds, each next one twice as far, and how far they can move it. */
const endStep = 10
const longestEnd = 900
const startShare = 0.02
const shortestSpan = 60

type Distances = Readonly<Record<Bound, number>>

export function createRangeRules(
  limits: RangeLimits,
  clock: Clock,
  clockOffset: () => ClockOffset | undefined,
): RangeRules {
  /** By what refusals moved each bound away from where it is documented, seconds. */
  const away = { start: 0, end: 0, timeFrame: 0 }
  /** The least that was refused since it stood where it is documented, as a distance from there. */
  const refusedAt = { start: -1, end: -1, timeFrame: -1 }
  const step: Distances = { start: limits.availableData * startShare, end: endStep, timeFrame: 0 }
  const farthest: Distances = {
    ...{
      start: limits.availableData / 2,
      end: longestEnd,
      timeFrame: Math.max(0, limits.timeFrame - shortestSpan),
    },
  }
  const probes = { start: createProbe(clock), end: createProbe(clock), timeFrame: createProbe(clock) }
  const now = () => Math.floor((clock.now() + (clockOffset()?.ahead ?? 0)) / 1_000)

  /** By how many seconds more the provider's clock may be wrong than the margins allow for. */
  const unsure = (most = unknownClock.start) => {
    const known = clockOffset()
    return known ? Math.min(most, Math.max(0, Math.ceil((known.doubt - allowedDoubt) / 1_000))) : most
  }
  /** Nothing says that answers tell the time: one that was served tells that the clock is not far off. */
  let wasServed = false
  const unsureEnd = () => unsure(doubtAtEnd(limits, wasServed))

  const isTight = (bound: Bound) => away[bound] > 0

  /** How far the bounds are kept away now: one whose probe is due stands where it is documented. */
  function kept(): Distances {
    const tried = boundNames.find(bound => isTight(bound) && probes[bound].isDue())
    return tried ? { ...away, [tried]: 0 } : away
  }

  function margin(): WindowRules['margin'] {
    const { start, end } = kept()
    return { start: startMargin + start + unsure(), end: endMargin + end + unsureEnd() }
  }

  /** How far a question stays away from each bound as it is documented. */
  function distances({ start, end }: Bounds): Distances {
    return {
      start: start - (now() - limits.availableData),
      end: now() - limits.dataDelay - end,
      timeFrame: limits.timeFrame - (end - start),
    }
  }

  /** Which of the tightened bounds a question goes beyond. */
  function beyond(asked: Distances): readonly Bound[] {
    return boundNames.filter(bound => isTight(bound) && asked[bound] <= away[bound])
  }

  /** What was refused is not asked for again. What was sent before it was known teaches nothing more. */
  function tighten(bound: Bound, asked: Distances): void {
    refusedAt[bound] = Math.max(refusedAt[bound], asked[bound])
    if (!isTight(bound) || asked[bound] > away[bound]) {
      const further =
        bound === 'timeFrame'
          ? limits.timeFrame - Math.ceil((limits.timeFrame - asked.timeFrame) / 2) - 1
          : Math.max(step[bound], 2 * away[bound], asked[bound])
      away[bound] = Math.min(farthest[bound], further)
    }
    probes[bound].plan()
  }

  /** A question beyond a tightened bound was served: the bound moves to where it is proved, or was never refused. */
  function loosen(bound: Bound, asked: Distances): void {
    const isProved = asked[bound] > refusedAt[bound] + step[bound]
    away[bound] = isProved ? Math.max(0, asked[bound] - 1) : 0
    if (!isProved) refusedAt[bound] = -1
    probes[bound].end(isProved ? 'nearer' : 'served')
  }

  function begin(bounds: Bounds): Attempt | undefined {
    const asked = distances(bounds)
    const [tried, ...others] = beyond(asked)
    if (others.length > 0 || (tried && !probes[tried].isDue())) return undefined
    if (tried) probes[tried].begin()
    return {
      of: async (work, told) => {
        let outcome: Told = 'unknown'
        try {
          const result = await work
          outcome = told(result)
          return result
        } finally {
          note(outcome, tried, asked)
        }
      },
    }
  }

  function note(told: Told, tried: Bound | undefined, asked: Distances): void {
    wasServed ||= told === 'served'
    const refused = told === 'served' || told === 'unknown' ? undefined : boundOf[told]
    if (refused && refused !== tried) tighten(refused, asked)
    if (!tried) return
    if (told === 'served') loosen(tried, asked)
    else probes[tried].end(refused === tried ? 'refused' : 'unknown')
    if (refused === tried) refusedAt[tried] = Math.max(refusedAt[tried], asked[tried])
  }

  return {
    now,
    of: cut => ({
      availableData: limits.availableData,
      timeFrame: limits.timeFrame - kept().timeFrame,
      dataDelay: limits.dataDelay,
      ...cut,
      margin: margin(),
    }),
    timeFrame: () => limits.timeFrame - kept().timeFrame,
    slack: () => unsure() + wayMargin,
    gone: step => ceilTo(now() - limits.availableData - unsure(), step),
    bounds: () => {
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

const minute = 60_000
const FIRST_WAIT_MS = 10 * minute
const LONGEST_WAIT_MS = 24 * 60 * minute

/** When a bound that a refusal tightened is tried again as it is documented: by one request, after growing times. */
function createProbe(clock: Clock) {
  let wait = FIRST_WAIT_MS
  let at = Number.POSITIVE_INFINITY

  const plan = () => {
    at = clock.monotonic() + wait
  }

  return {
    /** The bound was tightened, once more perhaps: while what is within it is refused too, there is nothing to try. */
    plan,
    isDue: () => clock.monotonic() >= at,
    /** A request goes beyond the tightened bound: nothing else does until it is over. */
    begin: () => {
      at = Number.POSITIVE_INFINITY
    },
    /**
     * `served`: the documented bound holds; `nearer`: what was served comes nearer to it than what is known, and the next
     * may come nearer yet; `unknown`: the request ended without telling.
     */
    end: (outcome: 'served' | 'nearer' | 'refused' | 'unknown') => {
      if (outcome === 'refused') wait = Math.min(LONGEST_WAIT_MS, wait * 2)
      if (outcome === 'served') wait = FIRST_WAIT_MS
      else if (outcome === 'nearer') at = clock.monotonic()
      else plan()
    },
  }
}

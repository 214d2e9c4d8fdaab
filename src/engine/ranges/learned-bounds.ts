import type { Clock } from '../../clock/clock.ts'
import type { RangeLimits } from '../../planning/windows.ts'
import type { FailureKind } from '../../provider/errors.ts'

/** What became of a question, as far as it tells of the bounds. */
export type Told = 'served' | 'unknown' | FailureKind

type Bound = 'start' | 'end' | 'timeFrame'
const boundNames: readonly Bound[] = ['start', 'end', 'timeFrame']
const boundOf: Readonly<Partial<Record<FailureKind, Bound>>> = {
  time_range_limit: 'start',
  latency_limit: 'end',
  time_length_limit: 'timeFrame',
}

/** How far a question stays away from each bound as it is documented, or is to, seconds. */
export type Distances = Readonly<Record<Bound, number>>

/**
 * What the first refusal moves a bound by, seconds, each next one twice as far, and how far they can move it: the plan may
 * be another one than is configured, with a fifth of its available data or twice its delay.
 */
const endStep = 10
const longestEnd = 900
const startShare = 0.02
const farthestStart = 0.95
const shortestSpan = 60

/** A question that is about to be sent, and waits for its turn. */
interface LearnedQuestion {
  /** Whether it goes beyond a bound that was tightened since it began; `now` is how far away it is by now. */
  readonly isOutdated: (now: Distances) => boolean
  /** What is told of its end. */
  readonly end: (told: Told) => void
}

/** What refusals have taught of the bounds of a limit group. */
export function createLearnedBounds(limits: RangeLimits, clock: Clock) {
  /** By what refusals moved each bound away from where it is documented, seconds. */
  const away = { start: 0, end: 0, timeFrame: 0 }
  /** The least that was refused since it stood where it is documented, as a distance from there. */
  const refusedAt = { start: -1, end: -1, timeFrame: -1 }
  const step: Distances = { start: limits.availableData * startShare, end: endStep, timeFrame: 0 }
  const farthest: Distances = {
    start: limits.availableData * farthestStart,
    end: Math.max(longestEnd, limits.dataDelay),
    timeFrame: Math.max(0, limits.timeFrame - shortestSpan),
  }
  const probes = { start: createProbe(clock), end: createProbe(clock), timeFrame: createProbe(clock) }
  const isTight = (bound: Bound) => away[bound] > 0
  /** Bounds near which nothing was served since they were moved, and those of them near which a question is on its way. */
  const [unproved, onTrial] = [new Set<Bound>(), new Set<Bound>()]
  /** Where the next refusal would move a bound. */
  const next = (bound: Bound) => Math.min(farthest[bound], Math.max(step[bound], 2 * away[bound]))

  /** What is not known: between the farthest that was refused and where the bound is kept, seconds. */
  const unknown = (bound: Bound) => away[bound] - Math.max(0, refusedAt[bound])
  const isWide = (bound: Bound) => bound !== 'timeFrame' && unknown(bound) > 2 * step[bound]

  /** Where a bound is tried: as it is documented, or halfway to what was refused. */
  function trial(bound: Bound): number {
    return probes[bound].isNear() && isWide(bound) ? Math.ceil(away[bound] - unknown(bound) / 2) : 0
  }

  /**
   * How far to stay away from each bound now: further where a question is on its way that may prove one that was moved. One
   * whose probe is due stands where it is tried.
   */
  function kept(): Distances {
    const tried = boundNames.find(bound => isTight(bound) && probes[bound].isDue())
    const further = [...onTrial].map(bound => [bound, next(bound)] as const)
    return { ...away, ...Object.fromEntries(further), ...(tried && { [tried]: trial(tried) }) }
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
          : Math.max(next(bound), asked[bound])
      away[bound] = Math.min(farthest[bound], further)
      // Parts of what is too long are no questions that wait beside each other.
      if (bound !== 'timeFrame') unproved.add(bound)
    }
    probes[bound].plan()
  }

  /** A question beyond a tightened bound was served: the bound moves to where it is proved, or was never refused. */
  function loosen(bound: Bound, asked: Distances): void {
    const isProved = asked[bound] > refusedAt[bound] + step[bound]
    away[bound] = isProved ? Math.max(0, asked[bound] - 1) : 0
    unproved.delete(bound)
    if (!isProved) refusedAt[bound] = -1
    probes[bound].end(isProved ? 'nearer' : 'served')
    if (isProved && bound !== 'timeFrame' && !isWide(bound)) probes[bound].plan()
  }

  /**
   * A question so far away from its bounds is about to be sent. Undefined where it goes beyond a bound that a refusal has
   * tightened and whose probe is not due: then it must be planned anew.
   */
  function begin(asked: Distances): LearnedQuestion | undefined {
    const [tried, ...others] = beyond(asked)
    if (others.length > 0 || (tried && (!probes[tried].isDue() || asked[tried] <= trial(tried))))
      return undefined
    // Whoever asks behind it would be refused as it is.
    const proving = [...unproved].filter(bound => bound !== tried && asked[bound] <= next(bound))
    if (proving.some(bound => onTrial.has(bound))) return undefined
    if (tried) probes[tried].begin()
    for (const bound of proving) onTrial.add(bound)
    return {
      isOutdated: now => beyond(now).some(bound => bound !== tried),
      end: told => {
        for (const bound of proving) {
          onTrial.delete(bound)
          if (told === 'served') unproved.delete(bound)
        }
        note(told, tried, asked)
      },
    }
  }

  function note(told: Told, tried: Bound | undefined, asked: Distances): void {
    const refused = told === 'served' || told === 'unknown' ? undefined : boundOf[told]
    if (refused && refused !== tried) tighten(refused, asked)
    if (!tried) return
    if (told === 'served') {
      loosen(tried, asked)
    } else if (refused === tried) {
      refusedAt[tried] = Math.max(refusedAt[tried], asked[tried])
      probes[tried].end('refused', isWide(tried))
    } else {
      probes[tried].end('unknown')
    }
  }

  return { kept, begin }
}

const minute = 60_000
const FIRST_WAIT_MS = 10 * minute
const LONGEST_WAIT_MS = 24 * 60 * minute

/**
 * When a bound that a refusal tightened is tried again, by one request: as it is documented, after growing times, and
 * after each time that this is refused once nearer, unless there is nothing to ask for there.
 */
function createProbe(clock: Clock) {
  let wait = FIRST_WAIT_MS
  let at = Number.POSITIVE_INFINITY
  let isNext: 'documented' | 'near' = 'documented'

  const plan = (after = wait) => {
    at = clock.monotonic() + after
  }

  return {
    /** The bound was tightened, once more perhaps: while what is within it is refused too, there is nothing to try. */
    plan: () => {
      plan()
    },
    isDue: () => clock.monotonic() >= at,
    isNear: () => isNext === 'near' && clock.monotonic() < at + FIRST_WAIT_MS,
    /** A request goes beyond the tightened bound: nothing else does until it is over. */
    begin: () => {
      at = Number.POSITIVE_INFINITY
    },
    /**
     * `served`: the documented bound holds; `nearer`: what was served comes nearer to it than what is known, and the next
     * may come nearer yet; `unknown`: the request ended without telling. `isWide`: there is something nearer to try.
     */
    end: (outcome: 'served' | 'nearer' | 'refused' | 'unknown', isWide = false) => {
      if (outcome === 'refused' && isNext === 'documented') wait = Math.min(LONGEST_WAIT_MS, wait * 2)
      if (outcome === 'refused') isNext = isWide && isNext === 'documented' ? 'near' : 'documented'
      if (outcome === 'served') [wait, isNext] = [FIRST_WAIT_MS, 'documented']
      else plan(outcome === 'nearer' ? 0 : Math.min(wait, isNext === 'near' ? FIRST_WAIT_MS : wait))
    },
  }
}

import type { Clock } from '../clock/clock.ts'
import type { ClockOffset } from '../engine/ports.ts'

/** A provider's clock as far as its answers tell. */
export type ServerClock = ReturnType<typeof createServerClock>

/** How many of the latest answers count. */
const MOST_SAMPLES = 31
/** The largest offset believed in, ms. */
const BOUND_MS = 3_600_000

/** Two answers in a row that agree within this, ms, and are as far from what was believed, tell of a jump. */
const JUMP_MS = 5_000

/** Two clocks that are both well may still drift apart by this much, ms for each ms. */
const DRIFT = 1e-4

/** The provider's time at the zero of our monotonic clock, ms since the epoch: not before `low`, not after `high`. */
interface Span {
  readonly low: number
  readonly high: number
}

interface Sample extends Span {
  /** When it was taken, monotonic ms. */
  readonly at: number
}

/**
 * Knows a provider's clock by its latest answers. Each was given some time between its request and its end, so it
 * bounds the provider's time on both sides; a slow answer, or one that a stopped process read late, bounds it loosely,
 * and says nothing wrong. What most answers agree on is believed, so that one that lies moves nothing, and never more
 * than an hour either way. It is measured against the monotonic clock, so a step of our own wall clock changes nothing
 * of what the provider's is believed to be.
 */
export function createServerClock(clock: Clock) {
  const begun = clock.now() - clock.monotonic()
  let samples: Sample[] = []
  let believed: Sample | undefined
  /** Samples have come that say nothing new; what they add is reckoned when someone asks. */
  let isBehind = false

  function believe(): void {
    const { at } = samples.at(-1)!
    const places = meetings(samples.map(each => widened(each, at)))
    const own = clock.now() - clock.monotonic()
    // Where answers are at odds the one that is nearest to our own clock is more likely to be right.
    const [nearest] = places.toSorted((a, b) => fromMiddle(a, own) - fromMiddle(b, own))
    believed = { ...nearest!, at }
    isBehind = false
  }

  return {
    /**
     * An answer says `answeredAt`, ms since the epoch; its request was sent at `from` and read to its end at `to`,
     * monotonic ms.
     */
    observe(answeredAt: number, from: number, to: number) {
      const taken = { low: answeredAt - to, high: answeredAt + resolutionOf(answeredAt) - from, at: to }
      if (believed && apart(taken, believed) === 0) {
        samples.push(taken)
        if (samples.length > MOST_SAMPLES) samples.shift()
        isBehind = true
        return
      }
      if (isBehind) believe()
      const last = samples.at(-1)
      const isFar = (one: Span) => believed !== undefined && apart(one, believed) > JUMP_MS
      // A suspended machine, or a provider that was set right: what was believed before is past.
      const jumped = last !== undefined && isFar(last) && isFar(taken) && apart(last, taken) <= JUMP_MS
      samples = jumped ? [last, taken] : [...samples, taken].slice(-MOST_SAMPLES)
      believe()
    },
    /** Undefined before the first answer. */
    offset(): ClockOffset | undefined {
      if (isBehind) believe()
      if (!believed) return undefined
      const at = clock.monotonic()
      const { low, high } = widened(believed, at)
      const told = (low + high) / 2 + at - clock.now()
      // Ours may have been set since: then what it would show by itself is as good a witness.
      const places = [0, begun + at - clock.now()].map(own => {
        return Math.min(own + BOUND_MS, Math.max(own - BOUND_MS, told))
      })
      const [ahead] = places.toSorted((a, b) => Math.abs(a - told) - Math.abs(b - told))
      const beyond = Math.abs(told - ahead!)
      return { ahead: ahead!, doubt: (high - low) / 2, ...(beyond > 0 && { beyond }) }
    },
  }
}

/** A time that is told in whole seconds may be up to a second old. */
function resolutionOf(told: number): number {
  return told % 1_000 === 0 ? 1_000 : 1
}

function widened({ low, high, at }: Sample, now: number): Span {
  const drift = Math.max(0, now - at) * DRIFT
  return { low: low - drift, high: high + drift }
}

function fromMiddle({ low, high }: Span, place: number): number {
  return Math.abs((low + high) / 2 - place)
}

/** How far two spans are apart; 0 where they touch. */
function apart(a: Span, b: Span): number {
  return Math.max(0, a.low - b.high, b.low - a.high)
}

/** Where most of the spans meet: one place, or several where they are at odds. */
function meetings(spans: readonly Span[]): readonly Span[] {
  const edges = spans
    .flatMap(({ low, high }) => [{ place: low, step: 1 } as const, { place: high, step: -1 } as const])
    .sort((a, b) => a.place - b.place || b.step - a.step)
  let depth = 0
  let deepest = 0
  let low = 0
  let found: Span[] = []
  for (const { place, step } of edges) {
    if (step === 1) {
      depth += 1
      low = place
      if (depth > deepest) found = []
      deepest = Math.max(deepest, depth)
    } else {
      if (depth === deepest) found.push({ low, high: place })
      depth -= 1
    }
  }
  return found
}

import { type Clock, type Random, within } from '../../clock/clock.ts'
import type { Failure } from '../../provider/errors.ts'
import { groupPause, incomprehensiblePause, isIncomprehensible, retryRules } from './retry-rules.ts'

/** Before a limit group, or a part of it: open, shut for a while, or ajar, when one request goes ahead to see. */
export type CircuitBreaker = ReturnType<typeof createCircuitBreaker>

/** What a request told: `tolerated` is a failure that may be chance so far, `stale` what was sent before the breaker fell. */
type Verdict = 'answered' | 'tolerated' | 'shut' | 'stale'

interface Permit {
  readonly kind: 'free' | 'probe'
  readonly leave: () => void
}

export const freePermit: Permit = { kind: 'free', leave: () => {} }

/** So many questions in a row with answers that nobody can read are not at fault themselves. */
const MANY = 8

/** Who goes ahead to see is waited for; so often, ms, it is looked whether that has ended. */
const LONGEST_LOOK_MS = 60_000

interface BreakerContext {
  readonly clock: Clock
  readonly random: Random
  /** The longest pause while the day is spent, ms. */
  readonly longestSpent?: () => number
}

export function createCircuitBreaker({ clock, random, longestSpent }: BreakerContext) {
  /** Failures since the last answer that was none, by the rule that meets them: an outage is no row of refusals. */
  const rows = new Map<unknown, number>()
  /** Questions whose answers nobody can read, since the last answer that could be read. */
  const unread = new Set<string>()
  let hasTripped = false
  /** On the monotonic clock, ms. */
  let pausedAt = Number.NEGATIVE_INFINITY
  let shutUntil = Number.NEGATIVE_INFINITY
  let heldUntil = Number.NEGATIVE_INFINITY
  let probe: Promise<void> | undefined

  function pausesFor(): number {
    return Math.max(shutUntil, heldUntil) - clock.monotonic()
  }

  function beginProbe(): Permit {
    const { promise, resolve } = Promise.withResolvers<void>()
    probe = promise
    const leave = () => {
      if (probe === promise) probe = undefined
      resolve()
    }
    return { kind: 'probe', leave }
  }

  function shut(pause: number): Verdict {
    hasTripped = true
    pausedAt = clock.monotonic()
    shutUntil = Math.max(shutUntil, pausedAt + pause)
    return 'shut'
  }

  /** How many it is now. */
  function count(rule: unknown): number {
    const row = (rows.get(rule) ?? 0) + 1
    rows.set(rule, row)
    return row
  }

  return {
    /** Resolves when the caller may go, or when the signal aborts. Whoever is let through must `leave`. */
    pass: async (signal: AbortSignal): Promise<Permit> => {
      while (!signal.aborted) {
        const left = pausesFor()
        if (left > 0) await clock.sleep(left, signal)
        else if (!hasTripped) break
        else if (probe) await within(clock, LONGEST_LOOK_MS, probe, undefined, signal)
        else return beginProbe()
      }
      return freePermit
    },
    /** Whether a caller who was let through earlier must go back and wait. */
    isShutFor: ({ kind }: Permit): boolean => pausesFor() > 0 || (hasTripped && kind !== 'probe'),
    /** What came of a request; `sentAt` on the monotonic clock, ms. `question`: whose answers are compared, if any are. */
    observe: (failure: Failure | undefined, sentAt: number, question?: string): Verdict => {
      // What was under way when the breaker fell tells nothing of how things are since.
      if (hasTripped && sentAt < pausedAt) return 'stale'
      if (question !== undefined && isIncomprehensible(failure)) {
        if (unread.size < MANY) unread.add(question)
      } else {
        unread.clear()
      }
      if (failure && unread.size >= MANY) {
        return shut(incomprehensiblePause(count(unread), random.next()))
      }
      if (!failure || retryRules[failure.kind].scope === 'series') {
        rows.clear()
        hasTripped = false
        return 'answered'
      }
      const row = count(retryRules[failure.kind])
      const pause = groupPause(failure, row, random.next(), longestSpent?.())
      return pause > 0 ? shut(pause) : 'tolerated'
    },
    /** In how many ms a request may go ahead to see; undefined while the breaker is open. */
    triesIn: (): number | undefined => (hasTripped ? Math.max(0, pausesFor()) : undefined),
    /** Nothing may go for `ms`, and nothing is wrong: a budget is used up. */
    hold: (ms: number) => {
      heldUntil = Math.max(heldUntil, clock.monotonic() + ms)
    },
    /** Whoever knows may say so anew. */
    release: () => {
      heldUntil = Number.NEGATIVE_INFINITY
    },
    /** For how long it was told so, from now, ms. */
    heldFor: (): number => Math.max(0, heldUntil - clock.monotonic()),
  }
}

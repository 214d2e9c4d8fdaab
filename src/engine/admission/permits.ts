import type { Clock, Random } from '../../clock/clock.ts'
import type { Failure, FailureKind } from '../../provider/errors.ts'
import type { GroupLimit } from '../settings.ts'
import { type BudgetTime, createBudgetTime } from './budget-time.ts'
import { type CircuitBreaker, createCircuitBreaker, freePermit } from './circuit-breaker.ts'
import { isIncomprehensible, longestSpent, retryRules } from './retry-rules.ts'

/** Of these nothing came from the provider itself: the request may still be on its way to it. */
export const unanswered: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'network',
  'timeout',
  'gateway_timeout',
])

/** These turn away one app, whatever the others that share its credential are told. */
const personal: ReadonlySet<FailureKind> = new Set<FailureKind>(['unauthorized', 'forbidden', 'no_access'])

interface BreakerContext {
  readonly clock: Clock
  readonly random: Random
}

/** A group is remembered for so many of its longest windows, and so long, ms, after it was asked for last. */
const KEPT_WINDOWS = 2
const LEAST_KEPT_MS = 2 * 3_600_000

/** What is remembered of one limit group in this process. */
export interface Group {
  readonly breaker: CircuitBreaker
  /** By app: what shuts one app out does not shut out the others that share its budget. */
  readonly apps: Map<string, CircuitBreaker>
  /** Each group has its own, since the database's clock may jump between the debits of one and of another. */
  readonly time: BudgetTime
  /** The longest pause while its day is spent, ms: that of the app which needs the shortest one. */
  longestSpent: number
  /** Next free moment of the pace, on the monotonic clock, ms. */
  nextSlot: number
  /** The number of the last debit, and when it was answered, on the monotonic clock, ms. */
  lastDebit: LastDebit
  /** Until when it is remembered though nobody asks, on the monotonic clock, ms. */
  keptUntil: number
}

interface LastDebit {
  readonly n: number
  readonly at: number
}

/** What is remembered of all limit groups, by their keys, as long as it may matter. */
export class LimitGroups {
  readonly #context: BreakerContext
  readonly #groups = new Map<string, Group>()
  /** When groups that nobody asks for were forgotten last, on the monotonic clock, ms. */
  #tidiedAt = Number.NEGATIVE_INFINITY

  constructor(context: BreakerContext) {
    this.#context = context
  }

  /** What is remembered under a key, from now on for its time. */
  of(key: string, limit: Pick<GroupLimit, 'range' | 'rates'>): Group {
    const { clock, random } = this.#context
    const now = clock.monotonic()
    this.#tidy(now)
    const window = Math.max(0, ...limit.rates.map(rate => rate.window)) * 1_000
    const keptUntil = now + Math.max(LEAST_KEPT_MS, KEPT_WINDOWS * window)
    const known = this.#groups.get(key)
    if (known) {
      known.longestSpent = Math.min(known.longestSpent, longestSpent(limit))
      known.keptUntil = keptUntil
      return known
    }
    const made: Group = {
      breaker: createCircuitBreaker({ clock, random, longestSpent: () => made.longestSpent }),
      apps: new Map(),
      time: createBudgetTime(clock),
      longestSpent: longestSpent(limit),
      nextSlot: Number.NEGATIVE_INFINITY,
      lastDebit: { n: 0, at: Number.NEGATIVE_INFINITY },
      keptUntil,
    }
    this.#groups.set(key, made)
    return made
  }

  /** Each channel whose players are listed may have a group of its own. What is shut is remembered as long as it is. */
  #tidy(now: number): void {
    if (now - this.#tidiedAt < LEAST_KEPT_MS / 4) return
    this.#tidiedAt = now
    for (const [key, { breaker, apps, keptUntil }] of this.#groups) {
      const isShut = [breaker, ...apps.values()].some(each => each.triesIn() !== undefined)
      if (keptUntil < now && !isShut && breaker.heldFor() === 0) this.#groups.delete(key)
    }
  }

  breakerOf({ apps }: Group, app: string): CircuitBreaker {
    const breaker = apps.get(app) ?? createCircuitBreaker(this.#context)
    apps.set(app, breaker)
    return breaker
  }

  /** For how long nothing of a group may go because a budget is used up, ms. */
  heldFor(key: string): number {
    return this.#groups.get(key)?.breaker.heldFor() ?? 0
  }

  /** What the app was refused for is past, and so is what was said of budgets that are used up: the ledger says by which limits. */
  forget(app: string): void {
    for (const { apps, breaker } of this.#groups.values()) {
      apps.delete(app)
      breaker.release()
    }
  }
}

/** Before one operation of an app. */
interface Door {
  /** Undefined while it does not fail. */
  readonly breaker: () => CircuitBreaker | undefined
  readonly failed: (failure: Failure, sentAt: number) => void
  readonly answered: (sentAt: number) => void
}

export type OperationBreakers = ReturnType<typeof createOperationBreakers>

/**
 * Of operations of an app that fail while others of their limit group are answered: these keep the group's breaker open, also
 * those of another app that shares its credential. Few fail at any time, and there are many apps, so that each has a breaker
 * only as long as it fails.
 */
export function createOperationBreakers(context: BreakerContext) {
  const breakers = new Map<string, CircuitBreaker>()
  return {
    of: (key: string): Door => ({
      breaker: () => breakers.get(key),
      failed: (failure, sentAt) => {
        const breaker = breakers.get(key) ?? createCircuitBreaker(context)
        breakers.set(key, breaker)
        breaker.observe(failure, sentAt)
      },
      answered: sentAt => {
        if (breakers.get(key)?.observe(undefined, sentAt) === 'answered') breakers.delete(key)
      },
    }),
    /** Those whose keys begin so. */
    forget: (begin: string) => {
      for (const key of breakers.keys()) if (key.startsWith(begin)) breakers.delete(key)
    },
  }
}

/** Leave to go through the doors of the operation and of the app, and through the breaker of the whole group. */
export type Permits = Awaited<ReturnType<typeof pass>>

export async function pass(
  breaker: CircuitBreaker,
  appBreaker: CircuitBreaker,
  door: Door,
  signal: AbortSignal,
) {
  const own = (await door.breaker()?.pass(signal)) ?? freePermit
  const inner = await appBreaker.pass(signal)
  const outer = await breaker.pass(signal)
  return {
    areShut: (): boolean =>
      door.breaker()?.isShutFor(own) || appBreaker.isShutFor(inner) || breaker.isShutFor(outer),
    /** `question` tells the questions of an app apart. */
    observe: (failure: Failure | undefined, sentAt: number, question: string | undefined) => {
      const isPersonal = failure !== undefined && personal.has(failure.kind)
      const isSilent = failure !== undefined && unanswered.has(failure.kind)
      // An answer that never came tells nothing of those that cannot be read.
      if (!isSilent)
        appBreaker.observe(isPersonal || isIncomprehensible(failure) ? failure : undefined, sentAt, question)
      if (isPersonal) return
      const verdict = breaker.observe(failure, sentAt)
      // What shuts the whole group, as an outage does, is not blamed on one operation.
      if (failure && verdict === 'tolerated') door.failed(failure, sentAt)
      else if (!failure || retryRules[failure.kind].scope === 'series') door.answered(sentAt)
    },
    leave: () => {
      own.leave()
      inner.leave()
      outer.leave()
    },
  }
}

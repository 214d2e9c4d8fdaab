import type { Clock, Random } from '../../clock/clock.ts'
import type { Failure, FailureKind } from '../../provider/errors.ts'
import { type CircuitBreaker, createCircuitBreaker, freePermit } from './circuit-breaker.ts'
import { isIncomprehensible, retryRules } from './retry-rules.ts'

/** Of these nothing came from the provider itself: the request may still be on its way to it. */
export const unanswered: ReadonlySet<FailureKind> = new Set<FailureKind>([
  'network',
  'timeout',
  'gateway_timeout',
])

/** These turn away one app, whatever the others that share its credential are told. */
const personal: ReadonlySet<FailureKind> = new Set<FailureKind>(['unauthorized', 'forbidden', 'no_access'])

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
export function createOperationBreakers(context: { readonly clock: Clock; readonly random: Random }) {
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

import type { Clock, Random } from '../../clock/clock.ts'
import type { Purpose } from '../../planning/shares.ts'
import type { FailureKind } from '../../provider/errors.ts'
import { spacingOf } from '../../provider/limits.ts'
import { called, type Operation, type RequestLine } from '../../provider/operation.ts'
import type { Arrived, Debits, Fence, Grant, Meter, Reply, Settlement, Transport } from '../ports.ts'
import type { GroupLimit } from '../settings.ts'
import type { Load, Share } from './load.ts'
import {
  createOperationBreakers,
  type Group,
  LimitGroups,
  type OperationBreakers,
  type Permits,
  pass,
  unanswered,
} from './permits.ts'
import type { Queue } from './queue.ts'
import { isLimitViolation, retryRules } from './retry-rules.ts'

export interface Attempt {
  readonly app: string
  readonly fence: Fence
  readonly request: RequestLine
  /** Whose question it is; absent of a request by hand. */
  readonly series?: string
  /** For how many ms the request may wait to be sent. */
  readonly life: number
  /**
   * Of a request by hand, on the monotonic clock, ms: what could not be sent by then is given up, at once where that is
   * known before. Once sent it is read to its end.
   */
  readonly until?: number
  /** It is planned anew where its limit leaves no room for longer than `life`: it is given up as soon as that is known. */
  readonly isPlannedAgain?: boolean
  /** Whether it must be planned anew, by what was learned while it waited; asked until it is sent. */
  readonly isOutdated?: () => boolean
  readonly limit: GroupLimit
  readonly purpose: Purpose
  readonly signal: AbortSignal
  readonly arrived?: Arrived
}

/**
 * `late`: nothing was sent, because the request was planned so long ago that it must be planned anew, or because its time
 * is up; `freesIn` is how long its limit leaves no room, ms, where the ledger has said so.
 */
export type Sent =
  | {
      readonly outcome: 'replied'
      readonly reply: Reply
      readonly grant: Grant | undefined
      /** To be called when nothing of the answer is held any more: until then its room is taken. */
      readonly release: () => void
    }
  | { readonly outcome: 'stopped' | 'fenced' }
  | { readonly outcome: 'late'; readonly freesIn?: number }

export interface AdmissionPorts {
  readonly clock: Clock
  readonly random: Random
  readonly ledger: Debits
  readonly transport: Transport
  readonly meter: Pick<Meter, 'request' | 'limitViolation' | 'debit' | 'clockDoubt'>
  readonly queue: Queue
  /** What answers may weigh together; without it any number of them. */
  readonly load?: Load
}

/** Of single requests by hand nobody waits for room. */
const unbounded: Pick<Load, 'take'> = { take: async () => ({ weigh: () => {}, release: () => {} }) }

/** A debit that was never settled may still reach the provider this long after its deadline, ms. */
export const REACH_MARGIN_MS = 10_000

/** A grant that was asked for longer ago than this, ms, is void: a process that was stopped must not send late. */
const GRANT_LIFE_MS = 2_000

/** A wait for the budget that is longer than this, ms, is spent outside the queue. */
const LONGEST_WAIT_IN_QUEUE_MS = 2_000

/** How one attempt waits: until it is sent, it is told to stop, or its time is up. */
interface Waiting {
  /** On the monotonic clock, ms. */
  readonly since: number
  readonly signal: AbortSignal
}

/**
 * The only way to the wire. Waits before a breaker that is shut, lets the queue order who goes first, debits what is
 * counted durably and paces the rest. Every attempt passes here; nothing retries behind it.
 */
export class Admission {
  readonly #ports: AdmissionPorts
  readonly #load: Pick<Load, 'take'>
  /** Total deadline of one request, ms. */
  readonly #deadline: number
  readonly #groups: LimitGroups
  /** An operation of an app that fails alone shuts out nothing else. */
  readonly #operations: OperationBreakers

  constructor(ports: AdmissionPorts, deadline: number) {
    this.#ports = ports
    this.#load = ports.load ?? unbounded
    this.#groups = new LimitGroups(ports)
    this.#operations = createOperationBreakers(ports)
    this.#deadline = deadline
  }

  /** The answer to a debited request has come and was not stored: nothing is under way any more. */
  discard(grant: Grant): Promise<void> {
    return this.#ports.ledger.settle(grant, 'unread', grant.clockBounds)
  }

  /**
   * What an app was refused for is past: it has other credentials, or another plan. What it shares with others stays, but for
   * budgets that are used up: the ledger says by which limits.
   */
  forget(app: string): void {
    this.#groups.forget(app)
    this.#operations.forget(`${app} `)
  }

  async send(attempt: Attempt): Promise<Sent> {
    const since = this.#ports.clock.monotonic()
    if (attempt.until === undefined) return this.#admit(attempt, { since, signal: attempt.signal })
    const isOver = new AbortController()
    const timeUp = new AbortController()
    const { signal } = isOver
    void this.#ports.clock.sleep(attempt.until - since, signal).then(() => timeUp.abort())
    try {
      return await this.#admit(attempt, { since, signal: AbortSignal.any([attempt.signal, timeUp.signal]) })
    } finally {
      isOver.abort()
    }
  }

  async #admit(attempt: Attempt, waiting: Waiting): Promise<Sent> {
    const { app, request, limit } = attempt
    const { limitGroup } = request.operation
    const key = `${limit.scope} ${limitGroup}`
    const group = this.#groups.of(key, limit)
    const appBreaker = this.#groups.breakerOf(group, app)
    const door = this.#operations.of(operationKey(app, limit, request.operation))
    for (;;) {
      const freesIn = group.breaker.heldFor()
      if (freesIn > 0 && this.#isBeyond(attempt, freesIn)) return { outcome: 'late', freesIn }
      const permits = await pass(group.breaker, appBreaker, door, waiting.signal)
      try {
        if (waiting.signal.aborted) return ended(attempt, group)
        const sent = await this.#inQueue(key, group, permits, attempt, waiting)
        if (sent !== 'shut') return sent
      } finally {
        permits.leave()
      }
    }
  }

  /** Has it wait for its turn: what must be sent by a time no longer than that. */
  #inQueue(
    key: string,
    group: Group,
    permits: Permits,
    attempt: Attempt,
    waiting: Waiting,
  ): Promise<Sent | 'shut'> {
    const { limit, purpose, until } = attempt
    const { promise, resolve, reject } = Promise.withResolvers<Sent | 'shut'>()
    const { signal } = waiting
    const leave = () => resolve(ended(attempt, group))
    if (until !== undefined) signal.addEventListener('abort', leave)
    const turn = () => {
      signal.removeEventListener('abort', leave)
      return this.#inTurn(group, permits, attempt, waiting)
    }
    this.#ports.queue.run(key, limit, purpose, turn).then(resolve, reject)
    return promise
  }

  /** Sends once it is its turn; `shut` when it must go back and wait. */
  async #inTurn(group: Group, permits: Permits, attempt: Attempt, waiting: Waiting): Promise<Sent | 'shut'> {
    if (waiting.signal.aborted) return ended(attempt, group)
    if (this.#isStale(attempt, waiting)) return { outcome: 'late' }
    const isPaced = attempt.limit.counted === 'process'
    // While it waits for its slot it takes no room from others.
    const spacing = isPaced ? await this.#pace(group, attempt, waiting) : Number.POSITIVE_INFINITY
    const pacedAt = this.#ports.clock.monotonic()
    // Before the debit: a grant would be void by the time that there is room.
    const share = await this.#load.take(called(attempt.request.operation), waiting.signal)
    if (!share) return ended(attempt, group)
    let isHeld = false
    try {
      // Who waited long for room would go in the slot of another.
      if (this.#ports.clock.monotonic() - pacedAt >= spacing) await this.#pace(group, attempt, waiting)
      const sent = await this.#sendWith(share, group, permits, attempt, waiting)
      isHeld = typeof sent === 'object' && sent.outcome === 'replied' && sent.reply.ok
      return sent
    } finally {
      if (!isHeld) share.release()
    }
  }

  /** Sends while there is room for the answer. */
  async #sendWith(
    share: Share,
    group: Group,
    permits: Permits,
    attempt: Attempt,
    waiting: Waiting,
  ): Promise<Sent | 'shut'> {
    const { release } = share
    if (waiting.signal.aborted) return ended(attempt, group)
    if (permits.areShut()) return 'shut'
    if (attempt.limit.counted === 'process') {
      if (this.#isStale(attempt, waiting)) return { outcome: 'late' }
      const signal = attempt.until === undefined ? attempt.signal : undefined
      const reply = await this.#transmit(share, permits, attempt, signal)
      return signal?.aborted && !reply.ok
        ? { outcome: 'stopped' }
        : { outcome: 'replied', reply, grant: undefined, release }
    }
    const grant = await this.#debit(group, attempt, waiting)
    if (grant === 'shut') return grant
    if (grant === 'over') return ended(attempt, group)
    if (typeof grant === 'string') return { outcome: grant }
    // What is debited is read to its end, even when the engine stops: it may have handed out something.
    const reply = await this.#transmit(share, permits, attempt, undefined)
    const clockBounds = group.time.clockBounds()
    if (!reply.ok) await this.#ports.ledger.settle(grant, settlementOf(reply.failure.kind), clockBounds)
    return { outcome: 'replied', reply, grant: { ...grant, clockBounds }, release }
  }

  /** Spaces requests of a group that nobody counts but us. Waits for a slot and answers how long it is, ms. */
  async #pace(group: Group, { limit }: Attempt, { signal }: Waiting): Promise<number> {
    const { clock } = this.#ports
    const spacing = spacingOf(limit.rates) * 1_000
    const slot = Math.max(group.nextSlot, clock.monotonic())
    group.nextSlot = slot + spacing
    await clock.sleep(slot - clock.monotonic(), signal)
    return spacing
  }

  /** A grant, or why there is none: `over` when the wait has ended. */
  async #debit(
    group: Group,
    attempt: Attempt,
    waiting: Waiting,
  ): Promise<Grant | 'over' | 'fenced' | 'shut' | 'late'> {
    const { clock, ledger, meter } = this.#ports
    const { app, fence, request, limit, purpose } = attempt
    const { limitGroup } = request.operation
    const asked = {
      ...{ scope: limit.scope, group: limitGroup, app, operation: called(request.operation), fence, purpose },
      ...{ rates: limit.rates, arrivesWithin: this.#deadline + REACH_MARGIN_MS },
    }
    while (!waiting.signal.aborted) {
      if (this.#isStale(attempt, waiting)) return 'late'
      let askedAt = clock.monotonic()
      let before = group.lastDebit
      const clockBounds = () => {
        askedAt = clock.monotonic()
        before = group.lastDebit
        return group.time.clockBounds()
      }
      const taken = await ledger.take({ ...asked, clockBounds })
      if (taken.granted === 'fenced') return 'fenced'
      group.time.observe(taken.now, askedAt)
      meter.clockDoubt(taken.ahead)
      if (!taken.granted) {
        if (taken.wait > LONGEST_WAIT_IN_QUEUE_MS || this.#isBeyond(attempt, taken.wait)) {
          group.breaker.hold(taken.wait)
          return 'shut'
        }
        await clock.sleep(taken.wait, waiting.signal)
        continue
      }
      meter.debit(limitGroup)
      // The numbers only grow: one that was given before tells of debits that are missing, and of room that there is not.
      const isSetBack = taken.grant.n <= before.n
      if (isSetBack) await ledger.wasSetBack(clock.monotonic() - before.at)
      group.lastDebit = { n: taken.grant.n, at: clock.monotonic() }
      const isUsed = !isSetBack && !waiting.signal.aborted && !attempt.isOutdated?.()
      if (isUsed && clock.monotonic() - askedAt <= GRANT_LIFE_MS) return taken.grant
      await ledger.settle(taken.grant, 'refused', group.time.clockBounds())
    }
    return 'over'
  }

  async #transmit(
    share: Share,
    permits: Permits,
    attempt: Attempt,
    signal: AbortSignal | undefined,
  ): Promise<Reply> {
    const { clock, transport, meter } = this.#ports
    const { app, request, series } = attempt
    const sentAt = clock.monotonic()
    const reply = await transport.send(app, request, signal, attempt.arrived)
    const failure = reply.ok ? undefined : reply.failure
    if (reply.ok) share.weigh(reply.answer.size)
    const { family, name } = request.operation
    meter.request(app, family, name, failure?.kind ?? 'ok', reply.timing)
    if (failure && isLimitViolation(failure.kind)) meter.limitViolation(name, failure.kind)
    // A request that we gave up ourselves says nothing of the provider.
    if (!signal?.aborted)
      permits.observe(
        failure,
        sentAt,
        series === undefined ? undefined : `${called(request.operation)} ${series}`,
      )
    return reply
  }

  /** Whether it was planned too long ago, or without what is known now. */
  #isStale({ life, isOutdated }: Attempt, { since }: Waiting): boolean {
    return this.#ports.clock.monotonic() - since > life || isOutdated?.() === true
  }

  /** For how long nothing of a limit group may go because a budget is used up, ms, as the ledger said last. */
  heldFor(scope: string, limitGroup: string): number {
    return this.#groups.heldFor(`${scope} ${limitGroup}`)
  }

  /**
   * In how many ms an operation of the app may be tried by one request, because it fails while others of its limit group are
   * answered; undefined where it does not. What waits for that would keep a place from the others.
   */
  triesIn(app: string, limit: Pick<GroupLimit, 'scope'>, operation: Operation): number | undefined {
    return this.#operations
      .of(operationKey(app, limit, operation))
      .breaker()
      ?.triesIn()
  }

  /** Whether `ms` from now the time of the attempt is up. */
  #isBeyond({ until, isPlannedAgain, life }: Attempt, ms: number): boolean {
    if (isPlannedAgain && ms > life) return true
    return until !== undefined && this.#ports.clock.monotonic() + ms > until
  }
}

/** What came of a wait that ended before its turn. */
function ended({ signal }: Attempt, { breaker }: Group): Sent {
  if (signal.aborted) return { outcome: 'stopped' }
  const freesIn = breaker.heldFor()
  return freesIn > 0 ? { outcome: 'late', freesIn } : { outcome: 'late' }
}

function settlementOf(kind: FailureKind): Settlement {
  if (unanswered.has(kind)) return 'unanswered'
  return retryRules[kind].unread ? 'unread' : 'refused'
}

function operationKey(app: string, { scope }: Pick<GroupLimit, 'scope'>, operation: Operation): string {
  return `${app} ${scope} ${operation.limitGroup} ${called(operation)}`
}

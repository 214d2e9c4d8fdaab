import type { Clock, Random } from '../clock/clock.ts'
import type { Failure, FailureKind } from '../provider/errors.ts'
import { called, type RequestLine } from '../provider/operation.ts'
import { type BudgetTime, createBudgetTime } from './budget-time.ts'
import { createGate, type Gate } from './gate.ts'
import type { Load, Share } from './load.ts'
import type { Arrived, Fence, Grant, Ledger, Meter, Purpose, Reply, Settlement, Transport } from './ports.ts'
import type { Queue } from './queue.ts'
import { isIncomprehensible, isRefusal, reactions } from './reactions.ts'
import type { GroupLimit } from './settings.ts'

/**
 * The only way to the wire. Waits before a gate that is shut, lets the queue order who goes first, debits what is
 * counted durably and paces the rest. Every attempt passes here; nothing retries behind it.
 */
export interface Admission {
  readonly send: (attempt: Attempt) => Promise<Sent>
  /** The answer to a debited request has come and was not stored: nothing is under way any more. */
  readonly discard: (grant: Grant) => Promise<void>
}

export interface Attempt {
  readonly app: string
  readonly fence: Fence
  readonly request: RequestLine
  /** Whose question it is; absent of a request by hand. */
  readonly series?: string
  /** For how many ms the request may wait to be sent. */
  readonly life: number
  readonly limit: GroupLimit
  readonly purpose: Purpose
  readonly signal: AbortSignal
  readonly arrived?: Arrived
}

/** `late`: nothing was sent, because the request was planned so long ago that it must be planned anew. */
export type Sent =
  | {
      readonly outcome: 'replied'
      readonly reply: Reply
      readonly grant: Grant | undefined
      /** To be called when nothing of the answer is held any more: until then its room is taken. */
      readonly release: () => void
    }
  | { readonly outcome: 'stopped' | 'fenced' | 'late' }

export interface AdmissionPorts {
  readonly clock: Clock
  readonly random: Random
  readonly ledger: Ledger
  readonly transport: Transport
  readonly meter: Meter
  readonly queue: Queue
  /** What answers may weigh together; without it any number of them. */
  readonly load?: Load
}

/** Of single requests by hand nobody waits for room. */
const unbounded: Pick<Load, 'take'> = { take: async () => ({ weigh: () => {}, release: () => {} }) }

/** What is remembered of one limit group in this process. */
interface Group {
  readonly gate: Gate
  /** Each group has its own, since the database's clock may jump between the debits of one and of another. */
  readonly time: BudgetTime
  /** Next free moment of the pace, on the monotonic clock, ms. */
  nextSlot: number
}

/** A debit that was never settled may still reach the provider this long after its deadline, ms. */
export const REACH_MARGIN_MS = 10_000

/** A grant that was asked for longer ago than this, ms, is void: a process that was stopped must not send late. */
const GRANT_LIFE_MS = 2_000

/** A wait for the budget that is longer than this, ms, is spent outside the queue. */
const LONGEST_WAIT_IN_QUEUE_MS = 2_000

export function createAdmission(ports: AdmissionPorts, deadline: number): Admission {
  const { clock, ledger, transport, meter, queue, load = unbounded } = ports
  const groups = new Map<string, Group>()
  /** What shuts one app out does not shut out the others that share its budget. */
  const doors = new Map<string, Gate>()

  function groupOf(key: string): Group {
    const known = groups.get(key)
    if (known) return known
    const made: Group = {
      gate: createGate(ports),
      time: createBudgetTime(clock),
      nextSlot: Number.NEGATIVE_INFINITY,
    }
    groups.set(key, made)
    return made
  }

  function doorOf(key: string): Gate {
    const known = doors.get(key)
    if (known) return known
    const made = createGate(ports)
    doors.set(key, made)
    return made
  }

  /** Sends once it is its turn; `shut` when it must go back and wait. */
  async function inTurn(
    group: Group,
    passes: Passes,
    attempt: Attempt,
    since: number,
  ): Promise<Sent | 'shut'> {
    if (clock.monotonic() - since > attempt.life) return { outcome: 'late' }
    const { limit, signal, request } = attempt
    if (limit.counted === 'process') await pace(group, attempt)
    // Before the debit: a grant would be void by the time that there is room.
    const share = await load.take(called(request.operation), signal)
    if (!share) return { outcome: 'stopped' }
    let isHeld = false
    try {
      const sent = await sendWith(share, group, passes, attempt, since)
      isHeld = typeof sent === 'object' && sent.outcome === 'replied' && sent.reply.ok
      return sent
    } finally {
      if (!isHeld) share.release()
    }
  }

  /** Sends while there is room for the answer. */
  async function sendWith(
    share: Share,
    group: Group,
    passes: Passes,
    attempt: Attempt,
    since: number,
  ): Promise<Sent | 'shut'> {
    const { limit, signal } = attempt
    const { release } = share
    if (signal.aborted) return { outcome: 'stopped' }
    if (passes.areShut()) return 'shut'
    if (limit.counted === 'process') {
      if (clock.monotonic() - since > attempt.life) return { outcome: 'late' }
      const reply = await transmit(share, passes, attempt, signal)
      return signal.aborted && !reply.ok
        ? { outcome: 'stopped' }
        : { outcome: 'replied', reply, grant: undefined, release }
    }
    const grant = await debit(group, attempt, since)
    if (grant === 'shut') return grant
    if (typeof grant === 'string') return { outcome: grant }
    // What is debited is read to its end, even when the engine stops: it may have handed out something.
    const reply = await transmit(share, passes, attempt, undefined)
    const evidence = group.time.evidence()
    if (!reply.ok) await ledger.settle(grant, settlementOf(reply.failure.kind), evidence)
    return { outcome: 'replied', reply, grant: { ...grant, evidence }, release }
  }

  /** Spaces requests of a group that nobody counts but us. */
  async function pace(group: Group, { limit, signal }: Attempt): Promise<void> {
    const spacing = Math.max(0, ...limit.rates.map(rate => (rate.window * 1_000) / rate.requests))
    const slot = Math.max(group.nextSlot, clock.monotonic())
    group.nextSlot = slot + spacing
    await clock.sleep(slot - clock.monotonic(), signal)
  }

  async function debit(
    group: Group,
    attempt: Attempt,
    since: number,
  ): Promise<Grant | 'stopped' | 'fenced' | 'shut' | 'late'> {
    const { app, fence, request, limit, purpose, signal } = attempt
    const { limitGroup } = request.operation
    const asked = {
      ...{ scope: limit.scope, group: limitGroup, app, operation: called(request.operation), fence, purpose },
      ...{ rates: limit.rates, reach: deadline + REACH_MARGIN_MS },
    }
    while (!signal.aborted) {
      const askedAt = clock.monotonic()
      if (askedAt - since > attempt.life) return 'late'
      const taken = await ledger.take({ ...asked, evidence: group.time.evidence() })
      if (taken.granted === 'fenced') return 'fenced'
      group.time.observe(taken.now, askedAt)
      meter.clockDoubt(taken.ahead)
      if (!taken.granted) {
        if (taken.wait > LONGEST_WAIT_IN_QUEUE_MS) {
          group.gate.hold(taken.wait)
          return 'shut'
        }
        await clock.sleep(taken.wait, signal)
        continue
      }
      meter.debit(app, limitGroup)
      if (!signal.aborted && clock.monotonic() - askedAt <= GRANT_LIFE_MS) return taken.grant
      await ledger.settle(taken.grant, 'refused', group.time.evidence())
    }
    return 'stopped'
  }

  async function transmit(
    share: Share,
    passes: Passes,
    attempt: Attempt,
    signal: AbortSignal | undefined,
  ): Promise<Reply> {
    const { app, request, series } = attempt
    const sentAt = clock.monotonic()
    const reply = await transport.send(app, request, signal, attempt.arrived)
    const failure = reply.ok ? undefined : reply.failure
    if (reply.ok) share.weigh(reply.answer.size)
    const { family, name } = request.operation
    meter.request(app, family, name, failure?.kind ?? 'ok', reply.timing)
    if (failure && isRefusal(failure.kind)) meter.refusal(app, name, failure.kind)
    // A request that we gave up ourselves says nothing of the provider.
    if (!signal?.aborted)
      passes.observe(
        failure,
        sentAt,
        series === undefined ? undefined : `${called(request.operation)} ${series}`,
      )
    return reply
  }

  return {
    discard: grant => ledger.settle(grant, 'unread', grant.evidence),
    send: async attempt => {
      const { request, limit, purpose, signal } = attempt
      const key = `${limit.scope} ${request.operation.limitGroup}`
      const group = groupOf(key)
      const since = clock.monotonic()
      for (;;) {
        const passes = await pass(group.gate, doorOf(`${attempt.app} ${key}`), signal)
        try {
          if (signal.aborted) return { outcome: 'stopped' }
          const sent = await queue.run(key, limit.concurrency, purpose, () =>
            inTurn(group, passes, attempt, since),
          )
          if (sent !== 'shut') return sent
        } finally {
          passes.leave()
        }
      }
    },
  }
}

/** Leave to go through the app's own door and through the gate of the whole group. */
interface Passes {
  readonly areShut: () => boolean
  /** `question` tells the questions of an app apart. */
  readonly observe: (failure: Failure | undefined, sentAt: number, question: string | undefined) => void
  readonly leave: () => void
}

/** These turn away one app, whatever the others that share its credential are told. */
const personal: ReadonlySet<FailureKind> = new Set<FailureKind>(['unauthorized', 'forbidden', 'no_access'])

async function pass(gate: Gate, door: Gate, signal: AbortSignal): Promise<Passes> {
  const inner = await door.pass(signal)
  const outer = await gate.pass(signal)
  return {
    areShut: () => door.isShutFor(inner) || gate.isShutFor(outer),
    observe: (failure, sentAt, question) => {
      const isPersonal = failure !== undefined && personal.has(failure.kind)
      const isSilent = failure !== undefined && unanswered.has(failure.kind)
      // An answer that never came tells nothing of those that cannot be read.
      if (!isSilent)
        door.observe(isPersonal || isIncomprehensible(failure) ? failure : undefined, sentAt, question)
      if (!isPersonal) gate.observe(failure, sentAt)
    },
    leave: () => {
      inner.leave()
      outer.leave()
    },
  }
}

/** Of these nothing came from the provider itself: the request may still be on its way to it. */
const unanswered: ReadonlySet<FailureKind> = new Set<FailureKind>(['network', 'timeout', 'gateway_timeout'])

function settlementOf(kind: FailureKind): Settlement {
  if (unanswered.has(kind)) return 'unanswered'
  return reactions[kind].unread ? 'unread' : 'refused'
}

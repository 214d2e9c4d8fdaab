import type { Clock, Random } from '../clock/clock.ts'
import { called, type RequestLine } from '../provider/operation.ts'
import type { Fence, Grant, Ledger, Meter, Reply, Transport } from './ports.ts'
import type { Priority, Queue } from './queue.ts'
import { groupPause, reactions } from './reactions.ts'
import type { GroupLimit } from './settings.ts'

/**
 * The only way to the wire. Waits for a paused group, debits what is counted durably, paces the rest, and lets
 * the queue order who goes first. Every attempt passes here; nothing retries behind it.
 */
export interface Admission {
  readonly send: (attempt: Attempt) => Promise<Sent>
}

export interface Attempt {
  readonly app: string
  readonly fence: Fence
  readonly request: RequestLine
  readonly limit: GroupLimit
  readonly priority: Priority
  readonly signal: AbortSignal
}

export type Sent =
  | { readonly outcome: 'replied'; readonly reply: Reply; readonly grant: Grant | undefined }
  | { readonly outcome: 'stopped' | 'fenced' }

export interface AdmissionPorts {
  readonly clock: Clock
  readonly random: Random
  readonly ledger: Ledger
  readonly transport: Transport
  readonly meter: Meter
  readonly queue: Queue
}

/** What is remembered of one limit group in this process. */
interface Gate {
  failures: number
  /** On the monotonic clock, ms. */
  pausedUntil: number
  /** After a pause one request goes ahead alone; the others wait for what it finds. */
  probe: Promise<void> | undefined
  /** Next free moment of the pace, on the monotonic clock, ms. */
  nextSlot: number
}

/** A debit that was never settled may still reach the provider this long after its deadline, ms. */
const REACH_MARGIN_MS = 10_000

/** A grant that was asked for longer ago than this, ms, is void: a process that was stopped must not send late. */
const GRANT_LIFE_MS = 2_000

export function createAdmission(ports: AdmissionPorts, deadline: number): Admission {
  const { clock, random, ledger, transport, meter, queue } = ports
  const gates = new Map<string, Gate>()

  function gateOf(key: string): Gate {
    const known = gates.get(key)
    if (known) return known
    const made: Gate = { failures: 0, pausedUntil: 0, probe: undefined, nextSlot: 0 }
    gates.set(key, made)
    return made
  }

  /** Resolves when the gate is open for the caller; answers how to tell the others what came of a probe. */
  async function pass(gate: Gate, signal: AbortSignal): Promise<() => void> {
    while (!signal.aborted) {
      if (gate.probe) await gate.probe
      else if (gate.pausedUntil > clock.monotonic())
        await clock.sleep(gate.pausedUntil - clock.monotonic(), signal)
      else if (gate.failures === 0) return () => {}
      else {
        const { promise, resolve } = Promise.withResolvers<void>()
        gate.probe = promise
        return () => {
          gate.probe = undefined
          resolve()
        }
      }
    }
    return () => {}
  }

  function observe(gate: Gate, attempt: Attempt, reply: Reply): void {
    const { operation } = attempt.request
    const outcome = reply.ok ? 'ok' : reply.failure.kind
    meter.request(attempt.app, operation.family, operation.name, outcome, reply.timing)
    if (reply.ok || reactions[reply.failure.kind].scope === 'series') {
      gate.failures = 0
      return
    }
    gate.failures += 1
    const pause = groupPause(reply.failure.kind, gate.failures, random.next(), reply.failure.retryAfter)
    gate.pausedUntil = Math.max(gate.pausedUntil, clock.monotonic() + pause)
    if (reply.failure.kind === 'rate_limited') meter.refusal(attempt.app, operation.name, reply.failure.kind)
  }

  async function debit(attempt: Attempt): Promise<Grant | 'stopped' | 'fenced'> {
    const { app, fence, request, limit, signal } = attempt
    const group = request.operation.limitGroup
    const asked = { scope: app, group, app, operation: called(request.operation), fence, rates: limit.rates }
    while (!signal.aborted) {
      const askedAt = clock.monotonic()
      const taken = await ledger.take({ ...asked, reach: deadline + REACH_MARGIN_MS })
      if (taken.granted === 'fenced') return 'fenced'
      if (!taken.granted) {
        await clock.sleep(taken.wait, signal)
        continue
      }
      meter.debit(app, group)
      if (clock.monotonic() - askedAt <= GRANT_LIFE_MS) return taken.grant
      await ledger.settle(taken.grant, 'refused')
    }
    return 'stopped'
  }

  /** Spaces requests of a group that nobody counts but us. */
  async function pace(gate: Gate, attempt: Attempt): Promise<void> {
    const spacing = Math.max(0, ...attempt.limit.rates.map(rate => (rate.window * 1_000) / rate.requests))
    const slot = Math.max(gate.nextSlot, clock.monotonic())
    gate.nextSlot = slot + spacing
    if (slot > clock.monotonic()) await clock.sleep(slot - clock.monotonic(), attempt.signal)
  }

  async function admitted(gate: Gate, attempt: Attempt): Promise<Sent> {
    if (attempt.limit.counted === 'process') {
      await pace(gate, attempt)
      if (attempt.signal.aborted) return { outcome: 'stopped' }
      const reply = await transport.send(attempt.app, attempt.request, attempt.signal)
      observe(gate, attempt, reply)
      return { outcome: 'replied', reply, grant: undefined }
    }
    const grant = await debit(attempt)
    if (typeof grant === 'string') return { outcome: grant }
    const reply = await transport.send(attempt.app, attempt.request)
    observe(gate, attempt, reply)
    if (!reply.ok) await ledger.settle(grant, reactions[reply.failure.kind].unread ? 'unread' : 'refused')
    return { outcome: 'replied', reply, grant }
  }

  return {
    send: async attempt => {
      const { app, request, limit, priority, signal } = attempt
      const key = `${app} ${request.operation.limitGroup}`
      const gate = gateOf(key)
      return queue.run(key, limit.concurrency, priority, async () => {
        const release = await pass(gate, signal)
        try {
          return signal.aborted ? { outcome: 'stopped' } : await admitted(gate, attempt)
        } finally {
          release()
        }
      })
    },
  }
}

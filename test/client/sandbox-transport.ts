import { ConnectionLost, type Sandbox } from '../../sandbox/src/index.ts'
import type { Clock, Random } from '../../src/clock/clock.ts'
import type { Debits, TakeResult, Transport } from '../../src/engine/ports.ts'
import { classify, errorBody } from '../../src/http/classify.ts'
import type { Arrival } from '../../src/http/exchange.ts'
import { atOnce } from '../../src/http/json.ts'
import { traceOf } from '../../src/http/transport.ts'

/** A transport to a sandbox in the same process: no socket, and time is whatever the clock says. */
export function sandboxTransport(
  sandbox: Sandbox,
  {
    clock,
    random,
    rest,
  }: {
    readonly clock: Clock
    readonly random: Random
    readonly rest: { readonly key: string; readonly secret: string }
  },
): Transport {
  const authorization = `Basic ${Buffer.from(`${rest.key}:${rest.secret}`).toString('base64')}`
  return {
    send: async (_app, { operation, method, target, body }) => {
      const began = clock.monotonic()
      const id = random.uuid()
      const timing = () => ({ receivedAt: clock.now(), elapsed: clock.monotonic() - began })
      const request = new Request(`http://sandbox${target}`, {
        method,
        headers: { authorization, 'content-type': 'application/json', 'x-request-id': id },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      try {
        const response = await sandbox.fetch(request)
        const bytes = new Uint8Array(await response.arrayBuffer())
        const { status, headers } = response
        const arrival: Arrival = {
          status,
          bytes,
          end: 'whole',
          header: name => headers.get(name) ?? undefined,
        }
        const verdict = atOnce(classify(operation, arrival, clock.now()))
        if (!verdict.ok) {
          const trace = traceOf(id, arrival, errorBody(arrival))
          return { ok: false, failure: { ...verdict.failure, trace }, timing: timing() }
        }
        const answer = { body: verdict.body, answeredAt: verdict.answeredAt, size: bytes.length }
        return { ok: true, answer, timing: timing() }
      } catch (error) {
        if (!(error instanceof ConnectionLost)) throw error
        return {
          ok: false,
          failure: { kind: 'network', text: 'the connection was lost', trace: { requestId: id } },
          timing: timing(),
        }
      }
    },
    clockOffset: () => ({ ahead: 0, doubt: 0 }),
  }
}

/** A ledger in memory that lets no window of a rate hold more than it may. */
export function memoryLedger(
  clock: Clock,
): Debits & { readonly debits: { scope: string; group: string; at: number }[] } {
  const debits: { scope: string; group: string; at: number }[] = []
  return {
    debits,
    take: async ({ scope, group, rates, clockBounds }): Promise<TakeResult> => {
      const now = clock.monotonic()
      const mine = debits.filter(debit => debit.scope === scope && debit.group === group)
      const frees = rates.map(({ requests, window }) => {
        const oldest = mine.at(-requests)
        return oldest === undefined ? now : oldest.at + window * 1_000 + 1
      })
      const wait = Math.max(...frees) - now
      if (wait > 0) return { granted: false, wait, now: clock.now(), ahead: 0 }
      debits.push({ scope, group, at: now })
      return {
        granted: true,
        grant: { scope, group, n: debits.length, clockBounds: clockBounds() },
        now: clock.now(),
        ahead: 0,
      }
    },
    settle: async () => {},
    wasSetBack: async () => {},
  }
}

import type { Clock } from '../clock/clock.ts'
import type { Fence, Ledger, Transport } from '../engine/ports.ts'
import type { Failure } from '../provider/errors.ts'
import type { RequestLine } from '../provider/operation.ts'
import { isQuota } from './errors.ts'
import type { Turn } from './turn.ts'

export interface TurnPorts {
  readonly clock: Clock
  readonly ledger: Ledger
  readonly transport: Transport
}

/** Decorates ledger and transport, so that a wait hears when its request is sent and what it waits for. */
export class Turns {
  readonly #clock: Clock
  readonly #byFence = new WeakMap<Fence, Turn>()
  readonly #byRequest = new WeakMap<RequestLine, Turn>()
  readonly #failures = new WeakMap<RequestLine, Failure>()
  /** Until when a limit leaves no room, on the monotonic clock, by scope and group. */
  readonly #held = new Map<string, number>()
  readonly decorated: { readonly ledger: Ledger; readonly transport: Transport }

  constructor({ clock, ledger, transport }: TurnPorts) {
    this.#clock = clock
    this.decorated = {
      ledger: {
        take: async debit => {
          const taken = await ledger.take(debit)
          if (taken.granted === false) {
            this.#held.set(`${debit.scope} ${debit.group}`, clock.monotonic() + taken.wait)
            this.#byFence.get(debit.fence)?.mustWait(taken.wait)
          }
          return taken
        },
        // A debit that cannot be settled counts longer than it need; what was answered is not lost for that.
        settle: (...all) => ledger.settle(...all).catch(() => {}),
        budget: (...all) => ledger.budget(...all),
      },
      transport: {
        send: async (app, request) => {
          this.#byRequest.get(request)?.begin()
          const reply = await transport.send(app, request)
          if (reply.ok || !isQuota(request.operation, reply.failure)) return reply
          // Not a rate: to wait helps nobody, and the next request may well be taken.
          this.#failures.set(request, reply.failure)
          return { ...reply, failure: { ...reply.failure, kind: 'conflict' } }
        },
        clockOffset: family => transport.clockOffset(family),
      },
    }
  }

  open(fence: Fence, request: RequestLine, turn: Turn): void {
    this.#byFence.set(fence, turn)
    this.#byRequest.set(request, turn)
  }

  /** How long the limit of a request leaves no room, ms, as far as the ledger has said so. */
  heldFor(scope: string, { operation }: RequestLine): number {
    const until = this.#held.get(`${scope} ${operation.limitGroup}`)
    return until === undefined ? 0 : Math.max(0, until - this.#clock.monotonic())
  }

  /** What was answered, where the admission was told of something milder. */
  failureOf(request: RequestLine): Failure | undefined {
    return this.#failures.get(request)
  }
}

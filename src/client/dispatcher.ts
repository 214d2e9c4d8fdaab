import type { Clock } from '../clock/clock.ts'
import { Admission, type AdmissionPorts, type Attempt, type Sent } from '../engine/admission/admission.ts'
import type { Answer, Debits, Fence } from '../engine/ports.ts'
import { durationInWords } from '../planning/forecast-format.ts'
import type { Failure } from '../provider/errors.ts'
import { CallError, callError, closed } from './errors.ts'
import type { Fences } from './ports.ts'

export interface Sending extends Pick<Attempt, 'app' | 'request' | 'limit'> {
  /** For how many ms it may wait to be sent, all tries together. */
  readonly timeout: number
}

export interface DispatcherPorts extends Omit<AdmissionPorts, 'meter' | 'load'> {
  readonly fences: Fences
  /** Total deadline of one request, ms. */
  readonly deadline: number
}

/** Where requests are paced in this process alone, nobody checks who asks. */
const nobody: Fence = { shard: 0, owner: '', epoch: 0 }

/** How long to wait before asking again who owns an app that changes hands, ms. */
const HANDS_MS = 500

/** Sends requests one by one through the same admission as the daemon: in its turn, debited, paced, never twice. */
export class Dispatcher {
  readonly #clock: Clock
  readonly #fences: Fences
  readonly #admission: Admission
  readonly #closing = new AbortController()

  constructor(ports: DispatcherPorts) {
    this.#clock = ports.clock
    this.#fences = ports.fences
    const ledger = forgiving(ports.ledger)
    this.#admission = new Admission({ ...ports, ledger, meter: silent }, ports.deadline)
  }

  /** The checked answer. Rejects with CallError, or with StoreUnavailable where requests cannot be counted. */
  async send(sending: Sending): Promise<Answer> {
    const { request, timeout } = sending
    const until = this.#clock.monotonic() + timeout
    let last: Failure | undefined
    for (;;) {
      const sent = await this.#attempt(sending, until)
      const left = until - this.#clock.monotonic()
      if (sent.outcome === 'replied') {
        if (sent.reply.ok) return sent.reply.answer
        last = sent.reply.failure
        if (!isWorthWaiting(last, left)) throw callError(request.operation, last)
      } else if (sent.outcome === 'fenced' && left > HANDS_MS && !this.#closing.signal.aborted) {
        await this.#clock.sleep(HANDS_MS, this.#closing.signal)
      } else {
        throw last ? callError(request.operation, last) : this.#unsent(sending, sent)
      }
    }
  }

  /** Aborts when it is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  /** Ends every wait; what is under way is read to its end. */
  close(): void {
    this.#closing.abort()
  }

  async #attempt(sending: Sending, until: number): Promise<Sent> {
    if (sending.limit.counted === 'process') return this.#admit(sending, until, nobody)
    const lent = await this.#fences.acquire(sending.app)
    if (!lent) return { outcome: 'fenced' }
    try {
      return await this.#admit(sending, until, lent.fence)
    } finally {
      // Whoever holds it and is silent loses it within seconds; what was answered is not lost for that.
      await lent.giveBack().catch(() => {})
    }
  }

  async #admit({ app, request, limit }: Sending, until: number, fence: Fence): Promise<Sent> {
    const sent = await this.#admission.send({
      ...{ app, fence, request, limit, until, purpose: 'live', signal: this.#closing.signal },
      life: Number.POSITIVE_INFINITY,
    })
    if (sent.outcome !== 'replied') return sent
    sent.release()
    // An answer that was debited is read by somebody else; a failure has been settled by the admission.
    if (sent.reply.ok && sent.grant) await this.#admission.discard(sent.grant)
    return sent
  }

  #unsent({ request: { operation }, timeout }: Sending, sent: Unsent): CallError {
    if (this.closing.aborted) return closed(operation)
    if (sent.outcome === 'fenced') {
      const text = 'nothing was sent: the app changes hands between processes; try again'
      return new CallError(operation, { kind: 'busy', text, retryAfter: 1 })
    }
    if (sent.outcome === 'late' && sent.freesIn !== undefined) {
      const retryAfter = Math.ceil(sent.freesIn / 1_000)
      const text = `nothing was sent: the limit of ${operation.limitGroup} is used up; it frees in ${durationInWords(retryAfter)}`
      return new CallError(operation, { kind: 'budget', text, retryAfter })
    }
    const text = `nothing was sent: requests of ${operation.limitGroup} wait for longer than ${durationInWords(timeout / 1_000)}, after earlier refusals or behind others`
    return new CallError(operation, { kind: 'budget', text })
  }
}

type Unsent = Exclude<Sent, { readonly outcome: 'replied' }>

/** A debit that cannot be settled counts longer than it need; what was answered is not lost for that. */
function forgiving(ledger: Debits): Debits {
  return { ...ledger, settle: (...all) => ledger.settle(...all).catch(() => {}) }
}

/** Too many requests: the breaker of the group waits as long as it must, and then it is tried again. */
function isWorthWaiting({ kind, retryAfter = 0 }: Failure, left: number): boolean {
  return (kind === 'rate_limited' || kind === 'qps_limit') && retryAfter * 1_000 < left
}

const nothing = () => {}

/** A client measures nothing: the ledger shows what it has spent. */
const silent = { request: nothing, limitViolation: nothing, debit: nothing, clockDoubt: nothing }

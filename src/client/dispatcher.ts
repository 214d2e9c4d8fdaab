import type { Clock, Random } from '../clock/clock.ts'
import { Admission, type Sent } from '../engine/admission/admission.ts'
import type { Queue } from '../engine/admission/queue.ts'
import type { Answer, Fence, Ledger, Meter, Transport } from '../engine/ports.ts'
import type { GroupLimit } from '../engine/settings.ts'
import { formatDuration } from '../planning/forecast-format.ts'
import type { Failure } from '../provider/errors.ts'
import type { RequestLine } from '../provider/operation.ts'
import { CallError, callError } from './errors.ts'
import type { Fences } from './ports.ts'

/** Sends requests one by one through the same admission as the daemon: in its turn, debited, paced, never twice. */
export interface Dispatcher {
  /** The checked answer. Rejects with CallError, or with StoreUnavailable where requests cannot be counted. */
  readonly send: (sending: Sending) => Promise<Answer>
  /** Ends every wait; what is under way is read to its end. */
  readonly close: () => void
}

export interface Sending {
  readonly app: string
  readonly request: RequestLine
  readonly limit: GroupLimit
  /** For how many ms it may wait to be sent, all tries together. */
  readonly timeout: number
}

export interface DispatcherPorts {
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  readonly ledger: Ledger
  readonly fences: Fences
  readonly queue: Queue
  /** Total deadline of one request, ms. */
  readonly deadline: number
}

/** Where requests are paced in this process alone, nobody checks who asks. */
const nobody: Fence = { shard: 0, owner: '', epoch: 0 }

/** How long to wait before asking again who owns an app that changes hands, ms. */
const HANDS_MS = 500

export function createDispatcher(ports: DispatcherPorts): Dispatcher {
  const { clock, fences } = ports
  const closing = new AbortController()
  const ledger = forgiving(ports.ledger)
  const admission = new Admission({ ...ports, ledger, meter: silentMeter }, ports.deadline)

  async function attempt(sending: Sending, until: number): Promise<Sent> {
    if (sending.limit.counted === 'process') return admit(sending, until, nobody)
    const lent = await fences.acquire(sending.app)
    if (!lent) return { outcome: 'fenced' }
    try {
      return await admit(sending, until, lent.fence)
    } finally {
      await lent.giveBack()
    }
  }

  async function admit({ app, request, limit }: Sending, until: number, fence: Fence): Promise<Sent> {
    const sent = await admission.send({
      ...{ app, fence, request, limit, until, purpose: 'live', signal: closing.signal },
      life: Number.POSITIVE_INFINITY,
    })
    if (sent.outcome !== 'replied') return sent
    sent.release()
    // An answer that was debited is read by somebody else; a failure has been settled by the admission.
    if (sent.reply.ok && sent.grant) await admission.discard(sent.grant)
    return sent
  }

  async function send(sending: Sending): Promise<Answer> {
    const { request, timeout } = sending
    const until = clock.monotonic() + timeout
    let last: Failure | undefined
    for (;;) {
      const sent = await attempt(sending, until)
      const left = until - clock.monotonic()
      if (sent.outcome === 'replied') {
        if (sent.reply.ok) return sent.reply.answer
        last = sent.reply.failure
        if (!isWorthWaiting(last, left)) throw callError(request.operation, last)
      } else if (sent.outcome === 'fenced' && left > HANDS_MS && !closing.signal.aborted) {
        await clock.sleep(HANDS_MS, closing.signal)
      } else {
        throw unsent(sending, sent, last)
      }
    }
  }

  function unsent(sending: Sending, sent: Unsent, last: Failure | undefined): CallError {
    const { operation } = sending.request
    if (last) return callError(operation, last)
    if (closing.signal.aborted)
      return new CallError(operation, { kind: 'closed', text: 'nothing was sent: the client was closed' })
    if (sent.outcome === 'fenced') {
      const text = 'nothing was sent: the app changes hands between processes; try again'
      return new CallError(operation, { kind: 'busy', text, retryAfter: 1 })
    }
    if (sent.outcome === 'late' && sent.freesIn !== undefined) {
      const retryAfter = Math.ceil(sent.freesIn / 1_000)
      const text = `nothing was sent: the limit of ${operation.limitGroup} is used up; it frees in ${formatDuration(retryAfter)}`
      return new CallError(operation, { kind: 'budget', text, retryAfter })
    }
    const text = `nothing was sent: requests of ${operation.limitGroup} wait for longer than ${formatDuration(sending.timeout / 1_000)}, after earlier refusals or behind others`
    return new CallError(operation, { kind: 'budget', text })
  }

  return { send, close: () => closing.abort() }
}

type Unsent = Exclude<Sent, { readonly outcome: 'replied' }>

/** A debit that cannot be settled counts longer than it need; what was answered is not lost for that. */
function forgiving(ledger: Ledger): Ledger {
  return { ...ledger, settle: (...all) => ledger.settle(...all).catch(() => {}) }
}

/** Too many requests: the breaker of the group waits as long as it must, and then it is tried again. */
function isWorthWaiting({ kind, retryAfter = 0 }: Failure, left: number): boolean {
  return (kind === 'rate_limited' || kind === 'qps_limit') && retryAfter * 1_000 < left
}

const nothing = () => {}

/** A client measures nothing: the ledger shows what it has spent. */
const silentMeter: Meter = {
  request: nothing,
  page: nothing,
  rows: nothing,
  commit: nothing,
  deadLetters: nothing,
  divergences: nothing,
  ignored: nothing,
  limitViolation: nothing,
  debit: nothing,
  schedule: nothing,
  owned: nothing,
  owed: nothing,
  budget: nothing,
  quality: nothing,
  clockDoubt: nothing,
}

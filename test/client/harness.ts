import type { Fences } from '../../src/client/ports.ts'
import { createPlainQueue } from '../../src/engine/admission/queue.ts'
import type { Debits, Reply, TakeResult, Transport } from '../../src/engine/ports.ts'
import type { Failure, FailureKind } from '../../src/provider/errors.ts'
import type { RequestLine } from '../../src/provider/operation.ts'
import { VirtualClock } from '../support/virtual-clock.ts'

export interface Sent {
  readonly at: number
  readonly app: string
  readonly request: RequestLine
}

export type Reaction = object | FailureKind | Failure

/** A world of fakes on a clock that only a test moves. */
export function createHarness() {
  const clock = new VirtualClock()
  const sent: Sent[] = []
  const settled: string[] = []
  const takes: string[] = []
  const lent = { out: 0, ever: 0 }
  const script = {
    /** What the provider answers, and after how many ms. */
    answer: (_sent: Sent): Reaction => ({}),
    takesLong: 0,
    /** What the ledger answers before it grants. */
    waits: [] as ('fenced' | number)[],
    fences: (): boolean => true,
    offset: undefined as number | undefined,
  }
  const transport: Transport = {
    send: async (app, request): Promise<Reply> => {
      const one = { at: clock.monotonic(), app, request }
      sent.push(one)
      if (script.takesLong > 0) await clock.sleep(script.takesLong)
      return replyOf(script.answer(one), clock, one.at)
    },
    clockOffset: () => (script.offset === undefined ? undefined : { ahead: script.offset, doubt: 0 }),
  }
  let n = 0
  const ledger: Debits = {
    take: async ({ scope, group, clockBounds }): Promise<TakeResult> => {
      takes.push(`${scope} ${group}`)
      const wait = script.waits.shift()
      if (wait === 'fenced') return { granted: 'fenced' }
      if (wait !== undefined) return { granted: false, wait, now: clock.now(), ahead: 0 }
      n += 1
      return {
        granted: true,
        grant: { scope, group, n, clockBounds: clockBounds() },
        now: clock.now(),
        ahead: 0,
      }
    },
    settle: async (_grant, outcome) => void settled.push(outcome),
    wasSetBack: async () => {},
  }
  const fences: Fences = {
    acquire: async () => {
      if (!script.fences()) return undefined
      lent.out += 1
      lent.ever += 1
      return {
        fence: { shard: 1, owner: 'somebody', epoch: 1 },
        giveBack: async () => {
          lent.out -= 1
        },
      }
    },
  }
  const random = { next: () => 0.5, uuid: () => '00000000-0000-4000-8000-000000000001' }
  const queue = createPlainQueue()
  return {
    clock,
    sent,
    settled,
    takes,
    lent,
    script,
    transport,
    ledger,
    fences,
    random,
    queue,
    deadline: 30_000,
  }
}

function replyOf(said: Reaction, clock: VirtualClock, at: number): Reply {
  const timing = { receivedAt: clock.now(), elapsed: clock.monotonic() - at }
  const trace = { requestId: 'sent-1' }
  if (typeof said === 'string')
    return { ok: false, failure: { kind: said, text: `it said ${said}`, trace }, timing }
  if ('kind' in said) return { ok: false, failure: said as Failure, timing }
  return { ok: true, answer: { body: said, answeredAt: undefined, size: 0 }, timing }
}

/** What a promise came to, moving the clock on while it waits. */
export async function outcomeOf<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isOver = false
  const done = work.finally(() => {
    isOver = true
  })
  done.catch(() => {})
  while (!isOver) {
    const woke = await clock.runToNextTimer()
    if (!woke && !isOver) await Promise.resolve()
  }
  return done
}

/** The error that a promise is rejected with. */
export async function errorOf(clock: VirtualClock, work: Promise<unknown>): Promise<Error> {
  return outcomeOf(
    clock,
    work.then(
      () => {
        throw new Error('it did not fail')
      },
      (error: unknown) => error as Error,
    ),
  )
}

import { seededRandom } from '../../sandbox/src/seeded.ts'
import { type BudgetTime, createBudgetTime } from '../../src/engine/admission/budget-time.ts'
import type { Grant, Ledger } from '../../src/engine/ports.ts'
import { connect } from '../../src/postgres/connect.ts'
import { createLedger } from '../../src/postgres/ledger.ts'
import type { Rate } from '../../src/provider/limits.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { debit } from './debits.ts'
import { start, type TestStore } from './harness.ts'

/** What is played: so many processes that always have something to send, and all that may delay them. Times in ms. */
export interface Course {
  readonly seed: number
  readonly group: string
  readonly rates: readonly Rate[]
  readonly processes: number
  /** Of each process. */
  readonly senders: number
  readonly lasts: number
  /** The longest way to the provider, and back. */
  readonly way: number
  /** Share of the requests that are answered after their deadline, if at all. */
  readonly lost?: number
  /** Share of the grants after which the sender stands still for up to five seconds. */
  readonly stalls?: number
  /** When the database's clock is set, and by how much. */
  readonly jumps?: readonly { readonly at: number; readonly by: number }[]
  /** Mean time between two kills of a process. */
  readonly killedEvery?: number
  /** When all processes are killed together. */
  readonly killedAt?: readonly number[]
  /** Instead of the real one. */
  readonly ledger?: typeof createLedger
}

export interface Recorded {
  /** When each request reached the provider, in order. */
  readonly arrivals: readonly number[]
  /** The longest time without an arrival, and when it ended. */
  readonly pause: number
}

/** Grants that were asked for longer ago than this are void. */
const grantLife = 2_000
const deadline = 4_000
const reach = deadline + 10_000

/**
 * Plays a course in virtual time against the real ledger. Whoever sends keeps to the ledger's rules and to nothing
 * else; the provider only writes down when a request arrives.
 */
export async function play(db: TestStore, course: Course): Promise<Recorded> {
  const {
    seed,
    group,
    rates,
    lasts,
    way,
    lost = 0,
    stalls = 0,
    jumps = [],
    killedEvery,
    killedAt = [],
  } = course
  const random = seededRandom(seed)
  const upTo = (ms: number) => Math.round(random.next() * ms)
  const clock = new VirtualClock(0)
  const arrivals: number[] = []
  const asking = new Set<Promise<unknown>>()
  let set: { readonly at: number; readonly done: Promise<void> } | undefined

  /** Asks the database at what is the same moment there; the world stands still meanwhile. */
  async function ask<T>(question: () => Promise<T>): Promise<T> {
    const at = clock.monotonic()
    if (set?.at !== at) {
      const ahead = jumps.filter(jump => jump.at <= at).reduce((sum, { by }) => sum + by, 0)
      set = { at, done: db.setTime(new Date(Date.parse(start) + at + ahead).toISOString()) }
    }
    const answer = set.done.then(question)
    const quiet = answer.catch(() => undefined)
    asking.add(quiet)
    return answer.finally(() => asking.delete(quiet))
  }

  async function send({ ledger, time, life }: Process): Promise<void> {
    while (!life.aborted) {
      const askedAt = clock.monotonic()
      const asked = debit(group, 1, 1, { rates, arrivesWithin: reach, clockBounds: time.clockBounds() })
      await clock.sleep(upTo(3))
      const taken = await ask(() => ledger.take(asked))
      await clock.sleep(upTo(3))
      if (life.aborted) return
      if (taken.granted === 'fenced') throw new Error('the course needs its shard')
      time.observe(taken.now, askedAt)
      if (!taken.granted) {
        await clock.sleep(taken.wait + upTo(2), life)
        continue
      }
      if (random.next() < stalls) await clock.sleep(upTo(5_000))
      if (life.aborted) return
      if (clock.monotonic() - askedAt <= grantLife) await request(taken.grant, { ledger, time, life })
      else await ask(() => ledger.settle(taken.grant, 'refused', time.clockBounds()))
    }
  }

  async function request(grant: Grant, { ledger, time, life }: Process): Promise<void> {
    if (random.next() < lost) {
      // Given up at its deadline; it may still arrive as long as its reach says.
      void clock.sleep(upTo(reach)).then(() => arrivals.push(clock.monotonic()))
      await clock.sleep(deadline)
      const clockBounds = time.clockBounds()
      if (!life.aborted) await ask(() => ledger.settle(grant, 'unanswered', clockBounds))
      return
    }
    await clock.sleep(2 + upTo(way))
    arrivals.push(clock.monotonic())
    await clock.sleep(2 + upTo(way))
    const clockBounds = time.clockBounds()
    if (!life.aborted) await ask(() => ledger.settle(grant, 'refused', clockBounds))
  }

  /** One process after the other: what is killed starts again at once and knows nothing. */
  async function run(ledger: Ledger): Promise<void> {
    while (clock.monotonic() < lasts) {
      const controller = new AbortController()
      const now = clock.monotonic()
      const byChance = killedEvery === undefined ? lasts : now + 1 + upTo(2 * killedEvery)
      const next = Math.min(lasts, byChance, ...killedAt.filter(at => at > now))
      const ends = clock.sleep(next - now)
      const born: Process = { ledger, time: createBudgetTime(clock), life: controller.signal }
      const senders = Array.from({ length: course.senders }, () => send(born))
      await ends
      controller.abort()
      await Promise.all(senders)
    }
  }

  const pools = Array.from({ length: course.processes }, () => connect({ ...db.connection, poolSize: 4 }))
  const ended = Promise.all(pools.map(pool => run((course.ledger ?? createLedger)(pool))))
  let isOver = false
  void ended.finally(() => {
    isOver = true
  })
  while (!isOver) {
    while (asking.size > 0) await Promise.all(asking)
    await clock.runToNextTimer()
  }
  await ended
  await Promise.all(pools.map(pool => pool.end()))
  arrivals.sort((a, b) => a - b)
  const pauses = arrivals.map((at, index) => at - (arrivals[index - 1] ?? 0))
  return { arrivals, pause: Math.max(0, ...pauses) }
}

interface Process {
  readonly ledger: Ledger
  readonly time: BudgetTime
  readonly life: AbortSignal
}

/** The most arrivals that any window of so many seconds holds, by counting on from every arrival. */
export function mostArrivals(arrivals: readonly number[], seconds: number): number {
  return Math.max(
    0,
    ...arrivals.map(first => arrivals.filter(at => at >= first && at < first + seconds * 1_000).length),
  )
}

import { retryDelay } from '../../planning/retry.ts'
import type { Substream } from '../../streams/stream.ts'
import { contentionBackoff } from '../admission/retry-rules.ts'
import { hasMet } from '../failures.ts'
import type { StreamLabels } from '../ports.ts'
import type { GroupContext } from './group-scheduler.ts'
import { PutOff } from './put-off.ts'

/** What has expired is moved to the gap ledger this often, ms. */
const EXPIRE_EVERY_MS = 300_000

/** Of so many calls at once; of ever fewer while that takes too long. */
const MOST_CALLS = 100

/** A call of which nothing can be moved, whatever is tried, is tried again after this, ms, and later after twice as long each time. */
const heldBack = { first: 600_000, cap: 6 * 3_600_000 }

/**
 * Moves items of the work queue that have expired to the gap ledger. Each loss has its call summed up in the same
 * statement: where that takes too long, or somebody is in the way, fewer calls are tried, and one that cannot be moved by
 * itself is left until later, so that it keeps no other back.
 */
export class Expiry {
  readonly #context: GroupContext
  readonly #stream: Substream
  readonly #labels: StreamLabels
  readonly #held: PutOff
  #dueAt = Number.NEGATIVE_INFINITY
  #most = MOST_CALLS
  #failures = 0

  constructor(context: GroupContext, stream: Substream) {
    this.#context = context
    this.#stream = stream
    this.#labels = { app: context.app.id, stream: stream.name }
    this.#held = new PutOff(context.clock)
  }

  /** To be called often: does a part of what is to be done. Throws StoreUnavailable where the database is not well. */
  async run(lowerBound: number): Promise<void> {
    const { app, clock, random, log } = this.#context
    if (clock.monotonic() < this.#dueAt) return
    const calls: string[] = []
    try {
      calls.push(...(await this.#nextCalls(lowerBound)))
      const lost = calls.length > 0 ? await this.#expire(lowerBound, calls) : 0
      this.#failures = 0
      // Who had no part in this one has it in the next.
      if (calls.length < this.#most) this.#dueAt = clock.monotonic() + EXPIRE_EVERY_MS
      this.#most = Math.min(MOST_CALLS, this.#most * 2)
      if (lost > 0) log.warn('details of calls expired unread', { ...this.#labels, gaps: lost })
    } catch (error) {
      if (!hasMet({ app, log }, error, this.#labels)) throw error
      const [call, ...others] = calls
      if (call !== undefined && others.length === 0)
        this.#held.add(call, failures => retryDelay(heldBack, failures, random.next()))
      this.#most = 1
      this.#dueAt = clock.monotonic() + retryDelay(contentionBackoff, ++this.#failures, random.next())
    }
  }

  /** One that could not be moved before goes by itself. */
  async #nextCalls(lowerBound: number): Promise<readonly string[]> {
    const { app, store } = this.#context
    const waiting = this.#held.waiting()
    const calls = await store.expiringCalls(app.id, this.#stream.name, lowerBound, waiting, this.#most)
    const again = calls.findIndex(call => this.#held.failures(call) > 0)
    return again < 0 ? calls : calls.slice(0, Math.max(1, again))
  }

  async #expire(lowerBound: number, calls: readonly string[]): Promise<number> {
    const { app, store } = this.#context
    const lost = await store.expireItems(this.#context.fence(), app.id, this.#stream.name, lowerBound, calls)
    for (const call of calls) this.#held.done(call)
    return lost
  }
}

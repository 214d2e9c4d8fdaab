import type pg from 'pg'
import type { Fences } from '../../client/ports.ts'
import { systemClock, systemRandom } from '../../clock/system.ts'
import { appsOfShards, shardOf } from '../../engine/ports/ledger.ts'
import type { Fence } from '../../engine/ports.ts'
import { type ConnectOptions, connect } from '../../postgres/connect.ts'
import { storeError } from '../../postgres/errors.ts'
import { createOwnership, type OwnershipSession } from '../../postgres/ownership.ts'
import { HEARTBEAT_MS } from '../../postgres/shard-jobs.ts'
import { shards } from '../engine-settings.ts'

const owners = `
  select shard, owner, epoch::float8 as epoch from ingest.ownership join ingest.replica using (owner)
  where shard = $1 and seen_at > ingest.clock() - $2::interval`

/**
 * The right of a command to debit requests. Its debits count as those of the daemon that owns the shard of an app. A
 * shard without an owner is taken as long as it is lent, so that a daemon that starts meanwhile waits for one request
 * at most, and for that shard alone.
 */
export class CommandFences implements Fences {
  readonly #connection: ConnectOptions
  readonly #pool: pg.Pool
  readonly #owner = `command/${process.pid}/${systemRandom.uuid().slice(0, 8)}`
  #own: OwnershipSession | undefined
  #lent = 0
  /** Taking and giving back go one after the other. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(connection: ConnectOptions) {
    this.#connection = connection
    this.#pool = connect({ ...connection, poolSize: 1 })
  }

  /** The fence of the daemon that owns the app's shard, else one of our own for the moment. */
  acquire(app: string): ReturnType<Fences['acquire']> {
    return this.#inOrder(async () => {
      const shard = shardOf(app, shards)
      const theirs = await this.#fenceOf(shard)
      if (theirs && theirs.owner !== this.#owner) return { fence: theirs, giveBack: async () => {} }
      const fence = await this.#take(shard)
      if (!fence) return undefined
      this.#lent += 1
      return { fence, giveBack: () => this.#inOrder(() => this.#giveBack()) }
    })
  }

  async close(): Promise<void> {
    await this.#last
    await this.#own?.release().catch(() => {})
    await this.#own?.close()
    await this.#pool.end()
  }

  async #fenceOf(shard: number): Promise<Fence | undefined> {
    const { rows } = await this.#pool
      .query<Fence>(owners, [shard, `${HEARTBEAT_MS} milliseconds`])
      .catch((error: unknown) => {
        throw storeError(error, { text: owners })
      })
    return rows[0]
  }

  async #take(shard: number): Promise<Fence | undefined> {
    this.#own ??= createOwnership({
      ...{ ...this.#connection, owner: this.#owner, clock: systemClock },
      knows: () => appsOfShards([], shards),
    })
    return await this.#own.borrow(shard)
  }

  async #giveBack(): Promise<void> {
    this.#lent -= 1
    if (this.#lent === 0) await this.#own?.release()
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work)
    this.#last = next.catch(() => {})
    return next
  }
}

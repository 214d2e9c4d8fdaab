import type pg from 'pg'
import type { Fence, Ownership } from '../engine/ports.ts'
import { type ConnectOptions, connectOnce } from './connect.ts'
import { storeError } from './errors.ts'

export interface OwnershipOptions extends ConnectOptions {
  /** Name of this process: unique each time it starts. */
  readonly owner: string
  readonly shards: number
  /** How long a shard stays ours without a renewal, ms. */
  readonly ttl: number
}

export interface OwnershipSession extends Ownership {
  /** The same for some of the shards alone. */
  readonly claim: (wanted?: readonly number[]) => Promise<readonly Fence[]>
  readonly close: () => Promise<void>
}

/**
 * Ownership by lease and by session. The lease holds as long as it is renewed; besides, its connection keeps an
 * advisory lock on the owner's name, which the database drops the moment the process dies, so that the next one
 * need not wait for the lease. Needs a direct connection: a pooler that shares sessions would drop the lock.
 */
export function createOwnership(options: OwnershipOptions): OwnershipSession {
  const everyShard = [...Array(options.shards).keys()]
  let session: Promise<pg.Client> | undefined

  function forget(broken: Promise<pg.Client>): void {
    if (session === broken) session = undefined
  }

  /** The lock is shared, so that a new session need not wait until the database has noticed that the old one died. */
  async function open(): Promise<pg.Client> {
    // A connection that is only half there must be noticed while there is time left for another.
    const client = connectOnce({ ...options, queryTimeout: options.ttl / 3 })
    try {
      await client.connect()
      await client.query('select pg_advisory_lock_shared(hashtextextended($1, 0))', [options.owner])
      return client
    } catch (error) {
      abandon(client)
      throw error
    }
  }

  function current(): Promise<pg.Client> {
    if (session) return session
    const opened = open()
    session = opened
    opened.then(
      client => client.on('end', () => forget(opened)),
      () => forget(opened),
    )
    return opened
  }

  async function ask<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[],
  ): Promise<readonly Row[]> {
    const asked = current()
    try {
      return (await (await asked).query<Row>(text, values)).rows
    } catch (error) {
      forget(asked)
      asked.then(abandon, () => {})
      throw storeError(error, { text })
    }
  }

  return {
    claim: async (wanted = everyShard) => {
      const rows = await ask<{ shard: number; epoch: string }>(
        'select * from ingest.claim($1, $2::int[], $3::interval)',
        [options.owner, wanted, `${options.ttl} milliseconds`],
      )
      return rows.map(({ shard, epoch }): Fence => ({ shard, owner: options.owner, epoch: Number(epoch) }))
    },
    release: async () => {
      await ask('select ingest.release($1)', [options.owner])
    },
    close: async () => {
      const last = session
      session = undefined
      await last?.then(client => client.end()).catch(() => {})
    },
  }
}

/** Whether some process, this or another, owns apps at this moment. */
export async function isAnyShardOwned(pool: pg.Pool): Promise<boolean> {
  const text = 'select exists (select from ingest.lease where expires_at > ingest.clock()) as owned'
  const { rows } = await pool.query<{ owned: boolean }>(text)
  return rows[0]!.owned
}

/** Ends a connection that may never answer; nobody waits for it. */
function abandon(client: pg.Client): void {
  client.end().catch(() => {})
}

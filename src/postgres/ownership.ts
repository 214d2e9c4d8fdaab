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

/**
 * Ownership by lease and by session. The lease holds as long as it is renewed; besides, this session keeps an
 * advisory lock on the owner's name, which the database drops the moment the process dies, so that the next one
 * need not wait for the lease. Needs a direct connection: a pooler that shares sessions would drop the lock.
 */
export function createOwnership(
  options: OwnershipOptions,
): Ownership & { readonly close: () => Promise<void> } {
  let session: pg.Client | undefined

  async function open(): Promise<pg.Client> {
    if (session) return session
    // A connection that is only half there must be noticed while there is time left for another.
    const client = connectOnce({ ...options, queryTimeout: options.ttl / 3 })
    client.on('end', () => {
      if (session === client) session = undefined
    })
    try {
      await client.connect()
      await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [options.owner])
    } catch (error) {
      abandon(client)
      throw error
    }
    session = client
    return client
  }

  async function ask<Row extends pg.QueryResultRow>(
    text: string,
    values: unknown[],
  ): Promise<readonly Row[]> {
    try {
      return (await (await open()).query<Row>(text, values)).rows
    } catch (error) {
      if (session) abandon(session)
      session = undefined
      throw storeError(error)
    }
  }

  return {
    claim: async () => {
      const rows = await ask<{ shard: number; epoch: string }>(
        'select * from ingest.claim($1, $2, $3::interval)',
        [options.owner, options.shards, `${options.ttl} milliseconds`],
      )
      return rows.map(({ shard, epoch }): Fence => ({ shard, owner: options.owner, epoch: Number(epoch) }))
    },
    release: async () => {
      await ask('select ingest.release($1)', [options.owner])
    },
    close: async () => {
      await session?.end()
      session = undefined
    },
  }
}

/** Ends a connection that may never answer; nobody waits for it. */
function abandon(client: pg.Client): void {
  client.end().catch(() => {})
}

import type { Random } from '../../clock/clock.ts'
import type { Fence, Ownership } from '../../engine/ports.ts'
import type { ConnectOptions } from '../../postgres/connect.ts'
import { connect } from '../../postgres/connect.ts'
import { createOwnership } from '../../postgres/ownership.ts'
import { ownershipTtl, shards } from '../engine-settings.ts'

/** The right to debit a request for a shard without being the daemon. */
export interface BorrowedFences {
  /** The fence of the daemon that owns the shard, else one of our own; undefined while it changes hands. */
  readonly of: (shard: number) => Promise<Fence | undefined>
  /** Gives back what was taken. */
  readonly close: () => Promise<void>
}

const owners = `
  select shard, owner, epoch::float8 as epoch from ingest.ownership
  where shard = $1 and expires_at > ingest.clock()`

/** Debits of a command count as those of whoever owns the shard; a shard that nobody owns is taken for the moment. */
export function borrowFences(connection: ConnectOptions, random: Random): BorrowedFences {
  const pool = connect({ ...connection, poolSize: 1 })
  let own: (Ownership & { readonly close: () => Promise<void> }) | undefined

  async function current(shard: number): Promise<Fence | undefined> {
    const { rows } = await pool.query<Fence>(owners, [shard])
    return rows[0]
  }

  async function take(shard: number): Promise<Fence | undefined> {
    own ??= createOwnership({
      ...connection,
      owner: `command/${process.pid}/${random.uuid().slice(0, 8)}`,
      shards,
      ttl: ownershipTtl,
    })
    const fences = await own.claim()
    return fences.find(fence => fence.shard === shard)
  }

  return {
    of: async shard => (await current(shard)) ?? (await take(shard)) ?? (await current(shard)),
    close: async () => {
      await own?.release()
      await own?.close()
      await pool.end()
    },
  }
}

import type { Random } from '../../clock/clock.ts'
import { shardOf } from '../../engine/ports/ledger.ts'
import type { Fence } from '../../engine/ports.ts'
import type { ConnectOptions } from '../../postgres/connect.ts'
import { connect } from '../../postgres/connect.ts'
import { storeError } from '../../postgres/errors.ts'
import { createOwnership, type OwnershipSession } from '../../postgres/ownership.ts'
import { ownershipTtl, shards } from '../engine-settings.ts'

/** The right to debit requests without being the daemon. */
export interface OpenFences {
  /**
   * The fence of the daemon that owns the app's shard, else one of our own for the moment; undefined while the shard
   * changes hands. Whoever was lent one gives it back at once after its use.
   */
  readonly acquire: (
    app: string,
  ) => Promise<{ readonly fence: Fence; readonly giveBack: () => Promise<void> } | undefined>
  readonly close: () => Promise<void>
}

const owners = `
  select shard, owner, epoch::float8 as epoch from ingest.ownership join ingest.lease using (shard)
  where shard = $1 and expires_at > ingest.clock()`

const nothingToGiveBack = async () => {}

/**
 * Debits of a command count as those of whoever owns the shard. One that nobody owns is taken as long as it is lent, so
 * that a daemon that starts meanwhile waits for a request at most, and for that shard alone.
 */
export function openFences(connection: ConnectOptions, random: Random): OpenFences {
  const pool = connect({ ...connection, poolSize: 1 })
  const owner = `command/${process.pid}/${random.uuid().slice(0, 8)}`
  let own: OwnershipSession | undefined
  let lent = 0
  /** Taking and giving back go one after the other. */
  let last: Promise<unknown> = Promise.resolve()

  function inOrder<T>(work: () => Promise<T>): Promise<T> {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }

  async function current(shard: number): Promise<Fence | undefined> {
    const { rows } = await pool.query<Fence>(owners, [shard]).catch((error: unknown) => {
      throw storeError(error, { text: owners })
    })
    return rows[0]
  }

  async function take(shard: number): Promise<Fence | undefined> {
    own ??= createOwnership({ ...connection, owner, shards, ttl: ownershipTtl })
    const [fence] = await own.claim([shard])
    return fence
  }

  async function release(): Promise<void> {
    lent -= 1
    if (lent === 0) await own?.release()
  }

  return {
    acquire: app =>
      inOrder(async () => {
        const shard = shardOf(app, shards)
        const theirs = await current(shard)
        if (theirs && theirs.owner !== owner) return { fence: theirs, giveBack: nothingToGiveBack }
        const fence = await take(shard)
        if (!fence) return undefined
        lent += 1
        return { fence, giveBack: () => inOrder(release) }
      }),
    close: async () => {
      await last
      await own?.release().catch(() => {})
      await own?.close()
      await pool.end()
    },
  }
}

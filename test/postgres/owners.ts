import { onTestFinished } from 'vitest'
import { createOwnership } from '../../src/postgres/ownership.ts'
import { VirtualClock } from '../support/virtual-clock.ts'
import { start, type TestStore } from './harness.ts'

export type Owners = ReturnType<typeof ownersOf>

/** Processes that share the four shards of a store, each with a clock of its own. */
export function ownersOf(db: TestStore) {
  return {
    owner: (
      name: string,
      knows: readonly number[] = [1, 1, 1, 1],
      more: { readonly url?: string; readonly copyPatience?: number } = {},
    ) => {
      const clock = new VirtualClock()
      const ownership = createOwnership({ ...db.connection, ...more, owner: name, knows: () => knows, clock })
      onTestFinished(() => ownership.close())
      /** Gives back at once what others should have. */
      const settle = async () => {
        const { surplus } = await ownership.claim()
        if (surplus.length > 0) await ownership.release(surplus)
      }
      return { ...ownership, clock, settle, epochs: async () => epochs((await ownership.claim()).fences) }
    },
    /** Breaks the session that holds a name, as a kill -9 of its process does, and waits until the database knows. */
    breakSession: async (name: string): Promise<void> => {
      const holder = `select pid from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())
    and (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)`
      const pid = await db.value(holder, [name])
      await db.value('select pg_terminate_backend($1)', [pid])
      while ((await db.value(holder, [name])) !== undefined) await Promise.resolve()
    },
  }
}

/** Nobody owns anything, nor has been there. */
export async function forgetOwners(db: TestStore): Promise<void> {
  await db.rows('truncate ingest.ownership, ingest.replica, ingest_jobs.job')
  await db.rows('update ingest_jobs.queue set monitor_claim_on = null, monitor_on = null')
  await db.setTime(start)
}

const epochs = (fences: readonly { readonly shard: number; readonly epoch: number }[]) =>
  fences.map(({ shard, epoch }) => [shard, epoch]).toSorted(([a], [b]) => a! - b!)

/** All shards under one epoch. */
export const all = (epoch: number) => [0, 1, 2, 3].map(shard => [shard, epoch])

import type pg from 'pg'
import { query } from './connect.ts'

/** Tables of schema analytics that are partitioned by time. */
export const partitionedTables = ['session_metric', 'usage_realtime', 'quality_realtime'] as const
export type PartitionedTable = (typeof partitionedTables)[number]

/** How long rows are kept, ms; a table that is not named is kept forever. */
export type Retention = { readonly [T in PartitionedTable]?: number | 'forever' }

/** Partitions are made for as long before and after now; what lies outside goes to the default partition. */
const AROUND = '35 days'

const due = `select d.at::text as at from ingest.partitions_due($1,
  greatest(ingest.clock() - '${AROUND}'::interval, ingest.clock() - $2::interval), ingest.clock() + '${AROUND}'::interval) d(at)`

/**
 * Makes the partitions that will soon be needed and drops those that are older than their table keeps. Each is a
 * statement of its own: one whose table is in use is left for the next time. Throws StoreUnavailable.
 */
export async function keepPartitions(pool: pg.Pool, retention: Retention): Promise<void> {
  for (const table of partitionedTables) {
    const kept = retention[table] ?? 'forever'
    const age = kept === 'forever' ? AROUND : `${kept} milliseconds`
    for (const { at } of await query<{ at: string }>(pool, { text: due, values: [table, age] })) {
      await query(pool, { text: 'select ingest.make_partition($1, $2)', values: [table, at] })
    }
    if (kept === 'forever') continue
    const values = [table, age]
    await query(pool, {
      text: 'select ingest.drop_partitions($1, ingest.clock() - $2::interval)',
      values,
    })
  }
}

import type pg from 'pg'
import { query } from './connect.ts'
import {
  dropPartitions,
  fillPartitions,
  inTurn,
  partitionedTables,
  type Retention,
  type Task,
} from './partitions.ts'
import { pruneIntents } from './players.ts'
import { type Ages, pruneTables } from './prune.ts'

/** The database's clock is believed no further ahead, ms, of what the providers confirm. */
const MOST_AHEAD_MS = 600_000

/**
 * Debits are kept two days, twice the longest window that is counted; two days before the last one of their group,
 * so that a clock that was set forward takes nothing away that still counts.
 */
const pruneDebits = `delete from ingest.debit d using ingest.budget b
  where b.scope = d.scope and b.limit_group = d.limit_group
    and d.sent_at < least($1::timestamptz, b.last_sent_at) - interval '48 hours'`

/** Rows that someone settles at this moment are left to him. */
const expireGaps = `update ingest.gap set state = 'lost', updated_at = ingest.clock()
  where id in (select g.id from ingest.gap g where g.state = 'open' and g.recoverable_until < $1::timestamptz
               for update skip locked)`

/**
 * Makes room for what comes and takes away what is too old. What is too old is told by the database's clock, and by no
 * later time than the providers' clocks confirm (`confirmed`, ms since the epoch): a clock that jumped ahead would take
 * away what cannot be had again. While there is doubt, nothing goes. What the rows say is no evidence, for the same clock
 * dates them, and an app that is quiet must age too. Every task is done whatever becomes of the others.
 */
export async function keepHouse(
  pool: pg.Pool,
  retention: Retention & Ages,
  confirmed: number | undefined,
): Promise<'done' | 'in doubt'> {
  const [clock] = await query<{ at: Date }>(pool, { text: 'select ingest.clock() as at', values: [] })
  const told = clock!.at.getTime()
  const now = new Date(Math.min(told, confirmed ?? told))
  const isDoubtful = confirmed === undefined || told - confirmed > MOST_AHEAD_MS
  const ageing: readonly Task[] = isDoubtful
    ? []
    : [
        () => run(pool, pruneDebits, now),
        () => run(pool, expireGaps, now),
        () => pruneIntents(pool, now),
        ...dropPartitions(pool, retention, now),
        ...pruneTables(pool, retention, now),
      ]
  await inTurn([...fillPartitions(pool, retention, now), ...ageing])
  return isDoubtful ? 'in doubt' : 'done'
}

async function run(pool: pg.Pool, text: string, now: Date): Promise<void> {
  await query(pool, { text, values: [now] })
}

/** Rows that wait in the default partition of a table, as far as they are counted. */
interface LeftBehind {
  readonly table: string
  readonly rows: number
}

/** More than this is as bad as this. */
const MOST_COUNTED = 100_000

/** Those that partitions are made for; a row of 1970 or of 2099 has its place in the default partition. */
const leftBehind = partitionedTables
  .map(
    table => `select 'analytics.${table}' as table, count(*)::int as rows from (
      select from analytics.${table}_default d
      where d.at >= ingest.clock() - interval '35 days' and d.at < ingest.clock() + interval '35 days' limit ${MOST_COUNTED}) d`,
  )
  .join(' union all ')

export function readLeftBehind(pool: pg.Pool): Promise<readonly LeftBehind[]> {
  return query<LeftBehind & pg.QueryResultRow>(pool, { text: leftBehind, values: [] })
}

import type pg from 'pg'
import { appEvents } from '../provider/classroom/index.ts'
import { query } from './connect.ts'
import { sumUpLargeCalls } from './large-calls.ts'
import {
  dropPartitions,
  fillPartitions,
  inBatches,
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
 * Debits are kept two days, twice the longest window that is counted; two days before the last one of their group, and
 * a month at most, so that a clock that was set forward takes nothing away that still counts; and two days before one of
 * the feed that may become a gap and has not yet, by hand for one: what was committed before it tells where the gap begins.
 * Of a group they are in the order of their numbers, so that the oldest and the last that goes are found by the key: the
 * index on times ends up covering all pages, since room that was freed is written again.
 */
const oldDebits = `
  with unread as materialized (
      select u.scope, u.limit_group, min(u.sent_at) as sent_at from ingest.debit u
      where u.limit_group = $3 and u.gap_id is null
        and u.outcome is distinct from 'committed' and u.outcome is distinct from 'refused'
      group by 1, 2
    ), old as materialized (
      select d.ctid
      from ingest.budget b
      left join unread u using (scope, limit_group)
      cross join lateral (
        select least($1::timestamptz, greatest(b.last_sent_at, $1 - interval '28 days'), u.sent_at) - interval '48 hours' as at
      ) bound
      cross join lateral (select e.n, e.sent_at from ingest.debit e
                          where e.scope = b.scope and e.limit_group = b.limit_group order by e.n limit 1) oldest
      cross join lateral (
        select least(oldest.n + $2,
                     ingest.first_debit(b.scope, b.limit_group, '-infinity', bound.at - interval '1 microsecond')) as n
        where oldest.sent_at < bound.at offset 0) stays
      cross join lateral (
        select e.ctid from ingest.debit e where e.scope = b.scope and e.limit_group = b.limit_group and e.n < stays.n
        order by e.n limit $2 for update skip locked) d
      limit $2
    ), gone as (
      delete from ingest.debit d using old where d.ctid = old.ctid returning 1
    )
  select count(*)::int as gone from gone`

/** Debits that go in one statement, and statements of one run: after days without housekeeping millions are due. */
const DEBITS_AT_ONCE = 10_000
const MOST_BATCHES = 200

/** Rows that someone settles at this moment are left to him. */
const expireGaps = `update ingest.gap set state = 'lost', updated_at = ingest.clock()
  where id in (select g.id from ingest.gap g where g.state = 'open' and g.recoverable_until < $1::timestamptz
               for update skip locked)`

/**
 * Makes room for what comes and takes away what is too old. What is too old is told by the database's clock, and by no
 * later time than the providers' clocks confirm (`confirmed`, ms since the epoch): a clock that jumped ahead would take
 * away what cannot be had again. While there is doubt, nothing goes. What the rows say is no evidence, for the same clock
 * dates them, and an app that is quiet must age too. Every task is done whatever becomes of the others; what is left when
 * `signal` aborts is done by the next run.
 */
export async function keepHouse(
  pool: pg.Pool,
  retention: Retention & Ages,
  confirmed: number | undefined,
  signal?: AbortSignal,
): Promise<'done' | 'in doubt'> {
  const [clock] = await query<{ at: Date }>(pool, { text: 'select ingest.clock() as at', values: [] })
  const told = clock!.at.getTime()
  const now = new Date(Math.min(told, confirmed ?? told))
  const isDoubtful = confirmed === undefined || told - confirmed > MOST_AHEAD_MS
  const debits = { text: oldDebits, values: [now, DEBITS_AT_ONCE, appEvents.limitGroup] }
  const ageing: readonly Task[] = isDoubtful
    ? []
    : [
        async () => void (await query(pool, { text: expireGaps, values: [now] })),
        () => pruneIntents(pool, now),
        ...dropPartitions(pool, retention, now),
        ...pruneTables(pool, retention, now),
        signal => inBatches(pool, debits, [DEBITS_AT_ONCE, MOST_BATCHES], signal),
      ]
  const summing: Task = signal => sumUpLargeCalls(pool, signal)
  await inTurn([...fillPartitions(pool, retention, now), ...ageing, summing], signal)
  return isDoubtful ? 'in doubt' : 'done'
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
  return query<LeftBehind>(pool, { text: leftBehind, values: [] })
}

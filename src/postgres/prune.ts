import type pg from 'pg'
import { query } from './connect.ts'
import { foldLosses, foldRooms, foldWork } from './fold.ts'
import type { Task } from './partitions.ts'

/** Tables of rows that nobody asks for any more when they are old, and how long they are kept. */
export const agingTables = ['dead_letter', 'notification', 'cloud_player_change'] as const
export type AgingTable = (typeof agingTables)[number]

/** How long rows are kept, ms; a table that is not named is kept forever. */
export type Ages = { readonly [T in AgingTable]?: number | 'forever' }

/** Rows of one statement, and statements of one run, for each table. */
const BATCH = 5_000
const MOST_BATCHES = 20

const day = 86_400_000

/** A series that came and went: of one that was read whole all the time for which it was asked, nothing is left to tell. */
const PASSED_MS = 7 * day

/** Bookkeeping of what is over: what was mended, and what two answers were at odds about until the log told. */
const SETTLED_MS = 90 * day

/** Longer ago than any plan reaches back and any room is remembered: no answer changes what is known of it. */
const DONE_MS = 400 * day

const removal = (table: string, column: string, condition = 'true') => `
  with old as (select t.ctid from ${table} t where t.${column} < $1 and ${condition} order by t.${column} limit $2 for update skip locked),
    gone as (delete from ${table} t using old where t.ctid = old.ctid returning 1)
  select count(*)::int as gone from gone`

/** By what a room could not be read it is judged as long as there is the room. */
const letters = `
  with old as (select t.id from ingest.dead_letter t where t.last_seen_at < $1 order by t.last_seen_at limit $2 for update skip locked),
    gone as (delete from ingest.dead_letter t using old where t.id = old.id
             returning t.app_id, t.stream, t.series, t.reason, t.last_seen_at),
    kept as (
      insert into ingest.unkept_letter as u (app_id, stream, series, reason, letters, last_seen_at)
      select app_id, stream, series, reason, count(*), max(last_seen_at) from gone
      where stream in (select ingest.room_streams())
        and reason in ('not_an_object', 'missing_key', 'wrong_type', 'out_of_range', 'store_refused')
      group by 1, 2, 3, 4
      on conflict (app_id, stream, series, reason) do update
        set letters = u.letters + excluded.letters, last_seen_at = greatest(u.last_seen_at, excluded.last_seen_at)
    )
  select count(*)::int as gone from gone`

/** Takes away what is older than its table keeps, a batch at a time: a task for each table. */
export function pruneTables(pool: pg.Pool, ages: Ages, now: Date): readonly Task[] {
  const tasks = [
    [letters, ages.dead_letter],
    [removal('players.notification', 'received_at'), ages.notification],
    [removal('players.cloud_player_change', 'changed_at'), ages.cloud_player_change],
    [removal('ingest.gap', 'updated_at', `t.state = 'repaired'`), SETTLED_MS],
    [removal('ingest.divergence', 'resolved_at', 't.resolved_at is not null'), SETTLED_MS],
    [removal('ingest.gap', 'updated_at', `t.state = 'absent'`), DONE_MS],
    [removal('ingest.divergence', 'seen_at', 't.resolved_at is null'), DONE_MS],
    [
      removal('ingest.progress', 'closed_at', `t.unasked <> '{}' and t.covered + t.unasked = '{(,)}'`),
      PASSED_MS,
    ],
    [removal('ingest.progress', 'closed_at', `t.unasked <> '{}'`), DONE_MS],
    [foldLosses, DONE_MS],
    [foldRooms, DONE_MS],
    [foldWork, DONE_MS],
  ] as const
  return tasks.map(([text, kept = 'forever']) => async () => {
    if (kept === 'forever') return
    const before = new Date(now.getTime() - kept)
    for (let batch = 0; batch < MOST_BATCHES; batch++) {
      const [row] = await query<{ gone: number }>(pool, { text, values: [before, BATCH] })
      if (row!.gone < BATCH) return
    }
  })
}

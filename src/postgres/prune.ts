import type pg from 'pg'
import { classroomTables, room } from '../tables/classroom.ts'
import { inBatches, type Task } from './partitions.ts'

/**
 * What is over for long and is judged by all the same, in a smaller form. Each statement folds what is older than $1, so
 * many rows as $2 says, and tells how many it found as `gone`.
 */

/** A call of which nothing is left would be one that nobody has fetched; one of which anything was lost is never whole; what was left out is told. */
const foldWork = `
  with old as (
      select distinct x.app_id, x.stream, x.item
      from (select w.app_id, w.stream, w.item from ingest.work_item w
            where w.state in ('done', 'split', 'lost') and not w.folded and w.range_to < $1 order by w.range_to limit $2) x
    ), items as (
      select w.app_id, w.stream, w.item, w.part, w.folded,
             w.state <> 'split' and row_number() over (
               partition by w.app_id, w.stream, w.item
               order by w.state = 'lost' desc, w.state = 'done' desc, w.left_out desc, w.folded desc, w.part) = 1 as stays
      from old join ingest.work_item w using (app_id, stream, item)
      where w.state in ('done', 'split', 'lost') and w.range_to < $1
    ), folded as (
      update ingest.work_item w set folded = true, ask = null
      from items i where i.stays and not i.folded
        and (w.app_id, w.stream, w.item, w.part) = (i.app_id, i.stream, i.item, i.part)
      returning 1
    ), gone as (
      delete from ingest.work_item w using items i
      where not i.stays and (w.app_id, w.stream, w.item, w.part) = (i.app_id, i.stream, i.item, i.part)
      returning 1
    )
  select (select count(*) from folded)::int + (select count(*) from gone)::int as gone`

/**
 * By what was lost its days and its room are judged for ever. Of time, the row that is left of those which touch the same days
 * touches these days and no other. One whose ranges someone else tells already stays as it is.
 */
const foldLosses = `
  with old as materialized (
      select g.id, g.app_id, g.stream, g.series, g.unit, g.reason, date_trunc('day', g.range_from, 'UTC') as day
      from ingest.gap g where g.state = 'lost' and g.stands_for is null and g.updated_at < $1
      order by g.updated_at limit $2 for update skip locked
    ), concerned as (
      select id from old
      union
      select g.id from (select distinct app_id, stream, reason, day from old where unit = 'time') o
      join ingest.gap g on (g.app_id, g.stream, g.reason) = (o.app_id, o.stream, o.reason) and g.range_from >= o.day
        and g.range_from < o.day + interval '24 hours' and g.stands_for is not null and g.state = 'lost'
      union
      select g.id from (select distinct app_id, stream, series, reason from old where unit = 'sequence') o
      join ingest.gap g on (g.app_id, g.stream, g.series, g.reason) = (o.app_id, o.stream, o.series, o.reason)
        and g.unit = 'sequence' and g.stands_for is not null and g.state = 'lost'
    ), member as materialized (
      select g.* from ingest.gap g where g.id in (select id from concerned) order by g.id for update
    ), placed as (
      select m.*, dense_rank() over (order by app_id, stream, unit, reason, case unit when 'sequence' then series end, incarnation,
                                       date_trunc('day', range_from, 'UTC'),
                                       date_trunc('day', range_to - interval '1 microsecond', 'UTC')) as place
      from member m
    ), folded as (
      select place, (array_agg(id order by range_from, sequence_from, sequence_to desc, id))[1] as id, count(*) > 1 as several,
             array_agg(id) as ids, max(range_to) as range_to, min(sequence_from) as sequence_from, max(sequence_to) as sequence_to,
             min(first_seen_at) as first_seen_at, max(updated_at) as updated_at, sum(coalesce(stands_for, 1)) as stands_for,
             sum(coalesce(extent, extract(epoch from range_to - range_from)::double precision, sequence_to - sequence_from + 1)) as extent
      from placed group by place having bool_or(stands_for is null)
    ), fit as (
      select f.* from folded f join placed p using (id)
      where not exists (
        select from ingest.gap g
        where (g.app_id, g.stream, g.series, g.unit) = (p.app_id, p.stream, p.series, 'sequence')
          and g.incarnation is not distinct from p.incarnation
          and (g.sequence_from, g.sequence_to) = (f.sequence_from, f.sequence_to) and g.id <> all (f.ids))
    ), gone as (
      delete from ingest.gap g using fit f where g.id = any (f.ids) and g.id <> f.id
    ), left_over as (
      update ingest.gap g
      set range_to = f.range_to, sequence_to = f.sequence_to, first_seen_at = f.first_seen_at, updated_at = f.updated_at,
          stands_for = f.stands_for, extent = case when f.several then f.extent else g.extent end
      from fit f where g.id = f.id
    ), alone as (
      update ingest.gap g set stands_for = 1
      from old where g.id = old.id and g.id not in (select unnest(f.ids) from fit f)
    )
  select count(*)::int as gone from old`

/**
 * Of a room's five series one is left, that of its log: it knows by which events and as which incarnation the room is known
 * again, and tells of the others. What each knew at the place where it stopped is not kept: a room that is met again is
 * read from its beginning. The room of an app that was closed last stays as it is: by its series days know which streams
 * there are.
 */
const foldRooms = `
  with log as materialized (
      select p.app_id, p.series from ingest.progress p
      where p.stream = 'room-events' and p.closed_at < $1 and p.folded is null and p.wanted = '{}'
        and p.closed_at < (
          select o.closed_at from ingest.progress o
          where o.app_id = p.app_id and o.stream = 'room-events' and o.folded is null and o.closed_at is not null
          order by o.closed_at desc limit 1)
      order by p.app_id, p.closed_at limit $2 / 5 for update of p skip locked
    ), other as materialized (
      select p.app_id, p.series, p.stream, p.caught_up_at, p.closed_at, p.stream_state - array['fold', 'tail', 'incarnation', 'lost'] as stream_state
      from log join ingest.progress p on (p.app_id, p.series) = (log.app_id, log.series)
        and p.stream in (select ingest.room_streams()) and p.stream <> 'room-events'
      where p.closed_at is not null for update of p skip locked
    ), gone as (
      delete from ingest.progress p using other o where (p.app_id, p.stream, p.series) = (o.app_id, o.stream, o.series)
    ), told as materialized (
      select o.app_id, o.series, jsonb_object_agg(o.stream, jsonb_build_array(
               extract(epoch from o.caught_up_at), extract(epoch from o.closed_at), o.stream_state)) as folded
      from other o group by o.app_id, o.series
    ), kept as (
      update ingest.progress p
      set version = p.version + 1, cursor = null, stream_state = p.stream_state - array['fold', 'tail'], folded = coalesce(t.folded, '{}')
      from log left join told t using (app_id, series)
      where (p.app_id, p.stream, p.series) = (log.app_id, 'room-events', log.series)
    ), counted as materialized (
      select ingest.tally_add('series', o.app_id, o.stream, 'closed', count(*), 0, null) from other o group by o.app_id, o.stream
    )
  select 5 * (select count(*) from log)::int as gone, (select count(*) from counted) as counted`

/** What came of a day is kept when it is over for so long: nearly all of it has been told by then. */
const QUIET_MS = 6 * 3_600_000

/** A tenth as many days and classes as rows of other tables: each takes as long as ten of them. */
const keepAttendance = `select case when ingest.keep_attendance($1, $2 / 10) >= $2 / 10 then $2 else 0 end as gone`

/** As many days as fit into a second. */
const keepUsers = `select case when ingest.keep_users($1, $2) > 0 then $2 else 0 end as gone`

/** What ages: all that happened in rooms, who was in calls, and tables of rows that nobody asks for when they are old. */
type Aging = 'classroom' | 'calls' | 'dead_letter' | 'notification' | 'cloud_player_change'

/** How long rows are kept, ms; what is not named is kept forever. */
export type Ages = { readonly [T in Aging]?: number | 'forever' }

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

/** Tables of what happened in rooms, and of who was in calls and what was made of it. */
const contents = classroomTables.filter(table => table !== room).map(({ name }) => name)
export const ofCalls = [
  'call_session',
  'session_digest',
  'session_summary',
  'call_summary',
  'call_minute',
] as const

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

const ofRoom = '(t.app_id, t.room_uuid, t.incarnation) = (o.app_id, o.room_uuid, o.incarnation)'

/**
 * The room stays, with what it is judged by and known again by: nothing of it becomes incomplete, or another room. As many rooms
 * go together as have some 20,000 events. A room that is never over is left alone, and so is one of a day of which is yet to
 * be kept what came of it. Of one that is forgotten and whose log nobody could read no sign of life is known: it is as old as
 * our knowledge of it.
 */
const emptyRooms = `
  with unkept as materialized (
      select d.app_id, d.begins_at, d.ends_at from ingest.class_day d where d.begins_at < $1 and not d.is_kept
    ), found as materialized (
      select r.app_id, r.room_uuid, r.incarnation, r.state_sequence, greatest(r.last_event_at, r.ended_at, r.verified_at) as last_at
      from classroom.room r
      where greatest(r.last_event_at, r.ended_at, r.verified_at) < $1 and (r.emptied_at is null or r.verified_at > r.emptied_at)
        and coalesce(r.last_event_at, r.ended_at, r.first_seen_at) < $1
        and not exists (select from unkept u where u.app_id = r.app_id
                          and u.begins_at <= coalesce(r.started_at, r.valid_from) and u.ends_at > coalesce(r.started_at, r.valid_from))
      order by 5 limit $2 / 50 for update skip locked
    ), weighed as (
      select f.*, e.events, e.unconfirmed, sum(e.events) over (order by f.last_at, f.app_id, f.room_uuid, f.incarnation) - e.events as before
      from found f
      cross join lateral (select count(*) as events, count(*) filter (where e.source = 'feed') as unconfirmed from classroom.room_event e
                          where (e.app_id, e.room_uuid, e.incarnation) = (f.app_id, f.room_uuid, f.incarnation)) e
    ), old as materialized (
      select w.*, coalesce((select e.source = 'log' from classroom.room_event e
                            where (e.app_id, e.room_uuid, e.incarnation, e.sequence) = (w.app_id, w.room_uuid, w.incarnation, w.state_sequence)),
                           false) as confirmed,
             ingest.unfinished_recordings(w.app_id, w.room_uuid, w.incarnation) as recordings
      from weighed w where w.before < 20000
    ), emptied as (
      update classroom.room t
      set emptied_at = ingest.clock(), emptied = jsonb_build_object(
        'events', o.events, 'unconfirmed', o.unconfirmed, 'confirmed', o.confirmed, 'recordings', o.recordings)
      from old o where ${ofRoom}
    ), unread as (
      -- What is gone is told again, and stored.
      update ingest.progress p set version = p.version + 1, stream_state = p.stream_state - 'tail'
      from old o where (p.app_id, p.series) = (o.app_id, o.room_uuid) and p.stream_state ? 'tail'
    ), ${contents.map((name, n) => `gone_${n} as (delete from ${name} t using old o where ${ofRoom})`).join(', ')}
  select case when exists (select from old) then $2 else 0 end as gone`

/**
 * Comings and goings that retention takes change nothing of what was kept of their day, and could not be reckoned again. The
 * trigger notes them when their statement is over: what this transaction noted goes, and what was noted before it stays.
 */
const unnoted = 'delete from ingest.changed_attendance c where c.xmin = pg_current_xact_id_if_assigned()::xid'

/** The call stays, and what is known of what was read of it; nobody reads its values any more. */
const emptyCalls = `
  with old as materialized (
      select c.app_id, c.call_id from analytics.call c where c.created_at < $1 and c.emptied_at is null
      order by c.created_at limit $2 / 10 for update skip locked
    ), emptied as (
      update analytics.call t set emptied_at = ingest.clock(), extra = null from old o where (t.app_id, t.call_id) = (o.app_id, o.call_id)
    ), ${ofCalls.map((name, n) => `gone_${n} as (delete from analytics.${name} t using old o where (t.app_id, t.call_id) = (o.app_id, o.call_id))`).join(', ')}
  select 10 * (select count(*) from old)::int as gone`

/** Takes away what is older than its table keeps, a batch at a time: a task for each table. */
export function pruneTables(pool: pg.Pool, ages: Ages, now: Date): readonly Task[] {
  const tasks: readonly (readonly [text: string, kept: number | 'forever' | undefined, after?: string])[] = [
    [keepAttendance, QUIET_MS],
    [keepUsers, QUIET_MS],
    [letters, ages.dead_letter],
    [emptyRooms, ages.classroom, unnoted],
    [emptyCalls, ages.calls],
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
  ]
  return tasks.map(([text, kept = 'forever', after]) => async signal => {
    if (kept === 'forever') return
    const statement = { text, values: [new Date(now.getTime() - kept), BATCH] }
    await inBatches(pool, statement, [BATCH, MOST_BATCHES], signal, after)
  })
}

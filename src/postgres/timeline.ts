import type pg from 'pg'
import type { Timeline } from '../engine/ports.ts'
import { query } from './connect.ts'

/** Ranges as pairs of Unix seconds. */
const pairs = (ranges: string) => `(
  select coalesce(json_agg(json_build_array(
    floor(extract(epoch from lower(r)))::bigint, ceil(extract(epoch from upper(r)))::bigint)), '[]')
  from unnest(${ranges}) r where lower(r) is not null and upper(r) is not null)`

const timelines = `
  with clip as (
    select tstzmultirange(tstzrange(ingest.clock() - interval '8 days', ingest.clock())) as whole
  ), gap as (
    select g.app_id, g.stream,
           range_agg(r.range) filter (where g.state = 'open') as waiting,
           range_agg(r.range) filter (where g.state = 'lost') as lost
    from ingest.gap g cross join clip c
    cross join lateral (
      select tstzrange(coalesce(g.range_from, g.first_seen_at), greatest(
        g.range_to, coalesce(g.range_from, g.first_seen_at) + interval '1 second')) as range
    ) r
    where g.state in ('open', 'lost') and g.stands_for is null and g.updated_at > ingest.clock() - interval '8 days'
      and r.range && c.whole
    group by 1, 2
  ), by_time as (
    select p.app_id, p.stream, true as is_by_time, min(p.backlog_from) as begins,
           range_intersect_agg((p.covered + p.unasked + b.before) * c.whole) as complete,
           range_intersect_agg((p.covered + p.seen + p.lost + p.unasked + b.before) * c.whole) as seen,
           range_agg(p.lost * c.whole) as lost
    from ingest.progress p cross join clip c
    cross join lateral (select tstzmultirange(tstzrange(null, p.backlog_from)) as before) b
    where p.backlog_from is not null and p.closed_at is null
      and p.stream in (select s.stream from ingest.stream s where s.kind = 'window')
    group by 1, 2
  ), others as (
    select p.app_id, p.stream, false as is_by_time,
           coalesce(min(p.backlog_from), (select min(r.first_seen_at) from classroom.room r where r.app_id = p.app_id)) as begins,
           null::tstzmultirange as complete, null::tstzmultirange as seen, null::tstzmultirange as lost
    from ingest.progress p
    where p.closed_at is null and p.stream in (select s.stream from ingest.stream s where s.kind <> 'window')
    group by 1, 2
  ), item as (
    select w.app_id, w.stream, range_agg(tstzrange(w.range_from, w.range_to, '[]')) as waiting
    from ingest.work_item w where w.state = 'pending' group by 1, 2
  )
  select app_id as app, stream, t.is_by_time as "isByTime", extract(epoch from t.begins)::double precision as begins,
         ${pairs(`coalesce(t.complete, '{}')`)} as complete, ${pairs(`coalesce(t.seen, '{}')`)} as seen,
         ${pairs(`(coalesce(g.waiting, '{}') + coalesce(i.waiting, '{}')) * c.whole`)} as waiting,
         ${pairs(`(coalesce(g.lost, '{}') + coalesce(t.lost, '{}')) * c.whole`)} as lost
  from (select * from by_time union all select * from others) t
  cross join clip c
  left join gap g using (app_id, stream)
  left join item i using (app_id, stream)
  order by 1, 2`

/** Reads what of the last eight days is stored, of every stream of every app. Throws StoreUnavailable. */
export async function readTimelines(pool: pg.Pool): Promise<readonly Timeline[]> {
  return await query<Timeline & pg.QueryResultRow>(pool, { text: timelines, values: [] })
}

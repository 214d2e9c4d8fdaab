import type pg from 'pg'
import type { Store, WindowProgress } from '../engine/ports.ts'
import { query } from './connect.ts'
import { decodeText, encodeText } from './encode.ts'
import { owned } from './gaps.ts'
import { bind, statement } from './statement.ts'

/** Series of the streams whose progress is time. */

const pairs = (column: string, ranges: string) => `(
     select coalesce(json_agg(json_build_object('from', extract(epoch from lower(r))::bigint, 'to', extract(epoch from upper(r))::bigint)
                              order by r), '[]')
     from unnest(${ranges}) r) as ${column}`

/** Times when a series was not asked for are no backlog, like what was given up. */
const settled = 'p.lost + p.unasked * tstzmultirange(tstzrange(p.backlog_from, null))'

/**
 * Over the years a series has thousands of ranges, and all of them are looked at once a minute. Of what can be asked for no
 * more it only matters what is still to be given up: all else of that time is told as lost, which makes it one range.
 */
const list = statement(
  'windows',
  `select p.series, p.version::int, extract(epoch from p.backlog_from)::double precision as "backlogFrom",
          ${['covered', 'seen', 'missing', 'wanted'].map(column => pairs(column, `p.${column} * e.onwards`)).join(', ')},
          ${pairs('lost', `${settled} + p.covered * e.before`)}
   from ingest.progress p
   cross join (
     select tstzmultirange(tstzrange(null, s.at)) as before, tstzmultirange(tstzrange(s.at, null)) as onwards
     from (select coalesce(to_timestamp(:since::double precision), '-infinity') as at) s
   ) e
   where p.app_id = :app and p.stream = :stream and p.backlog_from is not null and p.closed_at is null
   order by p.series`,
)

/**
 * A series that was closed because nobody asked for it any more is followed again from where it stands; a passing one
 * from now on.
 */
const begin = statement(
  'begin_windows',
  `insert into ingest.progress as p (app_id, stream, series, backlog_from, step, unasked)
   select :app, :stream, s.series, o.backlog_from, :step::int,
          case when :passing::boolean then tstzmultirange(tstzrange(null, o.backlog_from)) else '{}' end
   from unnest(:series::text[]) s(series)
   cross join (select to_timestamp(:backlog_from::double precision) as backlog_from) o
   where ${owned}
   on conflict (app_id, stream, series) do update
     set closed_at = null, step = excluded.step,
         unasked = case when :passing::boolean and isempty(p.unasked) then '{(,)}' - p.seen - p.lost else p.unasked end
           - tstzmultirange(tstzrange(excluded.backlog_from, null))
     where p.closed_at is not null or p.step is distinct from excluded.step or :passing::boolean and isempty(p.unasked)`,
)

/** What was not read of a passing series is no backlog. Answers that it is one. */
const release = statement(
  'release_windows',
  `update ingest.progress p
   set version = p.version + 1, wanted = '{}', unasked = p.unasked + ('{(,)}' - p.seen - p.lost)
   where p.app_id = :app and p.stream = :stream and p.series = :series and p.closed_at is null
     and not isempty(p.unasked) and ${owned}
   returning extract(epoch from upper(p.seen))::double precision as edge`,
)

/** A call or class that nobody saw ending goes on for no longer than a day. */
const live = statement(
  'live_channels',
  `select l.channel, case when not bool_or(l.ended is null) then extract(epoch from max(l.ended))::double precision end as ended
   from (
     select c.cname as channel, c.created_at as begun, case when coalesce(c.finished, c.destroyed_at is not null) then c.destroyed_at end as ended
     from analytics.call c cross join (select to_timestamp(:since::double precision) as at) s
     where c.app_id = :app and c.cname <> '' and c.created_at > s.at - interval '24 hours'
       and (not coalesce(c.finished, c.destroyed_at is not null) or c.destroyed_at > s.at)
     union all
     select r.room_uuid, r.started_at, r.ended_at
     from classroom.room r cross join (select to_timestamp(:since::double precision) as at) s
     where r.app_id = :app and r.started_at > s.at - interval '24 hours' and r.valid_to is null
       and r.forgotten_at is null and (r.ended_at is null or r.ended_at > s.at)
   ) l
   group by l.channel order by max(l.begun) desc, l.channel limit 1000`,
)

/**
 * The backlog before the lower bound is lost, in the gap ledger and in the progress alike. Its row is locked first, so
 * that a page which is committed at this moment has been counted or comes after. A loss that goes on where the last
 * one of its kind ended makes that row longer. What was chosen in passing and never asked for loses nothing; nor do
 * values of which the whole time lies in one when the stream was off, which are looked for no more either.
 */
const expire = statement(
  'expire_windows',
  `with reached as materialized (
     select p.seen, p.wanted, p.missing,
            tstzmultirange(tstzrange(least(p.backlog_from, e.edge), e.edge)) - p.covered - p.lost - p.unasked as passed,
            tstzmultirange(tstzrange(null, e.edge)) as before,
            not isempty(p.unasked) and isempty(p.seen) as "isUnasked", coalesce(p.step, 1) as step
     from ingest.progress p cross join (select to_timestamp(:edge::double precision) as edge) e
     where p.app_id = :app and p.stream = :stream and p.series = :series and p.backlog_from is not null and ${owned}
     for update of p
   ), past as materialized (
     select o.*, o.passed - coalesce((
       select range_agg(tstzrange(w.first, w.last))
       from ingest.stream_off_time f cross join unnest(f.off) h
       cross join lateral (
         select to_timestamp(ceil(extract(epoch from lower(h)) / o.step) * o.step) as first,
                to_timestamp(floor(extract(epoch from upper(h)) / o.step) * o.step) as last) w
       where f.app_id = :app and f.stream = :stream and (w.last is null or w.first < w.last)), '{}') as gone
     from reached o
   ), moved as (
     update ingest.progress p
     set version = p.version + 1, wanted = p.wanted - past.before, missing = p.missing - past.before,
         lost = case when past."isUnasked" then p.lost else p.lost + past.passed end,
         unasked = case when past."isUnasked" then p.unasked + past.passed else p.unasked end
     from past
     where p.app_id = :app and p.stream = :stream and p.series = :series
       and not (isempty(past.passed) and isempty(past.wanted * past.before))
     returning 1
   ), part as (
     select unnest(past.gone * past.missing) as range, 'not_served' as reason, 'absent' as state from past
     union all
     select unnest(past.gone * past.seen - past.missing), 'unconfirmed', 'lost' from past
     union all
     select unnest(past.gone - past.seen), 'expired', 'lost' from past where not past."isUnasked"
   ), extended as (
     update ingest.gap g set range_to = upper(t.range), updated_at = ingest.clock()
     from part t
     where g.app_id = :app and g.stream = :stream and g.series = :series and g.unit = 'time' and g.state = t.state
       and g.reason = t.reason and g.range_to = lower(t.range) and g.stands_for is null
     returning t.range, t.state
   ), recorded as (
     insert into ingest.gap as g (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
     select :app, :stream, :series, 'time', lower(t.range), upper(t.range), t.reason, t.state, ingest.clock(), ingest.clock()
     from part t where t.range not in (select range from extended)
     on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
       set range_to = greatest(g.range_to, excluded.range_to), reason = excluded.reason, state = excluded.state,
           updated_at = ingest.clock()
     returning g.state
   )
   select (count(*) filter (where state = 'lost'))::int as lost, (count(*) filter (where state = 'absent'))::int as absent
   from (select state from extended union all select state from recorded) told`,
)

/** How far series have come whose progress is time. */
export function windowStore(pool: pg.Pool, closeSeries: Store['closeSeries']) {
  const expireWindows: Store['expireWindows'] = async (fence, app, stream, series, lowerBound) => {
    const values = { ...fence, app, stream, series: encodeText(series), edge: lowerBound }
    const [row] = await query<{ lost: number; absent: number }>(pool, bind(expire, values))
    return row!
  }
  return {
    expireWindows,
    windows: async (app, stream, since) => {
      const rows = await query<WindowProgress>(pool, bind(list, { app, stream, since: since ?? null }))
      return rows.map(row => ({ ...row, series: decodeText(row.series) }))
    },
    beginWindows: async (fence, app, stream, series, backlogFrom, step, passing = false) => {
      const asked = { stream, series: series.map(encodeText), step: step ?? null, passing }
      await query(pool, bind(begin, { ...fence, app, ...asked, backlog_from: backlogFrom }))
    },
    // Stopped in the middle it is open still, and left once more.
    leaveWindows: async (fence, app, stream, series) => {
      const values = { ...fence, app, stream, series: encodeText(series) }
      const [row] = await query<{ edge: number | null }>(pool, bind(release, values))
      if (row && row.edge !== null) await expireWindows(fence, app, stream, series, row.edge)
      await closeSeries(fence, app, stream, series)
    },
    liveChannels: async (app, since) => {
      type Row = { channel: string; ended: number | null }
      const rows = await query<Row>(pool, bind(live, { app, since }))
      return rows.map(({ channel, ended }) => ({ channel: decodeText(channel), endedAt: ended }))
    },
  } satisfies Partial<Store>
}

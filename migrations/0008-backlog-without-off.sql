-- What left the reach of the plan while the stream was off is given up like any other range, so that nothing looks for it
-- any more, but nobody wanted it: it is no loss.
create or replace view ingest.backlog as
  select p.app_id, p.stream, p.series, o.seconds, u.seconds as unread_seconds, o.oldest, null::bigint as items,
         l.seconds as lost_seconds, null::bigint as lost_items
  from ingest.progress p
  left join ingest.stream_off_time f on f.app_id = p.app_id and f.stream = p.stream
  cross join lateral (
    select tstzmultirange(tstzrange(p.backlog_from, greatest(p.backlog_from, ingest.clock()))) - p.covered - p.lost - p.unasked + p.wanted as ranges
  ) x
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds, min(lower(r)) as oldest
                      from unnest(x.ranges) r) o
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds
                      from unnest(x.ranges - p.seen + p.wanted) r) u
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds
                      from unnest(p.lost - coalesce(f.off, '{}')) r) l
  where p.backlog_from is not null and p.closed_at is null and p.stream in (select k.stream from ingest.stream k where k.kind = 'window')
  union all
  select w.app_id, w.stream, '', w.seconds, w.seconds,
         (select min(i.range_from) from ingest.work_item i where i.app_id = w.app_id and i.stream = w.stream and i.state = 'pending'),
         w.items, w.lost_seconds, w.lost_items
  from (select t.app_id, t.stream, coalesce(sum(t.things) filter (where t.state = 'pending'), 0)::bigint as items,
               coalesce(sum(t.seconds) filter (where t.state = 'pending'), 0)::bigint as seconds,
               coalesce(sum(t.things) filter (where t.state = 'lost'), 0)::bigint as lost_items,
               coalesce(sum(t.seconds) filter (where t.state = 'lost'), 0)::bigint as lost_seconds
        from ingest.tally t where t.about = 'item' group by 1, 2) w
  where w.items > 0 or w.lost_items > 0;
comment on column ingest.backlog.lost_seconds is 'Seconds that were given up, without those when the stream was off; ingest.gap says why';

set local role penstock_migrate;

-- An item of a page that could not be read is a dead letter, and its page goes on. What it would have told is missing all
-- the same, so nothing that it belongs to is complete. A log does not come back to its items: such a letter counts for as
-- long as the room does. A list is read whole each time: a letter counts while the last reading still met it. Of a log that
-- is read again from its beginning, the letters of the room's former life are older than what is asked for.
create function ingest.unreadable_items(p_app text, p_stream text, p_series text, p_since timestamptz, p_read_at timestamptz)
returns bigint language sql stable parallel safe as $$
  select count(*) from ingest.dead_letter d
  where d.app_id = p_app and d.stream = p_stream and d.series = p_series
    and d.reason in ('not_an_object', 'missing_key', 'wrong_type', 'out_of_range', 'store_refused')
    and d.last_seen_at >= p_since - interval '1 minute'
    and (p_stream not in ('recordings', 'resources') or d.last_seen_at >= p_read_at - interval '1 minute')
$$;
comment on function ingest.unreadable_items is
  'Items of a room''s log or list that came and could not be read since the room was first seen; of a list, those that its last reading met';
revoke execute on function ingest.unreadable_items from public;
grant execute on function ingest.unreadable_items to penstock_runtime, penstock_read;

create or replace view ingest.room_complete as
  select p.app_id, p.series as room_uuid, r.incarnation, p.stream, r.state, p.caught_up_at, p.closed_at, g.gaps,
         x.reason is null as complete, x.reason
  from ingest.progress p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  cross join lateral (select count(*) as gaps from ingest.gap g
                      where g.app_id = p.app_id and g.stream = p.stream and g.series = p.series
                        and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')) g
  left join lateral (select l.whole from ingest.room_log l
                     where p.stream = 'room-events' and l.app_id = p.app_id and l.room_uuid = p.series) l on true
  left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
  cross join lateral (
    select case when not coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at, r.first_seen_at), false) then 'unread'
                when g.gaps > 0 then 'gap'
                when ingest.unreadable_items(p.app_id, p.stream, p.series, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                when p.stream = 'room-events' then case when not coalesce(l.whole, false) then 'unconfirmed' end
                when p.stream = 'recordings' then ingest.unfinished_recordings(r.app_id, r.room_uuid, r.incarnation) end as reason
  ) x
  where p.stream in ('room-events', 'popup-quiz', 'poll', 'recordings', 'resources')
    and not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false);
comment on column ingest.room_complete.reason is
  'Why not: unread, since the end or the last sign of life; gap, in the ledger; unreadable, items that are dead letters; unconfirmed, by the log; files_missing or still_recording, of recordings. Null where complete';

create or replace view ingest.complete_day as
  with told as not materialized (
    select t.app_id, t.stream, t.begin, t.complete and (t.stream <> 'app-events' or g.gaps = 0) as complete, g.gaps, g.reasons
    from (
      select p.app_id, p.stream, d.begin, bool_and(p.covered @> j.judged) as complete
      from ingest.progress p
      left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
      cross join lateral ingest.whole_days(p.owed_from) d(begin)
      cross join lateral (
        select tstzmultirange(tstzrange(d.begin, d.begin + interval '24 hours')) - coalesce(o.off, '{}') as judged
      ) j
      where p.owed_from is not null and ingest.progress_kind(p.stream) = 'window' and not isempty(j.judged)
        and (p.closed_at is null or p.closed_at >= o.off_since - interval '10 minutes')
      group by p.app_id, p.stream, d.begin
      union all
      select p.app_id, p.stream, d.begin,
             (select bool_and(ingest.is_complete(p.stream, p.app_id, lower(j.part), upper(j.part))) from unnest(
               tstzmultirange(tstzrange(d.begin, d.begin + interval '24 hours')) - coalesce(o.off, '{}')) j(part))
      from ingest.progress p
      left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
      cross join lateral (select min(c.owed_from) as owed_from from ingest.progress c where c.app_id = p.app_id and c.stream = 'calls') c
      cross join lateral ingest.whole_days(greatest(p.owed_from, c.owed_from)) d(begin)
      where p.owed_from is not null and p.closed_at is null and ingest.progress_kind(p.stream) = 'detail'
        and not coalesce(o.off @> tstzrange(d.begin, d.begin + interval '24 hours'), false)
      union all
      select p.app_id, p.stream, d.begin,
             coalesce(p.caught_up_at >= least(d.begin + interval '24 hours', o.off_since - interval '10 minutes'), false)
      from ingest.progress p
      left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
      cross join lateral (select min(r.first_seen_at) as at from classroom.room r where r.app_id = p.app_id) s
      cross join lateral ingest.whole_days(s.at) d(begin)
      where p.stream = 'app-events' and s.at is not null
        and not coalesce(o.off @> tstzrange(d.begin, d.begin + interval '24 hours'), false)
    ) t
    cross join lateral (
      select count(*)::int as gaps, string_agg(distinct g.reason, ', ') as reasons from ingest.gap g
      where g.app_id = t.app_id and g.stream = t.stream and g.state in ('open', 'lost')
        and g.range_from < t.begin + interval '24 hours' and g.range_to > t.begin
    ) g
  )
  select t.app_id, (t.begin at time zone 'UTC')::date as day, t.stream, t.complete, t.gaps, t.reasons
  from told t
  union all
  select a.app_id, (d.begin at time zone 'UTC')::date, s.stream, coalesce(t.complete, true) and r.whole and g.gaps = 0, g.gaps,
         nullif(concat_ws(', ', g.reasons, r.reasons), '')
  from (select r.app_id, min(r.first_seen_at) as at from classroom.room r group by r.app_id) a
  cross join unnest(array['room-events', 'popup-quiz', 'poll', 'recordings', 'resources']) s(stream)
  cross join lateral ingest.whole_days(a.at) d(begin)
  left join told t on t.app_id = a.app_id and t.stream = 'app-events' and t.begin = d.begin
  left join ingest.stream_off_time o on o.app_id = a.app_id and o.stream = s.stream
  cross join lateral (
    select coalesce(bool_and(
             (r.started_at is null or r.ended_at is not null and coalesce(e.source = 'log', false))
             and (r.valid_to is not null or coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at), false))
             and u.reason is null
           ), true) as whole, string_agg(distinct u.reason, ', ') as reasons
    from classroom.room r
    left join ingest.progress p on p.app_id = r.app_id and p.stream = s.stream and p.series = r.room_uuid
    left join classroom.room_event e on e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
      and e.sequence = r.state_sequence
    cross join lateral (
      select case when ingest.unreadable_items(r.app_id, s.stream, r.room_uuid, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                  when s.stream = 'recordings' then ingest.unfinished_recordings(r.app_id, r.room_uuid, r.incarnation) end as reason
    ) u
    where r.app_id = a.app_id and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date = (d.begin at time zone 'UTC')::date
      and not coalesce(o.off @> coalesce(r.started_at, r.valid_from), false)
  ) r
  cross join lateral (
    select count(*)::int as gaps, string_agg(distinct g.reason, ', ') as reasons
    from classroom.room r
    join ingest.gap g on g.app_id = r.app_id and g.stream = s.stream and g.series = r.room_uuid
      and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')
    where r.app_id = a.app_id and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date = (d.begin at time zone 'UTC')::date
  ) g
  where exists (select from ingest.progress p where p.app_id = a.app_id and p.stream = s.stream)
    and not coalesce(o.off @> tstzrange(d.begin, d.begin + interval '24 hours'), false);
comment on column ingest.complete_day.reasons is
  'Their reasons, which ingest.loss explains, and of rooms what ingest.room_complete tells of theirs';

reset role;

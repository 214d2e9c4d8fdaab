set local role penstock_migrate;

create table ingest.stream_off (
  app_id text not null, stream text not null, off_at timestamptz not null, on_at timestamptz,
  primary key (app_id, stream, off_at)
);
comment on table ingest.stream_off is 'When which streams of an app were switched off in the configuration: what is complete is not judged by them meanwhile';
comment on column ingest.stream_off.off_at is 'When a daemon first drained the app without the stream';
comment on column ingest.stream_off.on_at is 'When one first drained it with the stream again; null while it is off';

create view ingest.stream_off_time as
  select o.app_id, o.stream, range_agg(tstzrange(o.off_at, o.on_at)) as off, max(o.off_at) filter (where o.on_at is null) as off_since
  from ingest.stream_off o
  group by o.app_id, o.stream;
comment on view ingest.stream_off_time is 'All times during which a stream of an app was off';
comment on column ingest.stream_off_time.off_since is 'Null of a stream that is on';

create function ingest.unfinished_recordings(p_app text, p_room text, p_incarnation int) returns text
language sql stable parallel safe as $$
  select string_agg(distinct case when c.status = 1 then 'still_recording' else 'files_missing' end, ', ')
  from classroom.recording c
  where c.app_id = p_app and c.room_uuid = p_room and c.incarnation = p_incarnation
    and (c.status = 1 or (c.status = 2 or c.ended_at is not null) and coalesce(c.url, '') = ''
      and not exists (select from classroom.recording_file f
                      where f.app_id = c.app_id and f.room_uuid = c.room_uuid and f.incarnation = c.incarnation
                        and f.record_id = c.record_id))
$$;
comment on function ingest.unfinished_recordings is
  'What a class''s recordings lack: files_missing, of one that ended without an address and without files; still_recording, of one that nobody saw ending. Null where nothing is lacking';

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
comment on view ingest.room_complete is
  'Per room and stream that follows rooms: whether all of it up to its last sign of life is stored; not of streams that were off when the room was first used';
comment on column ingest.room_complete.complete is 'Read to its end after the room ended, or showed its last sign of life, and nothing is missing';
comment on column ingest.room_complete.reason is
  'Why not: unread, since the end or the last sign of life; gap, in the ledger; unreadable, items that are dead letters; unconfirmed, by the log; files_missing or still_recording, of recordings. Null where complete';

-- Of several series, each counts from its own first whole day on, so that one that is added takes nothing from the days
-- before it. What is of a room belongs to the day on which its class began, and cannot be whole on a day on which rooms
-- may have been missed. A stream that is switched off is judged up to then: its series were closed with it, and a restart
-- may take ten minutes. Functions and look-ups run for the days that are asked for.
create or replace view ingest.complete_day as
  select d.*, v.expected, v.received
  from (
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
      and not coalesce(o.off @> tstzrange(d.begin, d.begin + interval '24 hours'), false)
  ) d
  left join lateral (
    select sum(86400 / p.step)::bigint as expected,
           sum((select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)
                from unnest(p.covered * tstzmultirange(t.range)) r) / p.step)::bigint as received
    from ingest.progress p
    cross join lateral (
      select tstzrange(d.day::timestamp at time zone 'UTC', (d.day + 1)::timestamp at time zone 'UTC') as range
    ) t
    where p.app_id = d.app_id and p.stream = d.stream and p.step is not null and p.closed_at is null
      and p.owed_from <= lower(t.range)
  ) v on true;
comment on column ingest.complete_day.stream is
  'What is of a room (room-events, popup-quiz, poll, recordings, resources) belongs to the day on which its class began; a day during which a stream was off all the time is not told of';
comment on column ingest.complete_day.complete is
  'What may still change is not complete: calls for an hour, insights for about two days, classes until they were read after their end. A stream that was off is not judged of that time. Nothing of rooms is complete on a day of which app-events, where they are on, are not: a class may be missing altogether';
comment on column ingest.complete_day.gaps is
  'Rows of the gap ledger that touch the day or its classes, open or lost; 0 and not complete: it is still being read, or not final yet, or fewer values were served than expected, or it is of rooms and app-events have gaps or the end of a class was not seen';
comment on column ingest.complete_day.reasons is
  'Their reasons, which ingest.loss explains, and of rooms what ingest.room_complete tells of theirs';
comment on column ingest.complete_day.expected is
  'Values that the provider promises for the day, one for each step of each series; null where it promises no number, as for calls and for single users';
comment on column ingest.complete_day.received is
  'Those of them that are stored and can no longer change; fewer than expected on a complete day there are never: what was not served is absent in ingest.gap and makes no day complete';

grant select, insert, update on ingest.stream_off to penstock_runtime;
grant select on ingest.stream_off_time to penstock_runtime;
revoke execute on function ingest.unfinished_recordings, ingest.unreadable_items from public;
grant execute on function ingest.unfinished_recordings, ingest.unreadable_items to penstock_runtime, penstock_read;
reset role;

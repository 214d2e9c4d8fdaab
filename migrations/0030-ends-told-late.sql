-- An end that has no time of its own is told of a log that is read late by the last event before it that has one: what was read of the
-- room between that time and the answer that told the end was read too early to be whole.
alter table classroom.room add column ended_by timestamptz;
create or replace view ingest.complete_day as
  select d.app_id, d.day, d.days_ago, d.stream, d.complete, d.gaps, case when d.complete then '' else coalesce(nullif(d.reasons, ''), 'unread') end as reasons,
         v.expected, v.received
  from (
    with told as not materialized (
      select t.app_id, t.stream, t.day, t.begins_at, t.ends_at, t.days_ago, t.complete and (t.stream <> 'app-events' or g.gaps = 0) as complete,
             g.gaps, ingest.each_once(case when t.days_ago = 0 then 'not_over' end, t.reasons, g.reasons) as reasons
      from (
        select p.app_id, p.stream, d.day, d.begins_at, d.ends_at, d.days_ago, bool_and(isempty(k.lacking)) as complete,
               ingest.each_once(
                 case when bool_or(not isempty(k.lacking * p.missing)) then 'not_served' end,
                 case when bool_or(not isempty((k.lacking - p.missing - p.lost - p.seen) * tstzmultirange(tstzrange(d.begins_at, d.told_until)))) then 'unread' end,
                 case when bool_or(not isempty((k.lacking - p.missing - p.lost) * p.seen)) then 'not_final' end) as reasons
        from ingest.progress p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        cross join lateral ingest.whole_days(p.app_id, case when isempty(p.unasked) then p.backlog_from else p.backlog_from - interval '25 hours' end) d
        cross join lateral (
          select tstzmultirange(tstzrange(d.begins_at, d.ends_at)) - coalesce(o.off, '{}') as judged
        ) j
        cross join lateral (select j.judged - p.covered - p.unasked as lacking) k
        where p.backlog_from is not null and p.stream in (select k.stream from ingest.stream k where k.kind = 'window') and not isempty(j.judged)
          and (p.closed_at is null or p.closed_at >= o.off_since - interval '10 minutes' or not isempty(p.unasked))
          and d.ends_at > p.backlog_from
        group by p.app_id, p.stream, d.day, d.begins_at, d.ends_at, d.days_ago having bool_or(isempty(p.unasked))
        union all
        select p.app_id, p.stream, d.day, d.begins_at, d.ends_at, d.days_ago, w.whole,
               case when not w.whole then
                 (select string_agg(n.stream, ', ') from unnest(k.needs) n(stream)
                  where not (select bool_and(ingest.is_complete(n.stream, p.app_id, lower(j.part), upper(j.part))) from unnest(b.judged) j(part))) end
        from ingest.progress p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        join ingest.stream k on k.stream = p.stream and k.kind = 'substream'
        cross join lateral (select min(c.backlog_from) as backlog_from from ingest.progress c
                            where c.app_id = p.app_id and c.stream = any (k.needs) and c.stream in (select w.stream from ingest.stream w where w.kind = 'window')) c
        cross join lateral ingest.whole_days(p.app_id, greatest(p.backlog_from, c.backlog_from)) d
        cross join lateral (select tstzmultirange(tstzrange(d.begins_at, d.ends_at)) - coalesce(o.off, '{}') as judged) b
        cross join lateral (
          select bool_and(ingest.is_complete(p.stream, p.app_id, lower(j.part), upper(j.part))) as whole from unnest(b.judged) j(part)
        ) w
        where p.backlog_from is not null and p.closed_at is null
          and not coalesce(o.off @> tstzrange(d.begins_at, d.ends_at), false)
        union all
        select p.app_id, p.stream, d.day, d.begins_at, d.ends_at, d.days_ago, w.whole, case when not w.whole then 'unread' end
        from (
          select f.app_id, f.stream, nullif(min(coalesce(f.caught_up_at, '-infinity')), '-infinity') as caught_up_at
          from ingest.progress f where f.stream = 'app-events' and f.closed_at is null group by f.app_id, f.stream
        ) p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        cross join lateral (select min(r.first_seen_at) as at from classroom.room r where r.app_id = p.app_id) s
        cross join lateral ingest.whole_days(p.app_id, s.at) d
        cross join lateral (
          select coalesce(p.caught_up_at >= least(d.ends_at, o.off_since - interval '10 minutes'), false) as whole
        ) w
        where s.at is not null
          and not coalesce(o.off @> tstzrange(d.begins_at, d.ends_at), false)
      ) t
      cross join lateral (
        select (count(*) filter (where g.state <> 'absent'))::int as gaps, string_agg(distinct g.reason, ', ') as reasons from ingest.gap g
        where g.app_id = t.app_id and g.stream = t.stream and (g.state in ('open', 'lost') or g.state = 'absent' and g.reason = 'not_served')
          and g.range_from < t.ends_at and g.range_to > t.begins_at
      ) g
    )
    select t.app_id, t.stream, t.day, t.begins_at, t.ends_at, t.days_ago, t.complete, t.gaps, t.reasons
    from told t
    union all
    select a.app_id, r.stream, d.day, d.begins_at, d.ends_at, d.days_ago, coalesce(t.complete, true) and r.whole, r.gaps,
           ingest.each_once(case when not t.complete then 'app-events' end, case when not t.complete and d.days_ago = 0 then 'not_over' end, r.reasons)
    from (select r.app_id, min(r.first_seen_at) as at from classroom.room r group by r.app_id) a
    cross join lateral ingest.whole_days(a.app_id, a.at) d
    left join told t on t.app_id = a.app_id and t.stream = 'app-events' and t.day = d.day
    -- The classes of a day are looked up once for all streams; each is looked at closely where there is anything at all: of
    -- hardly any there is.
    cross join lateral (
      with held as materialized (
        select r.room_uuid, r.incarnation, r.first_seen_at, r.ended_at, r.ended_by, r.last_event_at, r.valid_to, r.unread, r.emptied, coalesce(r.started_at, r.valid_from) as began_at,
               case when r.started_at is not null and r.ended_at is null then 'end_not_seen'
                    when r.started_at is not null and not coalesce(e.source = 'log', (r.emptied ->> 'confirmed')::boolean, false) then 'unconfirmed' end as reason
        from classroom.room r
        left join classroom.room_event e on e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
          and e.sequence = r.state_sequence
        where r.app_id = a.app_id
          and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
            between (d.begins_at at time zone 'UTC')::date and ((d.ends_at - interval '1 microsecond') at time zone 'UTC')::date
          and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
      )
      select s.stream, bool_and(v.reason is null and u.reason is null and g.gaps = 0) as whole, sum(g.gaps)::int as gaps,
             ingest.each_once(string_agg(g.reasons, ', '), string_agg(v.reason, ', '), string_agg(u.reason, ', ')) as reasons
      from ingest.stream s
      left join ingest.stream_off_time o on o.app_id = a.app_id and o.stream = s.stream
      left join held r on not coalesce(o.off @> r.began_at, false)
      left join ingest.progress p on p.app_id = a.app_id and p.stream = s.stream and p.series = r.room_uuid
      cross join lateral (
        select coalesce(r.reason, case when r.room_uuid is not null and not (r.valid_to is not null or coalesce(p.caught_up_at > coalesce(r.ended_by, r.ended_at, r.last_event_at), false))
                                      or coalesce(r.unread ? s.stream, false)
                                    then 'unread' end) as reason
      ) v
      cross join lateral (
        select case when (exists (select from ingest.dead_letter x where x.app_id = a.app_id and x.stream = s.stream and x.series = r.room_uuid)
                          or exists (select from ingest.unkept_letter x where x.app_id = a.app_id and x.stream = s.stream and x.series = r.room_uuid))
                     and ingest.unreadable_items(a.app_id, s.stream, r.room_uuid, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                    when 'classroom.recording' = any (s.writes)
                     and (r.emptied is not null or exists (select from classroom.recording x where x.app_id = a.app_id and x.room_uuid = r.room_uuid
                                                           and x.incarnation = r.incarnation))
                      then ingest.unfinished_recordings(a.app_id, r.room_uuid, r.incarnation) end as reason
        offset 0
      ) u
      cross join lateral (
        select count(*)::int as gaps, string_agg(g.reason, ', ') as reasons from ingest.gap g
        where g.app_id = a.app_id and g.stream = s.stream and g.series = r.room_uuid
          and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')
      ) g
      where s.scope = 'room' and exists (select from ingest.progress p where p.app_id = a.app_id and p.stream = s.stream)
        and not coalesce(o.off @> tstzrange(d.begins_at, d.ends_at), false)
      group by s.stream
    ) r
  ) d
  -- A step is counted in the day in which it begins: those of a day may reach into the next.
  left join lateral (
    select sum(ceil(extract(epoch from d.ends_at) / p.step) - ceil(extract(epoch from d.begins_at) / p.step))::bigint as expected,
           sum((select coalesce(sum(ceil(extract(epoch from upper(r)) / p.step) - ceil(extract(epoch from lower(r)) / p.step)), 0)
                from unnest(p.covered * tstzmultirange(tstzrange(d.begins_at, d.ends_at))) r))::bigint as received
    from ingest.progress p
    where p.app_id = d.app_id and p.stream = d.stream and p.step is not null and p.closed_at is null and isempty(p.unasked)
      and p.backlog_from <= d.begins_at
  ) v on true;
create or replace view ingest.room_complete as
  select p.app_id, p.series as room_uuid, r.incarnation, p.stream, r.state, p.caught_up_at, p.closed_at, g.gaps,
         x.reason is null as complete, x.reason, d.day
  from (
    select p.app_id, p.stream, p.series, p.caught_up_at, p.closed_at from ingest.progress p
    where p.stream in (select ingest.room_streams())
    union all
    select p.app_id, f.stream, p.series, to_timestamp((f.kept ->> 0)::double precision), to_timestamp((f.kept ->> 1)::double precision)
    from ingest.progress p cross join lateral jsonb_each(p.folded) f(stream, kept)
    where p.stream = 'room-events' and p.folded is not null
  ) p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  cross join lateral (select coalesce(sum(coalesce(g.stands_for, 1)), 0)::bigint as gaps from ingest.gap g
                      where g.app_id = p.app_id and g.stream = p.stream and g.series = p.series
                        and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')) g
  left join lateral (select l.whole from ingest.room_log l
                     where p.stream = 'room-events' and l.app_id = p.app_id and l.room_uuid = p.series) l on true
  left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
  cross join lateral (
    select case when not coalesce(p.caught_up_at > coalesce(r.ended_by, r.ended_at, r.last_event_at, r.first_seen_at), false) then 'unread'
                when g.gaps > 0 then 'gap'
                when ingest.unreadable_items(p.app_id, p.stream, p.series, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                when p.stream = 'room-events' then case when not coalesce(l.whole, false) then 'unconfirmed' end
                when p.stream in (select s.stream from ingest.stream s where 'classroom.recording' = any (s.writes))
                  then ingest.unfinished_recordings(r.app_id, r.room_uuid, r.incarnation) end as reason
  ) x
  where not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false);
create or replace view classroom.class_complete as
  select r.app_id, r.room_uuid, r.incarnation, d.day, r.started_at, case when r.ended_at <= r.started_at then null else r.ended_at end as ended_at,
         c.reason is null and s.streams > 0 and s.lacking is null as complete, coalesce(s.lacking, '') as lacking,
         case when c.reason is null and s.streams > 0 and s.lacking is null then ''
              else ingest.each_once(c.reason, case when s.streams = 0 then 'unread' end, s.reasons) end as reasons, s.gaps
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  left join classroom.room_event e on e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
    and e.sequence = r.state_sequence
  cross join lateral (
    select case when r.ended_at is null and r.valid_to is null and r.forgotten_at is null and coalesce(r.state, 0) < 2 then 'not_over'
                when r.started_at is not null and r.ended_at is null then 'end_not_seen'
                when r.started_at is not null and not coalesce(e.source = 'log', (r.emptied ->> 'confirmed')::boolean, false) then 'unconfirmed' end as reason
  ) c
  cross join lateral (
    select count(*) as streams, string_agg(x.stream, ', ' order by x.place) filter (where x.reasons <> '') as lacking,
           string_agg(x.reasons, ', ') as reasons, coalesce(sum(x.gaps), 0)::int as gaps
    from (
      select p.stream, p.place, g.gaps, concat_ws(', ',
               g.reasons,
               case when coalesce(r.unread ? p.stream, false)
                      or r.valid_to is null and not coalesce(p.caught_up_at > coalesce(r.ended_by, r.ended_at, r.last_event_at, r.first_seen_at), false)
                 then 'unread' end,
               -- Letters of a log count as long as the room does, those of a list while its last reading met them.
               case when exists (
                   select from ingest.dead_letter l
                   where l.app_id = r.app_id and l.stream = p.stream and l.series = r.room_uuid
                     and l.reason in ('not_an_object', 'missing_key', 'wrong_type', 'out_of_range', 'store_refused')
                     and l.last_seen_at >= r.first_seen_at - interval '1 minute' and (r.valid_to is null or l.received_at < r.valid_to)
                     and (p.kind <> 'snapshot' or l.last_seen_at >= p.caught_up_at - interval '1 minute'))
                 or exists (
                   select from ingest.unkept_letter l
                   where l.app_id = r.app_id and l.stream = p.stream and l.series = r.room_uuid
                     and l.reason in ('not_an_object', 'missing_key', 'wrong_type', 'out_of_range', 'store_refused')
                     and l.last_seen_at >= r.first_seen_at - interval '1 minute' and (r.valid_to is null or l.last_seen_at < r.valid_to)
                     and (p.kind <> 'snapshot' or l.last_seen_at >= p.caught_up_at - interval '1 minute'))
                 then 'unreadable' end,
               case when 'classroom.room_event' = any (p.writes) then
                 case when case when r.verified_at <= r.emptied_at then (r.emptied ->> 'unconfirmed')::bigint > 0
                           else exists (select from classroom.room_event f
                                        where f.app_id = r.app_id and f.room_uuid = r.room_uuid and f.incarnation = r.incarnation
                                          and f.source = 'feed') end
                   then 'unconfirmed' end end,
               case when 'classroom.recording' = any (p.writes) then
                 case when r.verified_at <= r.emptied_at then r.emptied ->> 'recordings' else (
                   select string_agg(distinct case when k.status = 1 then 'still_recording' else 'files_missing' end, ', ')
                   from classroom.recording k
                   where k.app_id = r.app_id and k.room_uuid = r.room_uuid and k.incarnation = r.incarnation
                     and (k.status = 1 or (k.status = 2 or k.ended_at is not null) and coalesce(k.url, '') = ''
                       and not exists (select from classroom.recording_file f
                                       where f.app_id = k.app_id and f.room_uuid = k.room_uuid and f.incarnation = k.incarnation
                                         and f.record_id = k.record_id))) end end) as reasons
      from (
        select n.stream, n.place, n.kind, n.writes, n.caught_up_at from (
          select k.stream, k.place, k.kind, k.writes, q.caught_up_at
          from ingest.stream k join ingest.progress q on q.app_id = r.app_id and q.stream = k.stream and q.series = r.room_uuid
          where k.scope = 'room'
          union all
          select k.stream, k.place, k.kind, k.writes, to_timestamp((f.kept ->> 0)::double precision)
          from ingest.progress q cross join lateral jsonb_each(q.folded) f(stream, kept)
          join ingest.stream k on k.stream = f.stream
          where q.app_id = r.app_id and q.stream = 'room-events' and q.series = r.room_uuid
        ) n
        left join ingest.stream_off_time o on o.app_id = r.app_id and o.stream = n.stream
        where not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false)
      ) p
      cross join lateral (
        select count(*)::int as gaps, string_agg(g.reason, ', ') as reasons from ingest.gap g
        where g.app_id = r.app_id and g.stream = p.stream and g.series = r.room_uuid
          and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')
      ) g
    ) x
  ) s;

-- An app that is in several regions has a feed in each: rooms may have been missed on a day on which any of them had not
-- told all. Those of regions that it is in no more are closed, and owe nothing.
set local role penstock_migrate;

create or replace view ingest.complete_day as
  select d.*, v.expected, v.received
  from (
    with told as not materialized (
      select t.app_id, t.stream, t.begin, t.complete and (t.stream <> 'app-events' or g.gaps = 0) as complete, g.gaps, g.reasons
      from (
        select p.app_id, p.stream, d.begin, bool_and(p.covered + p.unasked @> j.judged) as complete
        from ingest.progress p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        cross join lateral ingest.whole_days(
          case when isempty(p.unasked) then p.owed_from else date_trunc('day', p.owed_from, 'UTC') end) d(begin)
        cross join lateral (
          select tstzmultirange(tstzrange(d.begin, d.begin + interval '24 hours')) - coalesce(o.off, '{}') as judged
        ) j
        where p.owed_from is not null and ingest.progress_kind(p.stream) = 'window' and not isempty(j.judged)
          and (p.closed_at is null or p.closed_at >= o.off_since - interval '10 minutes' or not isempty(p.unasked))
        group by p.app_id, p.stream, d.begin having bool_or(isempty(p.unasked))
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
        from (
          select f.app_id, f.stream, nullif(min(coalesce(f.caught_up_at, '-infinity')), '-infinity') as caught_up_at
          from ingest.progress f where f.stream = 'app-events' and f.closed_at is null group by f.app_id, f.stream
        ) p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        cross join lateral (select min(r.first_seen_at) as at from classroom.room r where r.app_id = p.app_id) s
        cross join lateral ingest.whole_days(s.at) d(begin)
        where s.at is not null
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
    where p.app_id = d.app_id and p.stream = d.stream and p.step is not null and p.closed_at is null and isempty(p.unasked)
      and p.owed_from <= lower(t.range)
  ) v on true;

comment on column classroom.room.region is 'Region whose feed named the room, or in which its log was read last';

-- classroom.class tells no end of a class of which nobody knows when it ended (0025), and these views told its start for one. The calls
-- of such a class are found as they were.
create or replace view analytics.class_call as
  select c.app_id, r.room_uuid, r.incarnation, c.call_id, c.created_at, c.destroyed_at, c.finished,
         r.started_at as class_started_at, case when r.ended_at <= r.started_at then null else r.ended_at end as class_ended_at,
         coalesce(r.started_at, r.valid_from) as class_began_at, c.emptied_at
  from analytics.call c
  join classroom.room r on r.app_id = c.app_id and r.room_uuid = c.cname
    and c.created_at >= r.valid_from - interval '15 minutes'
    and c.created_at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    and c.created_at < coalesce(r.ended_at, case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity')
                       + interval '1 hour'
  where not exists (select from classroom.room b
                    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
                      and c.created_at < coalesce(b.valid_to, 'infinity') - interval '1 minute');
comment on column analytics.class_call.class_ended_at is
  'When the class ended, as classroom.class tells it: null while it goes on, and where nobody knows';
comment on column analytics.class_quality.ended_at is
  'When the class ended, as classroom.class tells it: null while it goes on, and where nobody knows';

-- What is known of a class, also of one whose room was used again since. Readers of less read this view too, so it calls no
-- function that reads tables with their rights.
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
                      or r.valid_to is null and not coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at, r.first_seen_at), false)
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
comment on column classroom.class_complete.ended_at is
  'When it ended, as classroom.class tells it: null while it goes on, where nobody saw its end, and where nobody knows when that was';

-- Of a poll of whose votes none is read and whose shares the provider leaves out, an option that it counts votes of had a share of 0.
create or replace view classroom.poll_result as
  select p.app_id, p.room_uuid, p.incarnation, p.poll_id,
         case p.mode when 1 then 'single choice' when 2 then 'multiple choice' end as mode,
         case when coalesce(r.ended_at, r.forgotten_at, r.valid_to) is null then p.state when p.state is not null then 'ended' end as state,
         o.option_index,
         case jsonb_typeof(p.items) when 'array' then p.items ->> o.option_index else p.items ->> o.option_index::text end as option,
         coalesce(o.num, o.chosen) as votes,
         coalesce(o.percentage, coalesce(o.num, o.chosen)::double precision / nullif(o.voters, 0), case when coalesce(o.num, o.chosen) = 0 and o.told > 0 then 0 end) as share, d.day
  from classroom.poll p
  left join classroom.room r using (app_id, room_uuid, incarnation)
  cross join lateral (
    select o.option_index, max(o.num) as num, max(o.percentage) as percentage, count(distinct o.voter)::int as chosen,
           max(max(o.voters)) over () as voters, sum(max(o.num)) over () as told
    from (
      select x.option_index, x.num, x.percentage, null::bigint as voter, 0 as voters from classroom.poll_tally x
      where x.app_id = p.app_id and x.room_uuid = p.room_uuid and x.incarnation = p.incarnation and x.poll_id = p.poll_id
      union all
      select i.place, null, null, null, 0
      from generate_series(0, case jsonb_typeof(p.items) when 'array' then jsonb_array_length(p.items) else 0 end - 1) i(place)
      union all
      select k.name::int, null, null, null, 0
      from jsonb_object_keys(case jsonb_typeof(p.items) when 'object' then p.items else '{}' end) k(name) where k.name ~ '^\d{1,9}$'
      union all
      select i.place, null, null, s.voter, s.voters
      from (
        select s.select_index, row_number() over () as voter, count(*) over () as voters
        from (
          select distinct on (x.user_uuid, case x.user_uuid when '' then x.ordinal end) x.select_index from classroom.poll_submission x
          where x.app_id = p.app_id and x.room_uuid = p.room_uuid and x.incarnation = p.incarnation and x.poll_id = p.poll_id
          order by x.user_uuid, case x.user_uuid when '' then x.ordinal end, x.ordinal desc
        ) s
        where s.select_index <> '{}'
      ) s
      cross join lateral unnest(s.select_index) i(place)
      where i.place >= 0
    ) o
    group by o.option_index
  ) o
  left join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at;
comment on column classroom.poll_result.share is
  'Share of those who voted, 0 to 1; of a multiple choice the shares come to more than 1. While nobody has voted it is 0 where the provider counts, and null where it does not, as where votes are counted and neither shares nor single votes are told';

-- A stay that is told to have ended before it began lasted for no time, as in the views of calls and classes, and not for less than none.
create or replace view analytics.session_quality as
  select s.app_id, s.call_id, s.sid, s.cname, s.uid, s.network, s.platform, s.device_type, s.sdk_version, s.speaker,
         s.joined_at, s.left_at, d.day,
         extract(epoch from case when s.left_at < s.joined_at then interval '0' else s.left_at - s.joined_at end)::double precision / 60 as minutes,
         coalesce(q.samples, 0)::bigint as samples, coalesce(q.bad_samples, 0)::bigint as bad_samples,
         coalesce(q.freeze_samples, 0)::bigint as freeze_samples, coalesce(q.freezes, 0)::bigint as freezes,
         q.audio_freeze_avg_ms,
         q.video_freeze_avg_ms,
         q.audio_loss_avg_pct,
         q.video_loss_avg_pct,
         q.rtt_avg_ms,
         coalesce(q.audio_loss_samples, 0)::bigint as audio_loss_samples,
         coalesce(q.rtt_samples, 0)::bigint as rtt_samples,
         extract(epoch from case when s.left_at < s.joined_at then interval '0' else s.left_at - s.joined_at end)::double precision / 60
           * q.talk_samples / q.volume_samples as talk_minutes,
         (s.joined_at at time zone 'UTC')::date as utc_day
  from analytics.call_session s
  join ingest.app a on a.app_id = s.app_id
  left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (s.joined_at at time zone 'UTC')::date
    and s.joined_at >= d.begins_at and s.joined_at < d.ends_at
  left join analytics.session_summary q on q.app_id = s.app_id and q.call_id = s.call_id and q.sid = s.sid;
comment on column analytics.session_quality.minutes is
  'Length of the stay, and no time where its end is told to be before its begin; null while its end is not known';
comment on column analytics.session_quality.talk_minutes is
  'How long the user talked: the share of the values of the sampling volume of sent audio (mid 20025) that are at least analytics.metric.talk_from, of the length of the stay. Null where that metric was not measured, as of one who sends nothing, and while the end of the stay is not known';

create or replace view classroom.user_call as
  select r.app_id, r.room_uuid, r.incarnation, d.day, u.user_uuid, u.user_name, u.is_student,
         case when c.sid is not null then case when z.user_link = 'stream' then 'stream' else 'rule' end when u.is_shared then 'shared'
              when u.uids is not null and (
                exists (select from analytics.class_call k
                        where k.app_id = r.app_id and k.room_uuid = r.room_uuid and k.incarnation = r.incarnation
                          and not coalesce((select bool_and(w.state in ('done', 'split')) from ingest.work_item w
                                            where w.app_id = k.app_id and w.stream = 'call-sessions' and w.item = k.call_id), false))
                or exists (select from ingest.progress p
                           where p.app_id = r.app_id and p.stream = 'calls' and p.closed_at is null
                             and not p.covered + p.seen + p.lost + tstzmultirange(tstzrange(null, p.backlog_from))
                                     @> tstzrange(coalesce(r.started_at, r.valid_from),
                                                  greatest(r.ended_at, r.last_event_at, r.started_at, r.valid_from), '[]')))
                then 'unread'
              else 'none' end as linked_by,
         c.call_id, c.sid, c.uid, c.joined_at, c.left_at,
         extract(epoch from case when coalesce(c.left_at, c.destroyed_at) < c.joined_at then interval '0'
                                 else coalesce(c.left_at, c.destroyed_at) - c.joined_at end)::double precision / 60 as minutes,
         c.network, c.platform, c.device_type, coalesce(q.samples, 0)::bigint as samples,
         g.audio_bad_share, g.video_bad_share, q.audio_freeze_avg_ms, q.video_freeze_avg_ms, q.audio_loss_avg_pct, q.video_loss_avg_pct, q.rtt_avg_ms,
         extract(epoch from case when c.left_at < c.joined_at then interval '0' else c.left_at - c.joined_at end)::double precision / 60
           * q.talk_samples / q.volume_samples as talk_minutes,
         case when c.sid is not null then coalesce(k.partial, true) end as partial
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  cross join lateral (
    select w.user_uuid, max(w.user_name) as user_name, bool_and(w.is_student) as is_student,
           array_agg(w.uid) filter (where not w.is_shared and w.uid is not null) as uids, bool_or(w.is_shared) as is_shared
    from (
      select p.user_uuid, p.user_name, p.is_student, p.uid,
             p.uid is not null and min(p.user_uuid) over (partition by p.uid) <> max(p.user_uuid) over (partition by p.uid) as is_shared
      from (
        select a.user_uuid, max(a.user_name) as user_name, bool_and(classroom.is_student(a.role)) as is_student, l.uid
        from classroom.attendance a
        cross join lateral (select split_part(z.user_link, '{uid}', 1) as head, split_part(z.user_link, '{uid}', 2) as tail) t
        cross join lateral (
          select nullif(case when z.user_link = 'stream' then a.stream_uuid
                             when z.user_link <> 'off' and starts_with(a.user_uuid, t.head) and right(a.user_uuid, length(t.tail)) = t.tail
                               then substr(a.user_uuid, length(t.head) + 1, length(a.user_uuid) - length(t.head) - length(t.tail)) end, '') as uid
        ) l
        where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation and a.user_uuid is not null and a.action = 'enter'
        group by a.user_uuid, l.uid
      ) p
    ) w
    group by w.user_uuid
  ) u
  left join lateral (
    select s.*, k.destroyed_at from analytics.class_call k
    join analytics.call_session s on s.app_id = k.app_id and s.call_id = k.call_id
    where k.app_id = r.app_id and k.room_uuid = r.room_uuid and k.incarnation = r.incarnation and s.uid = any (u.uids)
  ) c on true
  left join analytics.session_summary q on q.app_id = r.app_id and q.call_id = c.call_id and q.sid = c.sid
  left join analytics.call_summary k on k.app_id = r.app_id and k.call_id = c.call_id
  left join lateral (
    select sum(m.bad) filter (where m.mid in (20005, 20016))::double precision / sum(m.samples) filter (where m.mid in (20005, 20016)) as audio_bad_share,
           sum(m.bad) filter (where m.mid in (20011, 20018))::double precision / sum(m.samples) filter (where m.mid in (20011, 20018)) as video_bad_share
    from analytics.session_digest e cross join lateral unnest(e.mids, e.samples, e.bad_samples) m(mid, samples, bad)
    where e.app_id = r.app_id and e.call_id = c.call_id and e.sid = c.sid
  ) g on true;

-- A room that is gone may never have been told to end.
comment on column players.orphan_player.room_state is
  'Of the room of that name: 0 not started, 1 gone with no end seen, 2 ended, 3 closed; null where there is none, or its state is not known';

-- Of a poll the provider tells how often the options were chosen, and need not tell of those that nobody chose, or of any before somebody
-- votes: of what it does not tell the votes themselves do, the last of each who voted.
create or replace view classroom.poll_result as
  select p.app_id, p.room_uuid, p.incarnation, p.poll_id,
         case p.mode when 1 then 'single choice' when 2 then 'multiple choice' end as mode,
         case when coalesce(r.ended_at, r.forgotten_at, r.valid_to) is null then p.state when p.state is not null then 'ended' end as state,
         o.option_index,
         case jsonb_typeof(p.items) when 'array' then p.items ->> o.option_index else p.items ->> o.option_index::text end as option,
         coalesce(o.num, o.chosen) as votes,
         coalesce(o.percentage, coalesce(o.num, o.chosen)::double precision / nullif(o.voters, 0), case when o.chosen = 0 and o.told > 0 then 0 end) as share, d.day
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
comment on column classroom.poll_result.votes is
  'Votes for the option: as the provider counted them last, and where it has not told of the option, as counted from the last votes of each user';
comment on column classroom.poll_result.share is
  'Share of those who voted, 0 to 1; of a multiple choice the shares come to more than 1. While nobody has voted it is 0 where the provider counts, and null where it does not';

-- A user who came with several streams, or with none at first, was told as found and as not found, once for each; and who was not found
-- at all, or is in the call still, as there for no minutes.
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
         extract(epoch from c.left_at - c.joined_at)::double precision / 60 * q.talk_samples / q.volume_samples as talk_minutes,
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
comment on column classroom.user_call.minutes is
  'Length of the stay in the call; where nobody saw its end, until the call ended; null where no stay was found, and while neither is known';

-- Who was a teacher in any stay is no student who came late, as in the other views.
create or replace view classroom.late_arrival as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at as class_started_at, a.user_uuid, a.user_name, a.entered_at,
         extract(epoch from a.entered_at - r.started_at)::double precision / 60 as minutes_late, d.day
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  cross join lateral (
    select e.user_uuid, (array_agg(e.user_name order by e.sequence, e.ordinal))[1] as user_name,
           (array_agg(e.at order by e.sequence, e.ordinal))[1] as entered_at
    from classroom.attendance e
    where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
      and e.user_uuid is not null and e.action = 'enter'
    group by e.user_uuid having bool_and(classroom.is_student(e.role))
  ) a
  where a.entered_at > r.started_at + interval '5 minutes';

-- A class of which nobody knows when it ended (0025) did not end at its start for those who came before; and what is told to have ended
-- before it began lasted for no time, not for less: an event of the stage or of hands is dated by when it was served, and the leaving
-- of its user, which ends it, has a time of its own.
create or replace view classroom.attendance_interval as
  select app_id, room_uuid, incarnation, user_uuid, user_name, role, at as entered_at, left_at,
         case when left_at < at then interval '0'
              else coalesce(left_at, case when ended_at > at and (ended_at <= started_at) is not true then ended_at
                                          when forgotten_at is not null or valid_to is not null then greatest(last_event_at, at) end) - at end as stayed
  from (
    select a.*, r.started_at, r.ended_at, r.forgotten_at, r.valid_to, r.last_event_at, lead(a.at) over (person order by a.sequence, a.ordinal) as left_at
    from (
      select o.*, lag(o.action) over (
               partition by o.app_id, o.room_uuid, o.incarnation, o.user_uuid order by o.sequence, o.ordinal) as action_before
      from (
        select b.app_id, b.room_uuid, b.incarnation, b.user_uuid, b.user_name, b.role, b.at, b.sequence, b.ordinal,
               case when not b.is_both then b.action
                    when (case when b.entered <> b.went then b.went < b.entered
                               else coalesce((
                                 select p.action from classroom.attendance p
                                 where p.app_id = b.app_id and p.room_uuid = b.room_uuid and p.incarnation = b.incarnation
                                   and p.user_uuid = b.user_uuid and p.sequence < b.sequence
                                   and not exists (
                                     select from classroom.attendance q
                                     where q.app_id = p.app_id and q.room_uuid = p.room_uuid and q.incarnation = p.incarnation
                                       and q.user_uuid = p.user_uuid and q.sequence = p.sequence and q.action <> p.action)
                                 order by p.sequence desc limit 1) = 'enter', false) end)
                      then case b.action when 'enter' then 'leave' else 'enter' end
                    else b.action end as action
        from (
          select n.*, n.is_first or n.is_second as is_both,
                 case when n.is_first then classroom.time_of_entry(n.extra) when n.is_second then classroom.time_of_entry(n.extra_before) end as entered,
                 case when n.is_first then classroom.time_of_entry(n.extra_after) when n.is_second then classroom.time_of_entry(n.extra) end as went
          from (
            select x.*, lag(x.extra) over beside as extra_before, lead(x.extra) over beside as extra_after,
                   coalesce(x.action = 'enter' and lead(x.action) over beside = 'leave' and lead(x.sequence) over beside = x.sequence, false) as is_first,
                   coalesce(x.action = 'leave' and lag(x.action) over beside = 'enter' and lag(x.sequence) over beside = x.sequence, false) as is_second
            from classroom.attendance x where x.user_uuid is not null
            window beside as (partition by x.app_id, x.room_uuid, x.incarnation, x.user_uuid order by x.sequence, x.ordinal)
          ) n
        ) b
      ) o
    ) a
    join classroom.room r using (app_id, room_uuid, incarnation)
    where a.action is distinct from a.action_before
    window person as (partition by a.app_id, a.room_uuid, a.incarnation, a.user_uuid)
  ) spans
  where action = 'enter';

create or replace view classroom.stage_or_hand_interval as
  select s.what, r.app_id, r.room_uuid, r.incarnation, s.user_uuid,
         (select max(a.user_name) from classroom.attendance a
          where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation and a.user_uuid = s.user_uuid) as user_name,
         s.at as began_at, s.until as ended_at,
         case when s.until < s.at then interval '0'
              else coalesce(s.until, case when r.ended_at > s.at and (r.ended_at <= r.started_at) is not true then r.ended_at
                                          when r.forgotten_at is not null or r.valid_to is not null then greatest(r.last_event_at, s.at) end) - s.at end as lasted
  from classroom.room r
  cross join lateral (
    select c.what, c.user_uuid, c.at, c.is_on, lead(c.at) over (partition by c.what, c.user_uuid order by c.sequence, c.ordinal) as until
    from (
      select x.*, lag(x.is_on) over (partition by x.what, x.user_uuid order by x.sequence, x.ordinal) as was_on
      from (
        select 'stage' as what, m.user_uuid, m.sequence, m.ordinal, m.at, m.action <> 'remove' as is_on from classroom.stage_change m
        where m.app_id = r.app_id and m.room_uuid = r.room_uuid and m.incarnation = r.incarnation
        union all
        select 'hand', m.user_uuid, m.sequence, m.ordinal, m.at, m.action <> 'remove' from classroom.hand_wave m
        where m.app_id = r.app_id and m.room_uuid = r.room_uuid and m.incarnation = r.incarnation
        union all
        select w.what, a.user_uuid, a.sequence, a.ordinal, a.at, false
        from classroom.attendance a cross join (values ('stage'), ('hand')) w(what)
        where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation and a.action = 'leave'
      ) x
      where x.user_uuid is not null
    ) c
    where c.is_on is distinct from c.was_on
  ) s
  where s.is_on;
comment on column classroom.attendance_interval.stayed is
  'Until left_at, and no time where that is dated before entered_at; else until the class ended, where that is known; else until the last event of a room that is gone; null of one who is still there';
comment on column classroom.stage_or_hand_interval.lasted is
  'Until ended_at, and no time where that is dated before began_at; else until the class ended, where that is known; else until the last event of a room that is gone; null while it goes on';
comment on column classroom.stage_interval.lasted is
  'Until ended_at, and no time where that is dated before began_at; else until the class ended, where that is known; else until the last event of a room that is gone; null of one who is still there';
comment on column classroom.hand_interval.lasted is
  'Until ended_at, and no time where that is dated before began_at; else until the class ended, where that is known; else until the last event of a room that is gone; null while it is up';

-- What is counted, where a description did not say it.
comment on column analytics.usage_by_day.calls is
  'Calls that are stored: 0 also of a day whose calls were not read, as before the first; ingest.complete_day tells whether they were';
comment on column analytics.usage_by_day.reported is
  'Usage insights by metric, which the provider counts for the day of UTC of the same date; null where none were read. It counts who was there on that day, not the users of the calls that began on it, and counts again about two days later';
comment on column analytics.session_quality.minutes is 'Length of the stay; null while its end is not known';
comment on column classroom.attendance_by_day.classes is
  'How many classes began; one that has not begun counts on the day on which its room was first heard of';
comment on column classroom.attendance_by_week.classes is
  'How many classes began; one that has not begun counts in the week in which its room was first heard of';

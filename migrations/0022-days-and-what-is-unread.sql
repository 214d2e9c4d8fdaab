-- Who was in a call is known once its stays were read to their end; until then nobody is not an answer. What retention took of
-- a call is not known any more. A call whose summary is whole was read; of the few others the work that is left
-- is looked up. Days of a year are reckoned by several processes, which Postgres does with no subquery that depends on the row
-- before it: so the unread calls are joined, in two parts.
create or replace view analytics.usage_by_day as
  select x.app_id, x.day, count(x.call_seconds)::int as calls, coalesce(sum(x.call_seconds), 0)::double precision / 60 as call_minutes,
         case when count(x.person) > 0 or count(x.unread) = 0 and bool_or(x.is_emptied) is distinct from true then count(distinct x.person)::int end as users,
         case when count(x.person) > 0 or count(x.unread) = 0 and bool_or(x.is_emptied) is distinct from true then count(x.person)::int end as sessions,
         case when count(x.person) > 0 or count(x.unread) = 0 and bool_or(x.is_emptied) is distinct from true
           then coalesce(sum(x.user_seconds), 0)::double precision / 60 end as user_minutes,
         jsonb_object_agg(x.metric, x.value) filter (where x.metric is not null) as reported,
         count(x.unread)::int as calls_unread
  from (
    select c.app_id, d.day, coalesce(extract(epoch from greatest(c.destroyed_at - c.created_at, interval '0')), 0) as call_seconds,
           null::text as person, null::numeric as user_seconds, null::text as metric, null::double precision as value,
           c.emptied_at is not null as is_emptied, null::text as unread
    from analytics.call c
    join ingest.app a on a.app_id = c.app_id
    left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (c.created_at at time zone 'UTC')::date
      and c.created_at >= d.begins_at and c.created_at < d.ends_at
    union all
    select c.app_id, d.day, null, coalesce(s.uid, s.sid),
           extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at) - s.joined_at, interval '0')), null, null, null, null
    from analytics.call c
    join analytics.call_session s on s.app_id = c.app_id and s.call_id = c.call_id
    join ingest.app a on a.app_id = c.app_id
    left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (c.created_at at time zone 'UTC')::date
      and c.created_at >= d.begins_at and c.created_at < d.ends_at
    union all
    select c.app_id, d.day, null, null, null, null, null, null, c.call_id
    from analytics.call c
    left join analytics.call_summary q on q.app_id = c.app_id and q.call_id = c.call_id
    join ingest.app a on a.app_id = c.app_id
    left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (c.created_at at time zone 'UTC')::date
      and c.created_at >= d.begins_at and c.created_at < d.ends_at
    where coalesce(q.partial, true)
      and not exists (select from ingest.work_item w
                      where w.app_id = c.app_id and w.stream = 'call-sessions' and w.item = c.call_id and w.state in ('done', 'split'))
    union all
    select c.app_id, d.day, null, null, null, null, null, null, c.call_id
    from analytics.call c
    left join analytics.call_summary q on q.app_id = c.app_id and q.call_id = c.call_id
    join ingest.app a on a.app_id = c.app_id
    left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (c.created_at at time zone 'UTC')::date
      and c.created_at >= d.begins_at and c.created_at < d.ends_at
    where coalesce(q.partial, true)
      and exists (select from ingest.work_item w
                  where w.app_id = c.app_id and w.stream = 'call-sessions' and w.item = c.call_id and w.state in ('done', 'split'))
      and exists (select from ingest.work_item w
                  where w.app_id = c.app_id and w.stream = 'call-sessions' and w.item = c.call_id and (w.state = 'pending' or w.state = 'lost'))
    union all
    select i.app_id, (i.at at time zone 'UTC')::date, null, null, null, i.metric, i.value, null, null
    from analytics.usage_insight i where i.granularity = 'day'
  ) x
  group by x.app_id, x.day;
comment on column analytics.usage_by_day.users is
  'Different users of the day, as far as its calls are read (calls_unread); null where of none of them is known who was in it. sessions counts their stays';
comment on column analytics.usage_by_day.sessions is 'Stays of users; null where users is';
comment on column analytics.usage_by_day.user_minutes is 'Lengths of all stays together; null where users is';
comment on column analytics.usage_by_day.calls_unread is 'Those of the calls of which who was in them is not read to its end: it is still to be read, was given up, or is not asked for';

create or replace view analytics.call_quality as
  select c.app_id, c.call_id, c.cname, c.created_at, c.destroyed_at, c.finished,
         case when c.destroyed_at is not null
           then extract(epoch from greatest(c.destroyed_at - c.created_at, interval '0'))::double precision / 60 end as minutes,
         case when s.sessions > 0 or k.is_known then s.users end as users,
         case when s.sessions > 0 or k.is_known then s.sessions end as sessions,
         case when s.sessions > 0 or k.is_known then s.user_minutes end as user_minutes,
         coalesce(q.samples, 0)::bigint as samples, q.bad_samples::double precision / nullif(q.samples, 0) as bad_share,
         q.audio_freeze_avg_ms, q.audio_freeze_p95_ms,
         q.video_freeze_avg_ms, q.video_freeze_p95_ms,
         q.audio_loss_avg_pct, q.audio_loss_p95_pct,
         q.video_loss_avg_pct, q.video_loss_p95_pct,
         q.rtt_avg_ms, q.rtt_p95_ms,
         coalesce(q.partial, true) as partial, d.day
  from analytics.call c
  join ingest.app a on a.app_id = c.app_id
  left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (c.created_at at time zone 'UTC')::date
    and c.created_at >= d.begins_at and c.created_at < d.ends_at
  left join analytics.call_summary q on q.app_id = c.app_id and q.call_id = c.call_id
  left join lateral (
    select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at) - s.joined_at, interval '0'))), 0)::double precision / 60
             as user_minutes
    from analytics.call_session s where s.app_id = c.app_id and s.call_id = c.call_id
  ) s on true
  cross join lateral (
    select c.emptied_at is null and case when not q.partial then true else coalesce((
             select bool_and(w.state in ('done', 'split')) from ingest.work_item w
             where w.app_id = c.app_id and w.stream = 'call-sessions' and w.item = c.call_id), false) end as is_known
  ) k;
comment on column analytics.call_quality.users is
  'Different users; null while nobody was read of the call and it is not known that nobody was in it. sessions counts their stays';
comment on column analytics.call_quality.sessions is 'Stays of users; null where users is';
comment on column analytics.call_quality.user_minutes is 'Lengths of all stays together; null where users is';
comment on column analytics.call_quality.day is 'On which the call began, in the time zone of the app';

create or replace view analytics.worst_calls as
  select q.* from analytics.call_quality q where q.bad_share > 0 order by q.bad_share desc, q.user_minutes desc;
comment on column analytics.worst_calls.users is 'Different users; sessions counts their stays';
comment on column analytics.worst_calls.day is 'On which the call began, in the time zone of the app';

create or replace view analytics.class_call as
  select c.app_id, r.room_uuid, r.incarnation, c.call_id, c.created_at, c.destroyed_at, c.finished,
         r.started_at as class_started_at, r.ended_at as class_ended_at,
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
comment on column analytics.class_call.class_began_at is 'When the class started, or its room was first heard of: by this it has its day';
comment on column analytics.class_call.emptied_at is 'When retention took who was in the call; null until then';

create or replace view analytics.class_quality as
  select c.app_id, c.room_uuid, c.incarnation, c.started_at, c.ended_at, c.calls, c.first_call_at, c.last_call_end,
         case when s.sessions > 0 or c.is_known then s.users end as users,
         case when s.sessions > 0 or c.is_known then s.sessions end as sessions,
         case when s.sessions > 0 or c.is_known then s.user_minutes end as user_minutes, c.samples, c.bad_share, c.audio_freeze_avg_ms, c.audio_freeze_p95_ms,
         c.video_freeze_avg_ms, c.video_freeze_p95_ms, c.audio_loss_avg_pct, c.audio_loss_p95_pct, c.video_loss_avg_pct, c.video_loss_p95_pct,
         c.rtt_avg_ms, c.rtt_p95_ms, p.cloud_players, c.partial, c.day, c.calls_unread
  from (
    select k.app_id, k.room_uuid, k.incarnation, k.class_started_at as started_at, k.class_ended_at as ended_at, count(*)::int as calls, array_agg(k.call_id) as ids,
         min(k.created_at) as first_call_at, max(greatest(k.destroyed_at, k.created_at)) as last_call_end,
         coalesce(sum(q.samples), 0)::bigint as samples, sum(q.bad_samples)::double precision / nullif(sum(q.samples), 0) as bad_share,
         sum(q.audio_freeze_avg_ms * q.audio_freeze_samples) / sum(q.audio_freeze_samples) as audio_freeze_avg_ms, max(q.audio_freeze_p95_ms) as audio_freeze_p95_ms,
         sum(q.video_freeze_avg_ms * q.video_freeze_samples) / sum(q.video_freeze_samples) as video_freeze_avg_ms, max(q.video_freeze_p95_ms) as video_freeze_p95_ms,
         sum(q.audio_loss_avg_pct * q.audio_loss_samples) / sum(q.audio_loss_samples) as audio_loss_avg_pct, max(q.audio_loss_p95_pct) as audio_loss_p95_pct,
         sum(q.video_loss_avg_pct * q.video_loss_samples) / sum(q.video_loss_samples) as video_loss_avg_pct, max(q.video_loss_p95_pct) as video_loss_p95_pct,
         sum(q.rtt_avg_ms * q.rtt_samples) / sum(q.rtt_samples) as rtt_avg_ms, max(q.rtt_p95_ms) as rtt_p95_ms,
         bool_or(coalesce(q.partial, true)) as partial, d.day, (count(*) filter (where not w.is_read))::int as calls_unread,
         bool_and(w.is_read and w.is_kept) as is_known
    from analytics.class_call k
    join ingest.app z on z.app_id = k.app_id
    left join ingest.calendar d on d.time_zone = z.time_zone and d.utc_day = (k.class_began_at at time zone 'UTC')::date
      and k.class_began_at >= d.begins_at and k.class_began_at < d.ends_at
    left join analytics.call_summary q on q.app_id = k.app_id and q.call_id = k.call_id
    cross join lateral (
      select k.emptied_at is null as is_kept, case when not q.partial then true else coalesce((
               select bool_and(w.state in ('done', 'split')) from ingest.work_item w
               where w.app_id = k.app_id and w.stream = 'call-sessions' and w.item = k.call_id), false) end as is_read
    ) w
    group by 1, 2, 3, 4, 5, d.day
  ) c
  left join lateral (
    select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, k.destroyed_at) - s.joined_at, interval '0'))), 0)::double precision / 60
             as user_minutes
    from analytics.call_session s
    join analytics.call k on k.app_id = s.app_id and k.call_id = s.call_id
    where s.app_id = c.app_id and s.call_id = any (c.ids)
  ) s on true
  left join lateral (
    select count(*)::int as cloud_players from players.class_player p
    where p.app_id = c.app_id and p.room_uuid = c.room_uuid and p.incarnation = c.incarnation
  ) p on true;
comment on column analytics.class_quality.users is
  'Different users, as far as its calls are read (calls_unread); null where of none of them is known who was in it. sessions counts their stays';
comment on column analytics.class_quality.sessions is 'Stays of users; null where users is';
comment on column analytics.class_quality.user_minutes is 'Lengths of all stays together; null where users is';
comment on column analytics.class_quality.day is 'On which the class began, in the time zone of the app';
comment on column analytics.class_quality.calls_unread is 'Those of its calls of which who was in them is not read to its end: it is still to be read, was given up, or is not asked for';

-- A stay that is not found in calls that are not read may be there all the same.
create or replace view classroom.user_call as
  select r.app_id, r.room_uuid, r.incarnation, d.day, u.user_uuid, u.user_name, u.is_student,
         case when u.is_shared then 'shared' when c.sid is not null then case when z.user_link = 'stream' then 'stream' else 'rule' end
              when u.uid is not null and (
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
         extract(epoch from greatest(coalesce(c.left_at, c.destroyed_at) - c.joined_at, interval '0'))::double precision / 60 as minutes,
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
  ) u
  left join lateral (
    select s.*, k.destroyed_at from analytics.class_call k
    join analytics.call_session s on s.app_id = k.app_id and s.call_id = k.call_id
    where k.app_id = r.app_id and k.room_uuid = r.room_uuid and k.incarnation = r.incarnation and s.uid = u.uid and not u.is_shared
  ) c on true
  left join analytics.session_summary q on q.app_id = r.app_id and q.call_id = c.call_id and q.sid = c.sid
  left join analytics.call_summary k on k.app_id = r.app_id and k.call_id = c.call_id
  left join lateral (
    select sum(m.bad) filter (where m.mid in (20005, 20016))::double precision / sum(m.samples) filter (where m.mid in (20005, 20016)) as audio_bad_share,
           sum(m.bad) filter (where m.mid in (20011, 20018))::double precision / sum(m.samples) filter (where m.mid in (20011, 20018)) as video_bad_share
    from analytics.session_digest e cross join lateral unnest(e.mids, e.samples, e.bad_samples) m(mid, samples, bad)
    where e.app_id = r.app_id and e.call_id = c.call_id and e.sid = c.sid
  ) g on true;
comment on column classroom.user_call.linked_by is
  'How the stay was found to be the user''s. stream: its uid is the uuid of the stream of the user in the class; rule: the user ID holds it as apps[].userLink says; shared: several users of the class would have it, so nothing is said; unread: none was found yet, and of the calls of the class not everything is read; none: no stay in the calls of the class has it, or apps[].userLink is off';

-- Days of classes, where a view lacked them.
create or replace view classroom.late_arrival as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at as class_started_at, a.user_uuid, a.user_name, a.entered_at,
         extract(epoch from a.entered_at - r.started_at)::double precision / 60 as minutes_late, d.day
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  cross join lateral (
    select distinct on (e.user_uuid) e.user_uuid, e.user_name, e.at as entered_at
    from classroom.attendance e
    where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
      and e.user_uuid is not null and e.action = 'enter' and classroom.is_student(e.role)
    order by e.user_uuid, e.sequence, e.ordinal
  ) a
  where a.entered_at > r.started_at + interval '5 minutes';
comment on column classroom.late_arrival.day is 'On which the class began, in the time zone of the app';

create or replace view classroom.participation as
  select r.app_id, r.room_uuid, r.incarnation, p.user_uuid, p.user_name, p.role, p.is_student, p.entered_at, p.left_at, p.stays, p.minutes,
         (select count(*)::int from classroom.chat_message m
          where m.app_id = r.app_id and m.room_uuid = r.room_uuid and m.incarnation = r.incarnation
            and m.user_uuid = p.user_uuid) as messages,
         (select count(*)::int from classroom.hand_wave h
          where h.app_id = r.app_id and h.room_uuid = r.room_uuid and h.incarnation = r.incarnation
            and h.user_uuid = p.user_uuid and h.action = 'add') as hands,
         (select coalesce(sum(w.changed_reward), 0) from classroom.reward w
          where w.app_id = r.app_id and w.room_uuid = r.room_uuid and w.incarnation = r.incarnation
            and w.user_uuid = p.user_uuid) as rewards,
         (select count(distinct s.quiz_id)::int from classroom.quiz_submission s
          where s.app_id = r.app_id and s.room_uuid = r.room_uuid and s.incarnation = r.incarnation
            and s.user_uuid = p.user_uuid) as quizzes_answered,
         (select count(distinct s.poll_id)::int from classroom.poll_submission s
          where s.app_id = r.app_id and s.room_uuid = r.room_uuid and s.incarnation = r.incarnation
            and s.user_uuid = p.user_uuid) as polls_voted, d.day
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  cross join lateral (
    select i.user_uuid, max(i.user_name) as user_name, max(i.role) as role, bool_and(classroom.is_student(i.role)) as is_student,
           min(i.entered_at) as entered_at, max(i.entered_at + i.stayed) as left_at, count(*)::int as stays,
           sum(extract(epoch from i.stayed))::double precision / 60 as minutes
    from classroom.attendance_interval i
    where i.app_id = r.app_id and i.room_uuid = r.room_uuid and i.incarnation = r.incarnation
    group by i.user_uuid
  ) p;
comment on column classroom.participation.day is 'On which the class began, in the time zone of the app';

create or replace view classroom.quiz_result as
  select q.app_id, q.room_uuid, q.incarnation, q.quiz_id, q.started_at,
         case when coalesce(r.ended_at, r.forgotten_at, r.valid_to) is null then q.state when q.state is not null then 'ended' end as state,
         q.total_count as asked,
         s.answered, s.correct, s.correct::double precision / nullif(s.answered, 0) as accuracy,
         q.average_accuracy as reported_accuracy, d.day
  from classroom.quiz q
  left join classroom.room r using (app_id, room_uuid, incarnation)
  left join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  cross join lateral (
    select count(*)::int as answered, (count(*) filter (where a.is_correct))::int as correct
    from (
      select distinct on (x.user_uuid, case x.user_uuid when '' then x.ordinal end) x.is_correct from classroom.quiz_submission x
      where x.app_id = q.app_id and x.room_uuid = q.room_uuid and x.incarnation = q.incarnation and x.quiz_id = q.quiz_id
      order by x.user_uuid, case x.user_uuid when '' then x.ordinal end, x.ordinal desc
    ) a
  ) s;
comment on column classroom.quiz_result.day is 'On which the class began, in the time zone of the app';

create or replace view classroom.quiz_accuracy as
  select q.app_id, q.room_uuid, q.incarnation, count(*)::int as quizzes, sum(q.asked)::int as asked,
         sum(q.answered)::int as answered, sum(q.correct)::int as correct,
         sum(q.correct)::double precision / nullif(sum(q.answered), 0) as accuracy, q.day
  from classroom.quiz_result q
  group by q.app_id, q.room_uuid, q.incarnation, q.day;
comment on column classroom.quiz_accuracy.day is 'On which the class began, in the time zone of the app';

create or replace view classroom.poll_result as
  select p.app_id, p.room_uuid, p.incarnation, p.poll_id,
         case p.mode when 1 then 'single choice' when 2 then 'multiple choice' end as mode,
         case when coalesce(r.ended_at, r.forgotten_at, r.valid_to) is null then p.state when p.state is not null then 'ended' end as state,
         t.option_index,
         case jsonb_typeof(p.items) when 'array' then p.items ->> t.option_index else p.items ->> t.option_index::text end as option,
         t.num as votes, t.percentage as share, d.day
  from classroom.poll p
  left join classroom.room r using (app_id, room_uuid, incarnation)
  join classroom.poll_tally t using (app_id, room_uuid, incarnation, poll_id)
  left join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at;
comment on column classroom.poll_result.day is 'On which the class began, in the time zone of the app';

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
    select case when not coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at, r.first_seen_at), false) then 'unread'
                when g.gaps > 0 then 'gap'
                when ingest.unreadable_items(p.app_id, p.stream, p.series, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                when p.stream = 'room-events' then case when not coalesce(l.whole, false) then 'unconfirmed' end
                when p.stream in (select s.stream from ingest.stream s where 'classroom.recording' = any (s.writes))
                  then ingest.unfinished_recordings(r.app_id, r.room_uuid, r.incarnation) end as reason
  ) x
  where not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false);
comment on column ingest.room_complete.day is 'On which the class began, in the time zone of the app';

-- What is known of a class, also of one whose room was used again since. Readers of less read this view too, so it calls no
-- function that reads tables with their rights.
create view classroom.class_complete as
  select r.app_id, r.room_uuid, r.incarnation, d.day, r.started_at, r.ended_at,
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
comment on view classroom.class_complete is
  'Every class: whether all that is of it is stored, its log, quizzes, polls, recordings and resources; ask for an app and a day, or for one class';
comment on column classroom.class_complete.app_id is 'App ID of the project';
comment on column classroom.class_complete.room_uuid is 'The provider''s classroom ID, also the channel name of its calls';
comment on column classroom.class_complete.incarnation is 'Counts from 1 how often this room_uuid has been used for a new room';
comment on column classroom.class_complete.day is 'On which it began, in the time zone of the app; one that has not begun, on which its room was first heard of';
comment on column classroom.class_complete.started_at is 'When the class started';
comment on column classroom.class_complete.ended_at is 'When it ended; null while it goes on, and where nobody saw its end';
comment on column classroom.class_complete.complete is
  'The class is over, and each stream that follows rooms was read to its end after that and lacks nothing. Not judged are streams that were off when it began, nor the calls in it, of which ingest.complete_day tells';
comment on column classroom.class_complete.lacking is 'Streams of which something is missing, with commas between them; empty where there is none, and never null';
comment on column classroom.class_complete.reasons is
  'Why it is not complete, in words with commas between them; empty where it is, and never null. not_over: it goes on or has not begun; end_not_seen: its room is gone, and nobody saw it end; unconfirmed: by the log, something that the feed told; unread: not read to its end since the class was over; unreadable: items are dead letters; files_missing or still_recording, of recordings; the words of its gaps, which ingest.loss explains';
comment on column classroom.class_complete.gaps is 'Rows of the gap ledger of the class, open or lost';

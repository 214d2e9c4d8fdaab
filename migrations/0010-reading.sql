-- A third role that nobody logs in as: its members read what people ask about, and write nothing.
do $$
begin
  begin
    if to_regrole('penstock_read') is null then
      create role penstock_read nologin;
    end if;
  exception when duplicate_object or unique_violation then null;
  end;
exception when insufficient_privilege then
  raise exception 'the role penstock_read must exist' using errcode = 'insufficient_privilege',
    hint = 'As a superuser: create role penstock_read nologin;';
end
$$;

set local role penstock_migrate;

grant usage on schema ingest, classroom, analytics, players to penstock_read;
grant select on all tables in schema ingest, classroom, analytics, players to penstock_read;
alter default privileges for role penstock_migrate in schema ingest grant select on tables to penstock_read;
alter default privileges for role penstock_migrate in schema classroom grant select on tables to penstock_read;
alter default privileges for role penstock_migrate in schema analytics grant select on tables to penstock_read;
alter default privileges for role penstock_migrate in schema players grant select on tables to penstock_read;
-- What could not be read was not understood either: secrets are taken out of it by their names alone, as far as it goes.
-- So its bytes are for those who look after the daemon, and their digest too, by which a guess could be tried.
revoke select on ingest.dead_letter from penstock_read;
grant select (id, app_id, stream, series, reason, detail, received_at, last_seen_at, occurrences)
  on ingest.dead_letter to penstock_read;

-- Days are those of UTC whatever the session's time zone is. This one finds the sessions of a day.
create index session_by_day on analytics.call_session (app_id, ((joined_at at time zone 'UTC')::date));

create function classroom.is_student(p_role text) returns boolean language sql immutable parallel safe
  as $$ select coalesce(lower(trim(p_role)), '') not in ('1', '3', 'teacher', 'host', 'assistant') $$;
comment on function classroom.is_student is
  'Whether a role is neither 1, teacher or host nor 3 or assistant, in any case of letters: one that nobody knows is a student''s';

create function classroom.is_known_role(p_role text) returns boolean language sql immutable parallel safe
  as $$ select coalesce(lower(trim(p_role)), '') in ('1', '2', '3', 'teacher', 'host', 'student', 'assistant') $$;
comment on function classroom.is_known_role is
  'Whether a role is 1, teacher, host, 2, student, 3 or assistant, in any case of letters';

-- Whose leaving was not seen has stayed to the end of the class. Who came after it, or into a class whose end nobody saw,
-- has stayed to the last sign of life of the room, once the room is gone.
create or replace view classroom.attendance_interval as
  select app_id, room_uuid, incarnation, user_uuid, user_name, role, at as entered_at, left_at,
         coalesce(left_at, case when ended_at > at then ended_at
                                when forgotten_at is not null or valid_to is not null then greatest(last_event_at, at) end) - at as stayed
  from (
    select a.*, r.ended_at, r.forgotten_at, r.valid_to, r.last_event_at, lead(a.at) over (person order by a.sequence, a.ordinal) as left_at
    from (
      select x.*, lag(x.action) over (
               partition by x.app_id, x.room_uuid, x.incarnation, x.user_uuid order by x.sequence, x.ordinal) as action_before
      from classroom.attendance x
    ) a
    join classroom.room r using (app_id, room_uuid, incarnation)
    where a.action is distinct from a.action_before
    window person as (partition by a.app_id, a.room_uuid, a.incarnation, a.user_uuid)
  ) spans
  where action = 'enter';
comment on column classroom.attendance_interval.stayed is
  'Until left_at, else until the class ended, else until the last event of a room that is gone; null of one who is still there';

-- Every number is a query of its own, so that only those that are asked for cost anything.
create view classroom.class as
  select r.app_id, r.room_uuid, r.incarnation, r.region,
         case r.state when 0 then 'not started' when 1 then 'started' when 2 then 'ended' when 3 then 'closed' end as state,
         coalesce(r.state = 1 and r.valid_to is null and r.forgotten_at is null, false) as is_going_on,
         r.started_at, r.ended_at,
         extract(epoch from coalesce(r.ended_at, r.last_event_at) - r.started_at)::double precision / 60 as minutes,
         (select string_agg(distinct a.user_name, ', ') from classroom.attendance a
          where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation
            and not classroom.is_student(a.role)) as teachers,
         (select count(distinct a.user_uuid)::int from classroom.attendance a
          where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation
            and classroom.is_student(a.role)) as students,
         (select count(*)::int from classroom.chat_message m
          where m.app_id = r.app_id and m.room_uuid = r.room_uuid and m.incarnation = r.incarnation) as messages,
         (select count(*)::int from classroom.hand_wave h
          where h.app_id = r.app_id and h.room_uuid = r.room_uuid and h.incarnation = r.incarnation and h.action = 'add') as hands,
         (select coalesce(sum(w.changed_reward), 0) from classroom.reward w
          where w.app_id = r.app_id and w.room_uuid = r.room_uuid and w.incarnation = r.incarnation) as rewards,
         (select count(*)::int from classroom.quiz q
          where q.app_id = r.app_id and q.room_uuid = r.room_uuid and q.incarnation = r.incarnation) as quizzes,
         (select count(*)::int from classroom.poll p
          where p.app_id = r.app_id and p.room_uuid = r.room_uuid and p.incarnation = r.incarnation) as polls,
         (select count(*)::int from classroom.recording c
          where c.app_id = r.app_id and c.room_uuid = r.room_uuid and c.incarnation = r.incarnation) as recordings,
         (select count(*)::int from classroom.resource f
          where f.app_id = r.app_id and f.room_uuid = r.room_uuid and f.incarnation = r.incarnation) as files,
         (select count(distinct a.user_uuid)::int from classroom.attendance a
          where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation
            and not classroom.is_known_role(a.role)) as unknown_roles
  from classroom.room r;
comment on view classroom.class is 'Every class: a room, when it was used, by whom, and how lively it was';
comment on column classroom.class.incarnation is 'Counts the classes that were given under the same room_uuid';
comment on column classroom.class.state is 'not started, started, ended or closed, as the room showed last';
comment on column classroom.class.is_going_on is 'Started, and neither ended nor gone since; a class whose end nobody saw is not going on once its room is gone';
comment on column classroom.class.minutes is 'From its start to its end, or to its last event while no end was seen';
comment on column classroom.class.teachers is 'Names of the teachers and assistants who came';
comment on column classroom.class.students is 'Different people who came and are neither teachers (1, teacher, host) nor assistants (3, assistant)';
comment on column classroom.class.hands is 'Times that a hand was raised';
comment on column classroom.class.rewards is 'Points that were given in it';
comment on column classroom.class.files is 'Files that were shared, those that were removed later included';
comment on column classroom.class.unknown_roles is
  'Different people who came with no role, or with one that is neither a teacher''s nor an assistant''s nor a student''s (2, student); they count as students';

create view classroom.late_arrival as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at as class_started_at, a.user_uuid, a.user_name, a.entered_at,
         extract(epoch from a.entered_at - r.started_at)::double precision / 60 as minutes_late
  from classroom.room r
  cross join lateral (
    select distinct on (e.user_uuid) e.user_uuid, e.user_name, e.at as entered_at
    from classroom.attendance e
    where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
      and e.action = 'enter' and classroom.is_student(e.role)
    order by e.user_uuid, e.sequence, e.ordinal
  ) a
  where a.entered_at > r.started_at + interval '5 minutes';
comment on view classroom.late_arrival is 'Students whose first coming was more than five minutes after the start of the class';
comment on column classroom.late_arrival.entered_at is 'When they came first; who comes back later is not late';

create view classroom.participation as
  select i.app_id, i.room_uuid, i.incarnation, i.user_uuid, max(i.user_name) as user_name, max(i.role) as role,
         bool_and(classroom.is_student(i.role)) as is_student,
         min(i.entered_at) as entered_at, max(i.entered_at + i.stayed) as left_at, count(*)::int as stays,
         sum(extract(epoch from i.stayed))::double precision / 60 as minutes,
         (select count(*)::int from classroom.chat_message m
          where m.app_id = i.app_id and m.room_uuid = i.room_uuid and m.incarnation = i.incarnation
            and m.user_uuid = i.user_uuid) as messages,
         (select count(*)::int from classroom.hand_wave h
          where h.app_id = i.app_id and h.room_uuid = i.room_uuid and h.incarnation = i.incarnation
            and h.user_uuid = i.user_uuid and h.action = 'add') as hands,
         (select coalesce(sum(w.changed_reward), 0) from classroom.reward w
          where w.app_id = i.app_id and w.room_uuid = i.room_uuid and w.incarnation = i.incarnation
            and w.user_uuid = i.user_uuid) as rewards,
         (select count(distinct s.quiz_id)::int from classroom.quiz_submission s
          where s.app_id = i.app_id and s.room_uuid = i.room_uuid and s.incarnation = i.incarnation
            and s.user_uuid = i.user_uuid) as quizzes_answered,
         (select count(distinct s.poll_id)::int from classroom.poll_submission s
          where s.app_id = i.app_id and s.room_uuid = i.room_uuid and s.incarnation = i.incarnation
            and s.user_uuid = i.user_uuid) as polls_voted
  from classroom.attendance_interval i
  group by i.app_id, i.room_uuid, i.incarnation, i.user_uuid;
comment on view classroom.participation is 'What each person did in each class';
comment on column classroom.participation.role is '1 teacher, 2 student, 3 assistant, or a word, as the provider says it';
comment on column classroom.participation.left_at is 'End of the last stay; null of one who is still there';
comment on column classroom.participation.stays is 'Who loses the connection and comes back stays again';
comment on column classroom.participation.minutes is 'All stays together, as far as they are over';
comment on column classroom.participation.hands is 'Times that the hand was raised';
comment on column classroom.participation.rewards is 'Points that were given';

create view classroom.head_count as
  select x.app_id, x.room_uuid, x.incarnation, x.at,
         (sum(sum(x.people)) over running)::int as people, (sum(sum(x.students)) over running)::int as students
  from (
    select i.app_id, i.room_uuid, i.incarnation, i.entered_at as at, 1 as people, classroom.is_student(i.role)::int as students
    from classroom.attendance_interval i
    union all
    select i.app_id, i.room_uuid, i.incarnation, i.entered_at + i.stayed, -1, - classroom.is_student(i.role)::int
    from classroom.attendance_interval i where i.stayed is not null
  ) x
  group by x.app_id, x.room_uuid, x.incarnation, x.at
  window running as (partition by x.app_id, x.room_uuid, x.incarnation order by x.at);
comment on view classroom.head_count is 'How many were in the room, each time that somebody came or left';
comment on column classroom.head_count.people is 'From at on, everybody; students counts those who are neither teacher nor assistant';

-- A class that goes on is looked at up to its last event.
create view classroom.attention as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at, u.until, p.students_first_half, p.students_second_half,
         m.acts_first_half + h.acts_first_half as acts_first_half, m.acts_second_half + h.acts_second_half as acts_second_half
  from classroom.room r
  cross join lateral (
    select coalesce(r.ended_at, r.last_event_at) as until,
           r.started_at + (coalesce(r.ended_at, r.last_event_at) - r.started_at) / 2 as middle
  ) u
  cross join lateral (
    select coalesce(sum(extract(epoch from greatest(least(s.left_at, u.middle) - greatest(s.entered_at, r.started_at), interval '0'))), 0)::double precision
             / extract(epoch from u.middle - r.started_at)::double precision as students_first_half,
           coalesce(sum(extract(epoch from greatest(least(s.left_at, u.until) - greatest(s.entered_at, u.middle), interval '0'))), 0)::double precision
             / extract(epoch from u.until - u.middle)::double precision as students_second_half
    from (
      select i.entered_at, coalesce(i.entered_at + i.stayed, u.until) as left_at
      from classroom.attendance_interval i
      where i.app_id = r.app_id and i.room_uuid = r.room_uuid and i.incarnation = r.incarnation and classroom.is_student(i.role)
    ) s
  ) p
  cross join lateral (
    select (count(*) filter (where c.at < u.middle))::int as acts_first_half,
           (count(*) filter (where c.at >= u.middle))::int as acts_second_half
    from classroom.chat_message c
    where c.app_id = r.app_id and c.room_uuid = r.room_uuid and c.incarnation = r.incarnation
      and c.at between r.started_at and u.until and classroom.is_student(c.role)
  ) m
  cross join lateral (
    select (count(*) filter (where w.at < u.middle))::int as acts_first_half,
           (count(*) filter (where w.at >= u.middle))::int as acts_second_half
    from classroom.hand_wave w
    where w.app_id = r.app_id and w.room_uuid = r.room_uuid and w.incarnation = r.incarnation
      and w.at between r.started_at and u.until and w.action = 'add'
  ) h
  where u.until > r.started_at;
comment on view classroom.attention is 'How many students were there, and how much they did, in the first half of each class and in the second';
comment on column classroom.attention.until is 'End of the class, or its last event while no end was seen';
comment on column classroom.attention.students_first_half is 'Students who were there on average over the time of that half';
comment on column classroom.attention.acts_first_half is 'Messages of students and hands that were raised';

create view classroom.quiz_result as
  select q.app_id, q.room_uuid, q.incarnation, q.quiz_id, q.started_at, q.state, q.total_count as asked,
         s.answered, s.correct, s.correct::double precision / nullif(s.answered, 0) as accuracy,
         q.average_accuracy as reported_accuracy
  from classroom.quiz q
  cross join lateral (
    select count(*)::int as answered, (count(*) filter (where a.is_correct))::int as correct
    from (
      select distinct on (x.user_uuid) x.is_correct from classroom.quiz_submission x
      where x.app_id = q.app_id and x.room_uuid = q.room_uuid and x.incarnation = q.incarnation and x.quiz_id = q.quiz_id
      order by x.user_uuid, x.ordinal desc
    ) a
  ) s;
comment on view classroom.quiz_result is 'Every quiz with its outcome, counted from the answers themselves';
comment on column classroom.quiz_result.asked is 'Students who could answer';
comment on column classroom.quiz_result.answered is 'Students who did';
comment on column classroom.quiz_result.correct is 'Students whose last answer was right';
comment on column classroom.quiz_result.accuracy is 'Share of those who answered; null where nobody did';
comment on column classroom.quiz_result.reported_accuracy is 'The same as the provider last gave it';

create view classroom.quiz_accuracy as
  select q.app_id, q.room_uuid, q.incarnation, count(*)::int as quizzes, sum(q.asked)::int as asked,
         sum(q.answered)::int as answered, sum(q.correct)::int as correct,
         sum(q.correct)::double precision / nullif(sum(q.answered), 0) as accuracy
  from classroom.quiz_result q
  group by q.app_id, q.room_uuid, q.incarnation;
comment on view classroom.quiz_accuracy is 'All quizzes of each class together';
comment on column classroom.quiz_accuracy.asked is 'Times that a student could answer';
comment on column classroom.quiz_accuracy.accuracy is 'Share of the answers that were right: a quiz that many answered counts for more';

create view classroom.poll_result as
  select p.app_id, p.room_uuid, p.incarnation, p.poll_id,
         case p.mode when 1 then 'single choice' when 2 then 'multiple choice' end as mode, p.state, t.option_index,
         case jsonb_typeof(p.items) when 'array' then p.items ->> t.option_index else p.items ->> t.option_index::text end as option,
         t.num as votes, t.percentage as share
  from classroom.poll p
  join classroom.poll_tally t using (app_id, room_uuid, incarnation, poll_id);
comment on view classroom.poll_result is 'Every option of every poll with its votes';
comment on column classroom.poll_result.option is 'What the option says; null where the poll''s start was never seen';
comment on column classroom.poll_result.share is 'Share of those who voted, 0 to 1; of a multiple choice the shares come to more than 1';

-- A call belongs to the first incarnation of its room that was not over when it began. One that began less than a minute
-- before the next incarnation belongs to that one: calls are dated in whole seconds and may begin a little before the
-- room shows its first event, and a room is used again only long after its last call. Calls of classes that nobody saw
-- belong to none: those that began more than a quarter of an hour before the first event of the room, as the calls of
-- all days before the daemon was there, and those that began more than an hour after the class ended, when the room is
-- forgotten. Where nobody saw the end of a room that is gone, it is the room's last event.
create or replace view analytics.class_quality as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at, r.ended_at, c.calls, c.first_call_at, c.last_call_end,
         s.users, s.sessions, s.user_minutes, q.*, p.cloud_players
  from classroom.room r
  cross join lateral (
    select coalesce(r.ended_at, case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity') as at
  ) e
  cross join lateral (
    select greatest(max(b.valid_to) - interval '1 minute', r.valid_from - interval '15 minutes') as since,
           least(r.valid_to - interval '1 minute', e.at + interval '1 hour') as until
    from classroom.room b
    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
  ) b
  cross join lateral (
    select count(*)::int as calls, array_agg(c.call_id) as ids, min(c.created_at) as first_call_at,
           max(greatest(c.destroyed_at, c.created_at)) as last_call_end
    from analytics.call c
    where c.app_id = r.app_id and c.cname = r.room_uuid and c.created_at >= b.since and c.created_at < b.until
  ) c
  cross join lateral (
    select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, k.destroyed_at) - s.joined_at, interval '0'))), 0)::double precision / 60
             as user_minutes
    from analytics.call_session s
    join analytics.call k on k.app_id = s.app_id and k.call_id = s.call_id
    where s.app_id = r.app_id and s.call_id = any (c.ids)
  ) s
  cross join lateral analytics.quality_of(r.app_id, c.ids) q
  cross join lateral (
    select count(*)::int as cloud_players from players.cloud_player p
    where p.app_id = r.app_id and p.channel_name = r.room_uuid
      and coalesce(p.created_at, p.first_seen_at) >= b.since and coalesce(p.created_at, p.first_seen_at) < b.until
  ) p
  where c.calls > 0;

create view analytics.class_call as
  select c.app_id, c.cname as room_uuid, r.incarnation, c.call_id, c.created_at, c.destroyed_at, c.finished
  from analytics.call c
  cross join lateral (
    select r.incarnation, r.valid_from - interval '15 minutes' as since,
           coalesce(r.ended_at, case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity')
             + interval '1 hour' as until
    from classroom.room r
    where r.app_id = c.app_id and r.room_uuid = c.cname
      and c.created_at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    order by r.incarnation limit 1
  ) r
  where c.created_at >= r.since and c.created_at < r.until;
comment on view analytics.class_call is 'Which calls belong to which class; a call in whose channel no class was seen then is not here';

create view analytics.session_quality as
  select s.app_id, s.call_id, s.sid, s.cname, s.uid, s.network, s.platform, s.device_type, s.sdk_version, s.speaker,
         s.joined_at, s.left_at, (s.joined_at at time zone 'UTC')::date as day,
         extract(epoch from s.left_at - s.joined_at)::double precision / 60 as minutes, q.*
  from analytics.call_session s
  cross join lateral (
    select count(*) as samples,
           count(*) filter (where m.mid in (20005, 20011) and m.value >= 200 or m.mid in (20016, 20018) and m.value >= 10
                              or m.mid = 20022 and m.value >= 400) as bad_samples,
           count(*) filter (where m.mid in (20005, 20011)) as freeze_samples,
           count(*) filter (where m.mid in (20005, 20011) and m.value >= 200) as freezes,
           avg(m.value) filter (where m.mid = 20005) as audio_freeze_avg_ms,
           avg(m.value) filter (where m.mid = 20011) as video_freeze_avg_ms,
           avg(m.value) filter (where m.mid = 20016) as audio_loss_avg_pct,
           avg(m.value) filter (where m.mid = 20018) as video_loss_avg_pct,
           avg(m.value) filter (where m.mid = 20022) as rtt_avg_ms
    from analytics.session_metric m
    where m.app_id = s.app_id and m.call_id = s.call_id and m.sid = s.sid and m.mid in (20005, 20011, 20016, 20018, 20022)
      and m.at >= coalesce(s.joined_at, '-infinity') - interval '1 day'
      and m.at < coalesce(greatest(s.left_at, s.joined_at), 'infinity') + interval '1 day'
  ) q;
comment on view analytics.session_quality is 'Every stay of a user in a call, what it was held with, and its quality';
comment on column analytics.session_quality.day is 'UTC; of a few days only, ask by it and by app_id';
comment on column analytics.session_quality.samples is 'Values of freeze, loss and round trip that were measured';
comment on column analytics.session_quality.bad_samples is 'Those of them with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.session_quality.freeze_samples is 'Values of freeze time of audio and video';
comment on column analytics.session_quality.freezes is 'Those of them of at least 200 ms';
comment on column analytics.session_quality.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.session_quality.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.session_quality.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.session_quality.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';
comment on column analytics.session_quality.rtt_avg_ms is 'Mean of the round trip from client to local router (mid 20022)';

create view analytics.network_quality as
  select s.app_id, s.day, s.network, count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
         sum(s.samples)::bigint as samples, sum(s.bad_samples)::double precision / nullif(sum(s.samples), 0) as bad_share,
         sum(s.freeze_samples)::bigint as freeze_samples, sum(s.freezes)::bigint as freezes,
         sum(s.freezes)::double precision / nullif(sum(s.freeze_samples), 0) as freeze_share
  from analytics.session_quality s
  group by s.app_id, s.day, s.network;
comment on view analytics.network_quality is 'Quality by day and kind of network';
comment on column analytics.network_quality.day is 'UTC, on which the stays began';
comment on column analytics.network_quality.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.network_quality.freeze_samples is 'Values of freeze time of audio and video; to put days together, divide the sum of freezes by the sum of these';
comment on column analytics.network_quality.freeze_share is 'Share of them of at least 200 ms';

create view analytics.device_quality as
  select s.app_id, s.day, s.platform, s.device_type, count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
         sum(s.samples)::bigint as samples, sum(s.bad_samples)::double precision / nullif(sum(s.samples), 0) as bad_share,
         sum(s.freeze_samples)::bigint as freeze_samples, sum(s.freezes)::bigint as freezes,
         sum(s.freezes)::double precision / nullif(sum(s.freeze_samples), 0) as freeze_share
  from analytics.session_quality s
  group by s.app_id, s.day, s.platform, s.device_type;
comment on view analytics.device_quality is 'Quality by day and device';
comment on column analytics.device_quality.day is 'UTC, on which the stays began';
comment on column analytics.device_quality.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.device_quality.freeze_samples is 'Values of freeze time of audio and video; to put days together, divide the sum of freezes by the sum of these';
comment on column analytics.device_quality.freeze_share is 'Share of them of at least 200 ms';

create view analytics.call_quality_by_minute as
  select c.app_id, c.call_id, c.cname, date_bin('1 minute', m.at, '1970-01-01 00:00:00+00') as minute, count(*) as samples,
         (count(*) filter (where m.mid in (20005, 20011) and m.value >= 200 or m.mid in (20016, 20018) and m.value >= 10
                              or m.mid = 20022 and m.value >= 400))::double precision / count(*) as bad_share,
         avg(m.value) filter (where m.mid = 20005) as audio_freeze_avg_ms,
         avg(m.value) filter (where m.mid = 20011) as video_freeze_avg_ms,
         avg(m.value) filter (where m.mid = 20016) as audio_loss_avg_pct,
         avg(m.value) filter (where m.mid = 20018) as video_loss_avg_pct,
         avg(m.value) filter (where m.mid = 20022) as rtt_avg_ms
  from analytics.call c
  join analytics.call_session s on s.app_id = c.app_id and s.call_id = c.call_id
  join analytics.session_metric m on m.app_id = s.app_id and m.call_id = s.call_id and m.sid = s.sid
    and m.mid in (20005, 20011, 20016, 20018, 20022) and m.at >= c.created_at - interval '1 day'
    and m.at < coalesce(greatest(c.destroyed_at, c.created_at), 'infinity') + interval '1 day'
  group by c.app_id, c.call_id, c.cname, minute;
comment on view analytics.call_quality_by_minute is 'Quality of a call minute by minute; ask for one call, or for the calls of one channel';
comment on column analytics.call_quality_by_minute.minute is 'Begin of the minute';
comment on column analytics.call_quality_by_minute.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';

create view players.class_player as
  select p.app_id, p.channel_name as room_uuid, r.incarnation, p.player_id, p.name, p.stream_url, p.status,
         p.created_at, p.destroyed_at
  from players.cloud_player p
  cross join lateral (
    select r.incarnation, r.valid_from - interval '15 minutes' as since,
           coalesce(r.ended_at, case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity')
             + interval '1 hour' as until
    from classroom.room r
    where r.app_id = p.app_id and r.room_uuid = p.channel_name
      and coalesce(p.created_at, p.first_seen_at) < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    order by r.incarnation limit 1
  ) r
  where coalesce(p.created_at, p.first_seen_at) >= r.since and coalesce(p.created_at, p.first_seen_at) < r.until;
comment on view players.class_player is 'Which cloud players were created in which class; one in whose channel no class was seen then is not here';

create view ingest.loss as
  select g.app_id, g.stream, g.series, g.state, g.reason,
         case g.reason
           when 'hole' then 'numbers are missing between two events of a log'
           when 'room_forgotten' then 'the provider had forgotten the room before its log was read'
           when 'room_reused' then 'the room was used again before its log was read'
           when 'unread_answer' then 'an answer of the feed was asked for and never stored'
           when 'pause' then 'nobody asked for longer than the provider remembers'
           when 'expired' then 'left the reach of the plan before it was read'
           when 'unconfirmed' then 'was read, but left the reach before it was final'
           when 'overflow' then 'more in one second than the provider lists'
           when 'refused' then 'the provider rejects the question'
           when 'too_large' then 'the answer is too large in every size'
           when 'vanished' then 'the provider does not know the call'
         end as why,
         g.range_from, g.range_to, extract(epoch from g.range_to - g.range_from)::double precision / 60 as minutes,
         g.incarnation, g.sequence_from, g.sequence_to, g.sequence_to - g.sequence_from + 1 as events,
         g.first_seen_at, g.recoverable_until, g.detail
  from ingest.gap g
  where g.state in ('open', 'lost');
comment on view ingest.loss is 'What was lost, or may still be, and why';
comment on column ingest.loss.state is 'lost: cannot be had any more; open: may still be had';
comment on column ingest.loss.minutes is 'Length of the range, where it is one of time';
comment on column ingest.loss.events is 'Length of the range, where it is one of sequences';
comment on column ingest.loss.first_seen_at is 'Since when it is known';
comment on column ingest.loss.recoverable_until is 'After this moment the provider no longer has it; null where that is not known';
comment on column ingest.loss.detail is 'What the state does not cover, where there is something to say';

create index room_by_day on classroom.room (app_id, ((coalesce(started_at, valid_from) at time zone 'UTC')::date));
create index room_by_sight on classroom.room (app_id, first_seen_at);

create function ingest.whole_days(p_from timestamptz) returns setof timestamptz language sql stable parallel safe as $$
  select generate_series(
    date_trunc('day', greatest(p_from, ingest.clock() - interval '90 days') + interval '24 hours' - interval '1 microsecond', 'UTC'),
    ingest.clock(), interval '24 hours')
$$;
comment on function ingest.whole_days is 'Begins of the days (UTC) that do not begin before a moment, to today; at most ninety';

-- Of several series, each counts from its own first whole day on, so that one that is added takes nothing from the days
-- before it. What is of a room belongs to the day on which its class began, and cannot be whole on a day on which rooms
-- may have been missed. Functions and look-ups run for the days that are asked for.
create view ingest.complete_day as
  with told as not materialized (
    select t.app_id, t.stream, t.begin, t.complete and (t.stream <> 'app-events' or g.gaps = 0) as complete, g.gaps, g.reasons
    from (
      select p.app_id, p.stream, d.begin,
             bool_and(p.covered @> tstzmultirange(tstzrange(d.begin, d.begin + interval '24 hours'))) as complete
      from ingest.progress p
      cross join lateral ingest.whole_days(p.owed_from) d(begin)
      where p.owed_from is not null and p.closed_at is null and ingest.progress_kind(p.stream) = 'window'
      group by p.app_id, p.stream, d.begin
      union all
      select p.app_id, p.stream, d.begin, ingest.is_complete(p.stream, p.app_id, d.begin, d.begin + interval '24 hours')
      from ingest.progress p
      cross join lateral (select min(c.owed_from) as owed_from from ingest.progress c where c.app_id = p.app_id and c.stream = 'calls') c
      cross join lateral ingest.whole_days(greatest(p.owed_from, c.owed_from)) d(begin)
      where p.owed_from is not null and p.closed_at is null and ingest.progress_kind(p.stream) = 'detail'
      union all
      select p.app_id, p.stream, d.begin, coalesce(p.caught_up_at >= d.begin + interval '24 hours', false)
      from ingest.progress p
      cross join lateral (select min(r.first_seen_at) as at from classroom.room r where r.app_id = p.app_id) s
      cross join lateral ingest.whole_days(s.at) d(begin)
      where p.stream = 'app-events' and s.at is not null
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
  select t.app_id, (t.begin at time zone 'UTC')::date, s.stream, t.complete and r.whole and g.gaps = 0, g.gaps, g.reasons
  from told t
  cross join unnest(array['room-events', 'popup-quiz', 'poll', 'recordings', 'resources']) s(stream)
  cross join lateral (
    select coalesce(bool_and(
             (r.started_at is null or r.ended_at is not null and coalesce(e.source = 'log', false))
             and (r.valid_to is not null or coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at), false))
           ), true) as whole
    from classroom.room r
    left join ingest.progress p on p.app_id = r.app_id and p.stream = s.stream and p.series = r.room_uuid
    left join classroom.room_event e on e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
      and e.sequence = r.state_sequence
    where r.app_id = t.app_id and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date = (t.begin at time zone 'UTC')::date
  ) r
  cross join lateral (
    select count(*)::int as gaps, string_agg(distinct g.reason, ', ') as reasons
    from classroom.room r
    join ingest.gap g on g.app_id = r.app_id and g.stream = s.stream and g.series = r.room_uuid
      and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')
    where r.app_id = t.app_id and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date = (t.begin at time zone 'UTC')::date
  ) g
  where t.stream = 'app-events' and exists (select from ingest.progress p where p.app_id = t.app_id and p.stream = s.stream);
comment on view ingest.complete_day is
  'Whether each day (UTC) of each stream is stored whole and can no longer change, from its first whole day to today, at most ninety; not of cloud players, whose list is always that of now';
comment on column ingest.complete_day.stream is
  'What is of a room (room-events, popup-quiz, poll, recordings, resources) belongs to the day on which its class began';
comment on column ingest.complete_day.complete is
  'What may still change is not complete: calls for an hour, insights for about two days, classes until they were read after their end. Nothing of rooms is complete on a day of which app-events are not: a class may be missing altogether';
comment on column ingest.complete_day.gaps is
  'Rows of the gap ledger that touch the day or its classes, open or lost; 0 and not complete: it is still being read, or not final yet, or it is of rooms and app-events have gaps or the end of a class was not seen';
comment on column ingest.complete_day.reasons is 'Their reasons; ingest.loss explains them';

create view ingest.dead_letter_count as
  select d.app_id, d.stream, d.reason, count(*)::int as items, sum(d.occurrences)::bigint as occurrences,
         min(d.received_at) as first_at, max(d.last_seen_at) as last_at, min(d.detail) as example
  from ingest.dead_letter d
  group by d.app_id, d.stream, d.reason;
comment on view ingest.dead_letter_count is 'What arrived and could not be used, by stream and reason';
comment on column ingest.dead_letter_count.items is 'Different items; occurrences counts how often they came';
comment on column ingest.dead_letter_count.example is 'Detail of one of them: which field broke which rule, or how the provider refused';

-- Every arm can be asked for an app and some days alone.
create index call_by_day on analytics.call (app_id, ((created_at at time zone 'UTC')::date));
create index usage_insight_by_day on analytics.usage_insight (app_id, ((at at time zone 'UTC')::date)) where granularity = 'day';

create or replace view analytics.usage_by_day as
  select x.app_id, x.day, count(x.call_seconds)::int as calls, coalesce(sum(x.call_seconds), 0)::double precision / 60 as call_minutes,
         count(distinct x.person)::int as users, count(x.person)::int as sessions,
         coalesce(sum(x.user_seconds), 0)::double precision / 60 as user_minutes,
         jsonb_object_agg(x.metric, x.value) filter (where x.metric is not null) as reported
  from (
    select c.app_id, (c.created_at at time zone 'UTC')::date as day,
           coalesce(extract(epoch from greatest(c.destroyed_at - c.created_at, interval '0')), 0) as call_seconds,
           null::text as person, null::numeric as user_seconds, null::text as metric, null::double precision as value
    from analytics.call c
    union all
    select k.app_id, (k.created_at at time zone 'UTC')::date, null, coalesce(s.uid, s.sid),
           extract(epoch from greatest(coalesce(s.left_at, k.destroyed_at) - s.joined_at, interval '0')), null, null
    from analytics.call k
    join analytics.call_session s on s.app_id = k.app_id and s.call_id = k.call_id
    union all
    select i.app_id, (i.at at time zone 'UTC')::date, null, null, null, i.metric, i.value
    from analytics.usage_insight i where i.granularity = 'day'
  ) x
  group by x.app_id, x.day;

grant select on classroom.class, classroom.late_arrival, classroom.participation, classroom.head_count, classroom.attention,
  classroom.quiz_result, classroom.quiz_accuracy, classroom.poll_result, analytics.class_call, analytics.session_quality,
  analytics.network_quality, analytics.device_quality, analytics.call_quality_by_minute, players.class_player, ingest.loss,
  ingest.complete_day, ingest.dead_letter_count
  to penstock_runtime;
reset role;

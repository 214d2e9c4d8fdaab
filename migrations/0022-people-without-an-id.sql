-- Some people are told without an ID. What they did is kept; who did it is null, and '' where it is part of a key.
set local role penstock_migrate;

alter table classroom.attendance alter column user_uuid drop not null;
alter table classroom.reward alter column user_uuid drop not null;
alter table classroom.stage_change alter column user_uuid drop not null;
alter table classroom.hand_wave alter column user_uuid drop not null;
comment on column classroom.attendance.user_uuid is 'Null of one who is told without an ID, or with one that cannot be read: that one is in extra';
comment on column classroom.reward.user_uuid is 'Null of one who is told without an ID';
comment on column classroom.stage_change.user_uuid is 'Null of one who is told without an ID';
comment on column classroom.hand_wave.user_uuid is 'Null of one who is told without an ID';
comment on column classroom.chat_message.user_uuid is 'Null of one who is told without an ID';
comment on column classroom.resource_change.operator_uuid is 'Null of one who is told without an ID, as the service itself may be';
comment on column classroom.quiz_submission.user_uuid is 'Empty of one who is told without an ID';
comment on column classroom.poll_submission.user_uuid is 'Empty of one who is told without an ID';
comment on column classroom.poll_submission.select_index is 'Options chosen, from 0; null where they are told in a way that cannot be read: then they are in extra';

-- Of two who have no ID cannot be told who is who: nobody knows when one of them left, or had come first.
create or replace view classroom.attendance_interval as
  select app_id, room_uuid, incarnation, user_uuid, user_name, role, at as entered_at, left_at,
         coalesce(left_at, case when ended_at > at then ended_at
                                when forgotten_at is not null or valid_to is not null then greatest(last_event_at, at) end) - at as stayed
  from (
    select a.*, r.ended_at, r.forgotten_at, r.valid_to, r.last_event_at, lead(a.at) over (person order by a.sequence, a.ordinal) as left_at
    from (
      select x.*, lag(x.action) over (
               partition by x.app_id, x.room_uuid, x.incarnation, x.user_uuid order by x.sequence, x.ordinal) as action_before
      from classroom.attendance x where x.user_uuid is not null
    ) a
    join classroom.room r using (app_id, room_uuid, incarnation)
    where a.action is distinct from a.action_before
    window person as (partition by a.app_id, a.room_uuid, a.incarnation, a.user_uuid)
  ) spans
  where action = 'enter';

create or replace view classroom.late_arrival as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at as class_started_at, a.user_uuid, a.user_name, a.entered_at,
         extract(epoch from a.entered_at - r.started_at)::double precision / 60 as minutes_late
  from classroom.room r
  cross join lateral (
    select distinct on (e.user_uuid) e.user_uuid, e.user_name, e.at as entered_at
    from classroom.attendance e
    where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
      and e.user_uuid is not null and e.action = 'enter' and classroom.is_student(e.role)
    order by e.user_uuid, e.sequence, e.ordinal
  ) a
  where a.entered_at > r.started_at + interval '5 minutes';

-- Each of their answers counts.
create or replace view classroom.quiz_result as
  select q.app_id, q.room_uuid, q.incarnation, q.quiz_id, q.started_at, q.state, q.total_count as asked,
         s.answered, s.correct, s.correct::double precision / nullif(s.answered, 0) as accuracy,
         q.average_accuracy as reported_accuracy
  from classroom.quiz q
  cross join lateral (
    select count(*)::int as answered, (count(*) filter (where a.is_correct))::int as correct
    from (
      select distinct on (x.user_uuid, case x.user_uuid when '' then x.ordinal end) x.is_correct from classroom.quiz_submission x
      where x.app_id = q.app_id and x.room_uuid = q.room_uuid and x.incarnation = q.incarnation and x.quiz_id = q.quiz_id
      order by x.user_uuid, case x.user_uuid when '' then x.ordinal end, x.ordinal desc
    ) a
  ) s;

reset role;

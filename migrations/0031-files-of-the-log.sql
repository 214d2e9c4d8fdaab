-- A file that was removed before the list of files was read stands in no list, and is told by the log alone: it was shared all the
-- same.
create or replace view classroom.class as
  select r.app_id, r.room_uuid, r.incarnation, r.region, d.day,
         case r.state when 0 then 'not started' when 1 then 'started' when 2 then 'ended' when 3 then 'closed' end as state,
         coalesce(r.state = 1 and r.valid_to is null and r.forgotten_at is null, false) as is_going_on,
         r.started_at, case when r.ended_at <= r.started_at then null else r.ended_at end as ended_at,
         case when r.ended_at <= r.started_at then null
              else extract(epoch from coalesce(r.ended_at, r.last_event_at) - r.started_at)::double precision / 60 end as minutes,
         (select string_agg(distinct a.user_name, ', ') from classroom.attendance a
          where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation
            and not classroom.is_student(a.role)) as teachers,
         (select count(*)::int from (
            select from classroom.attendance a
            where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation and a.user_uuid is not null
            group by a.user_uuid
            having coalesce(bool_and(classroom.is_student(a.role)) filter (where trim(a.role) <> ''), true)) s) as students,
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
         (select count(*)::int from (
            select f.resource_uuid from classroom.resource f
            where f.app_id = r.app_id and f.room_uuid = r.room_uuid and f.incarnation = r.incarnation
            union
            select g.resource_uuid from classroom.resource_change g
            where g.app_id = r.app_id and g.room_uuid = r.room_uuid and g.incarnation = r.incarnation) s) as files,
         (select count(*)::int from (
            select from classroom.attendance a
            where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation and a.user_uuid is not null
            group by a.user_uuid
            having not coalesce(bool_and(classroom.is_known_role(a.role)) filter (where trim(a.role) <> ''), false)) u) as unknown_roles
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at;

-- Who came back and is still there has not left: the end of an earlier stay is not that of the last.
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
           min(i.entered_at) as entered_at, case when bool_and(i.stayed is not null) then max(i.entered_at + i.stayed) end as left_at, count(*)::int as stays,
           sum(extract(epoch from i.stayed))::double precision / 60 as minutes
    from classroom.attendance_interval i
    where i.app_id = r.app_id and i.room_uuid = r.room_uuid and i.incarnation = r.incarnation
    group by i.user_uuid
  ) p;

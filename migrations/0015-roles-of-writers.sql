-- A message need not tell the role of who wrote it: then it is that in which the person came.
create or replace view classroom.attention as
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
      and c.at between r.started_at and u.until
      and classroom.is_student(coalesce(nullif(trim(c.role), ''), (
            select a.role from classroom.attendance a
            where a.app_id = c.app_id and a.room_uuid = c.room_uuid and a.incarnation = c.incarnation and a.user_uuid = c.user_uuid
              and trim(a.role) <> ''
            order by a.sequence desc limit 1)))
  ) m
  cross join lateral (
    select (count(*) filter (where w.at < u.middle))::int as acts_first_half,
           (count(*) filter (where w.at >= u.middle))::int as acts_second_half
    from classroom.hand_wave w
    where w.app_id = r.app_id and w.room_uuid = r.room_uuid and w.incarnation = r.incarnation
      and w.at between r.started_at and u.until and w.action = 'add'
  ) h
  where u.until > r.started_at;

-- Who comes before a class begins has no time of their own with some providers, and that of the answer where their log is read late: they were
-- told to have come late by as much. The order of the log says who came before the start.
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
           (array_agg(e.at order by e.sequence, e.ordinal))[1] as entered_at, min(e.sequence) as sequence
    from classroom.attendance e
    where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
      and e.user_uuid is not null and e.action = 'enter'
    group by e.user_uuid having bool_and(classroom.is_student(e.role))
  ) a
  where a.entered_at > r.started_at + interval '5 minutes'
    and not exists (
      select from classroom.room_state_change c
      where c.app_id = r.app_id and c.room_uuid = r.room_uuid and c.incarnation = r.incarnation and c.state = 1
      having min(c.sequence) > a.sequence);

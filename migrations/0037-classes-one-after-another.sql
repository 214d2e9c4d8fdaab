-- A call or player of a room that is used again, which began within the quarter of an hour before the room showed its first event, was of no
-- class: the class before it hid it, though that was over for hours. What is over for an hour hides nothing.
create or replace view analytics.class_call as
  select c.app_id, r.room_uuid, r.incarnation, c.call_id, c.created_at, c.destroyed_at, c.finished,
         r.started_at as class_started_at, case when r.ended_at <= r.started_at then null else r.ended_at end as class_ended_at,
         coalesce(r.started_at, r.valid_from) as class_began_at, c.emptied_at
  from analytics.call c
  join classroom.room r on r.app_id = c.app_id and r.room_uuid = c.cname
    and c.created_at >= r.valid_from - interval '15 minutes'
    and c.created_at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    and c.created_at < coalesce(greatest(r.ended_at, r.ended_by), case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end,
                                'infinity') + interval '1 hour'
  where not exists (select from classroom.room b
                    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
                      and c.created_at < coalesce(b.valid_to, 'infinity') - interval '1 minute'
                      and c.created_at < coalesce(greatest(b.ended_at, b.ended_by), b.last_event_at, 'infinity') + interval '1 hour');

create or replace view players.class_player as
  select p.app_id, p.channel_name as room_uuid, r.incarnation, p.player_id, p.name, p.stream_url, p.status,
         p.created_at, p.destroyed_at
  from players.cloud_player p
  cross join lateral (
    select r.incarnation
    from classroom.room r cross join (select coalesce(p.created_at, p.first_seen_at) as at) c
    where r.app_id = p.app_id and r.room_uuid = p.channel_name
      and c.at >= r.valid_from - interval '15 minutes'
      and c.at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
      and c.at < coalesce(greatest(r.ended_at, r.ended_by), case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end,
                          'infinity') + interval '1 hour'
    order by r.incarnation limit 1
  ) r;

-- A stay that is told without a role is none of a student where others of the same person are not.
create or replace view classroom.head_count as
  select x.app_id, x.room_uuid, x.incarnation, x.at,
         (sum(sum(x.people)) over running)::int as people, (sum(sum(x.students)) over running)::int as students
  from (
    select i.app_id, i.room_uuid, i.incarnation, c.at, c.change as people, c.change * i.is_student::int as students
    from (
      select s.*, case when trim(s.role) <> '' then classroom.is_student(s.role)
                       else bool_and(classroom.is_student(s.role)) over (partition by s.app_id, s.room_uuid, s.incarnation, s.user_uuid) end as is_student
      from classroom.attendance_interval s
    ) i
    cross join lateral (values (i.entered_at, 1), (i.entered_at + i.stayed, -1)) c(at, change)
    where c.at is not null
  ) x
  group by x.app_id, x.room_uuid, x.incarnation, x.at
  window running as (partition by x.app_id, x.room_uuid, x.incarnation order by x.at);

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
      select i.entered_at, coalesce(i.entered_at + i.stayed, u.until) as left_at,
             case when trim(i.role) <> '' then classroom.is_student(i.role)
                  else bool_and(classroom.is_student(i.role)) over (partition by i.user_uuid) end as is_student
      from classroom.attendance_interval i
      where i.app_id = r.app_id and i.room_uuid = r.room_uuid and i.incarnation = r.incarnation
    ) s
    where s.is_student
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

-- Classrooms. A room_uuid may be used again for another room, so every key holds the incarnation; events are kept as they
-- came (room_event, widget_event) and once more in the table of their kind. Some people are told without an ID: what they did
-- is kept; who did it is null, and '' where it is part of a key.

set local role penstock_migrate;

create function classroom.is_student(p_role text) returns boolean language sql immutable parallel safe
  as $$ select coalesce(lower(trim(p_role)), '') not in ('1', '3', 'teacher', 'host', 'assistant') $$;
comment on function classroom.is_student is
  'Whether a role is neither 1, teacher or host nor 3 or assistant, in any case of letters: one that nobody knows is a student''s';

create function classroom.is_known_role(p_role text) returns boolean language sql immutable parallel safe
  as $$ select coalesce(lower(trim(p_role)), '') in ('1', '2', '3', 'teacher', 'host', 'student', 'assistant') $$;
comment on function classroom.is_known_role is
  'Whether a role is 1, teacher, host, 2, student, 3 or assistant, in any case of letters';

create function classroom.room_standing(p_state int, p_valid_to timestamptz, p_forgotten_at timestamptz) returns text
language sql immutable parallel safe as $$
  select case when p_valid_to is not null then null
              when p_forgotten_at is not null then 'forgotten'
              else coalesce((array['not_started', 'started', 'ended', 'closed'])[p_state + 1], 'unknown') end
$$;
comment on function classroom.room_standing is 'How a room is counted: by its state, or as forgotten; null of one whose room_uuid means another by now';

create table classroom.room (
  app_id text not null,
  room_uuid text not null,
  incarnation int not null,
  region text,
  state int,
  state_sequence bigint,
  started_at timestamptz,
  ended_at timestamptz,
  valid_from timestamptz,
  valid_to timestamptz,
  first_seen_at timestamptz not null default ingest.clock(),
  last_event_at timestamptz,
  verified_at timestamptz not null default ingest.clock(),
  forgotten_at timestamptz,
  emptied_at timestamptz,
  emptied jsonb,
  primary key (app_id, room_uuid, incarnation)
);
-- What retention takes, by the last sign of life; a room that showed one since it was emptied is taken again.
create index room_by_age on classroom.room ((greatest(last_event_at, ended_at, verified_at)))
  where emptied_at is null or verified_at > emptied_at;
create index room_by_start on classroom.room (app_id, started_at);
-- By days of UTC, from which ingest.calendar leads to those of the app. The other indexes by day are made alike.
create index room_by_day on classroom.room (app_id, ((coalesce(started_at, valid_from) at time zone 'UTC')::date));
create index room_by_sight on classroom.room (app_id, first_seen_at);
create trigger tally_new after insert on classroom.room referencing new table as came
  for each statement execute function ingest.tally_new_rooms();
create trigger know_apps after insert on classroom.room referencing new table as came
  for each statement execute function ingest.know_apps();
create trigger tally_change after update of state, valid_to, forgotten_at on classroom.room for each row
  when (classroom.room_standing(old.state, old.valid_to, old.forgotten_at)
        is distinct from classroom.room_standing(new.state, new.valid_to, new.forgotten_at)) execute function ingest.tally_rooms();
create trigger tally_gone after delete on classroom.room for each row execute function ingest.tally_rooms();
create trigger tally_none after truncate on classroom.room for each statement execute function ingest.tally_none('room');

create table classroom.room_event (
  app_id text not null,
  room_uuid text not null,
  incarnation int not null,
  sequence bigint not null,
  cmd int not null,
  version int,
  data jsonb,
  event_time timestamptz,
  at timestamptz not null,
  at_source text not null,
  received_at timestamptz not null,
  source text not null,
  extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence)
);
create index room_event_at on classroom.room_event using brin (at);

create table classroom.room_state_change (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null,
  state int not null, started_at timestamptz, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence)
);

create table classroom.chat_message (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null,
  user_uuid text, user_name text, role text, message text, type int, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence)
);
create index chat_message_at on classroom.chat_message using brin (at);

create table classroom.attendance (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  user_uuid text, user_name text, role text, stream_uuid text, action text,
  at timestamptz not null, extra jsonb, total int,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);
create index attendance_at on classroom.attendance using brin (at);

create table classroom.recording_state_change (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null,
  state int not null, record_id text, sid text, resource_id text, started_at timestamptz, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence)
);

create table classroom.reward (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  user_uuid text, changed_reward double precision, total double precision, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);

create table classroom.resource_change (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  resource_uuid text not null, action text not null, resource_name text, ext text, size double precision, url text,
  task_uuid text, task_progress jsonb, operator_uuid text, operator_name text, operator_role text,
  at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);

create table classroom.stage_change (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  user_uuid text, action text not null, at timestamptz not null, extra jsonb, is_listed boolean,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);

create table classroom.hand_wave (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  user_uuid text, action text not null, payload jsonb, at timestamptz not null, extra jsonb, is_listed boolean,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);

create table classroom.widget_event (
  app_id text not null, room_uuid text not null, incarnation int not null, widget text not null, position bigint not null,
  content_hash text not null, data jsonb not null, received_at timestamptz not null,
  -- Made of what is kept raw.
  state int generated always as (ingest.whole_number(ingest.widget_field(data, 'changeProperties') -> 'state')) stored,
  cause text generated always as (
    case when jsonb_typeof(ingest.widget_field(data, 'cause')) = 'string' then ingest.widget_field(data, 'cause') #>> '{}' end) stored,
  action int generated always as (ingest.whole_number(ingest.widget_field(data, 'action'))) stored,
  primary key (app_id, room_uuid, incarnation, widget, position)
);

create table classroom.quiz (
  app_id text not null, room_uuid text not null, incarnation int not null, quiz_id text not null,
  correct_items jsonb, items jsonb, correct_count int, selected_count int, total_count int,
  average_accuracy double precision, state text, started_at timestamptz, ended_at timestamptz, started_by text, extra jsonb,
  primary key (app_id, room_uuid, incarnation, quiz_id)
);

-- An answer to a quiz or poll is told apart by its place in the log, which may be any number that the provider gives.
create table classroom.quiz_submission (
  app_id text not null, room_uuid text not null, incarnation int not null, quiz_id text not null,
  user_uuid text not null, ordinal bigint not null, user_name text,
  selected_items jsonb, is_correct boolean, committed_at timestamptz, extra jsonb,
  primary key (app_id, room_uuid, incarnation, quiz_id, user_uuid, ordinal)
);

create table classroom.poll (
  app_id text not null, room_uuid text not null, incarnation int not null, poll_id text not null,
  mode int, items jsonb, state text, started_at timestamptz, ended_at timestamptz, started_by text, extra jsonb,
  primary key (app_id, room_uuid, incarnation, poll_id)
);

create table classroom.poll_submission (
  app_id text not null, room_uuid text not null, incarnation int not null, poll_id text not null,
  user_uuid text not null, ordinal bigint not null, user_name text, select_index int[], at timestamptz, extra jsonb,
  primary key (app_id, room_uuid, incarnation, poll_id, user_uuid, ordinal)
);

create table classroom.poll_tally (
  app_id text not null, room_uuid text not null, incarnation int not null, poll_id text not null,
  option_index int not null, num int, percentage double precision,
  primary key (app_id, room_uuid, incarnation, poll_id, option_index)
);

create table classroom.recording (
  app_id text not null, room_uuid text not null, incarnation int not null, record_id text not null,
  sid text, resource_id text, type int, status int, started_at timestamptz, ended_at timestamptz, url text, extra jsonb,
  primary key (app_id, room_uuid, incarnation, record_id)
);

create table classroom.recording_file (
  app_id text not null, room_uuid text not null, incarnation int not null, record_id text not null,
  ordinal int not null, url text not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, record_id, ordinal)
);

create table classroom.resource (
  app_id text not null, room_uuid text not null, incarnation int not null, resource_uuid text not null,
  resource_name text, ext text, size double precision, url text, task_uuid text, task_progress jsonb,
  updated_at timestamptz, removed_at timestamptz, extra jsonb,
  primary key (app_id, room_uuid, incarnation, resource_uuid)
);

-- Who enters twice without leaving has stayed, and who leaves twice has left the first time: only the first of a run of
-- equal actions counts. Whose leaving was not seen has stayed to the end of the class. Who came after it, or into a class
-- whose end nobody saw, has stayed to the last sign of life of the room, once the room is gone. Of two who have no ID
-- cannot be told who is who: nobody knows when one of them left, or had come first.
create view classroom.attendance_interval as
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
comment on view classroom.attendance_interval is 'Who was in the room from when to when';
comment on column classroom.attendance_interval.left_at is 'Null for one who was not seen leaving';
comment on column classroom.attendance_interval.stayed is
  'Until left_at, else until the class ended, else until the last event of a room that is gone; null of one who is still there';

-- Every number is a query of its own, so that only those that are asked for cost anything.
create view classroom.class as
  select r.app_id, r.room_uuid, r.incarnation, r.region, d.day,
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
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at;
comment on view classroom.class is 'Every class: a room, when it was used, by whom, and how lively it was';
comment on column classroom.class.incarnation is 'Counts the classes that were given under the same room_uuid';
comment on column classroom.class.day is 'On which it began, in the time zone of the app; one that has not begun, on which its room was first heard of';
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

create view classroom.school_day as
  select a.app_id, a.time_zone, d.day, d.day - (extract(isodow from d.day)::int - 1) as week, a.today - d.day as days_ago,
         d.begins_at, d.ends_at
  from (select a.*, (ingest.clock() at time zone a.time_zone)::date as today from ingest.app a offset 0) a
  join ingest.calendar d on d.time_zone = a.time_zone and d.day <= a.today and d.utc_day = (d.begins_at at time zone 'UTC')::date;
comment on view classroom.school_day is 'Days of each app in its time zone, from 2020 to today: where they begin and end, and which of them is yesterday';
comment on column classroom.school_day.time_zone is 'Its name in the IANA database; apps[].timeZone in the configuration';
comment on column classroom.school_day.week is 'Monday of the week that the day is in';
comment on column classroom.school_day.days_ago is '0 is today, 1 yesterday';
comment on column classroom.school_day.begins_at is 'First moment of the day; a day has 23 or 25 hours when clocks are changed';
comment on column classroom.school_day.ends_at is 'First moment of the next day';

create view classroom.late_arrival as
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
comment on view classroom.late_arrival is 'Students whose first coming was more than five minutes after the start of the class';
comment on column classroom.late_arrival.entered_at is 'When they came first; who comes back later is not late';

-- Who is told to be there without having been added was added unseen. Whoever leaves the room is neither on the stage nor
-- waving any more, and no event says so.
create view classroom.stage_or_hand_interval as
  select s.what, r.app_id, r.room_uuid, r.incarnation, s.user_uuid,
         (select max(a.user_name) from classroom.attendance a
          where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation and a.user_uuid = s.user_uuid) as user_name,
         s.at as began_at, s.until as ended_at,
         coalesce(s.until, case when r.ended_at > s.at then r.ended_at
                                when r.forgotten_at is not null or r.valid_to is not null then greatest(r.last_event_at, s.at) end) - s.at as lasted
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
comment on view classroom.stage_or_hand_interval is 'Who was on the stage, and whose hand was up, from when to when';
comment on column classroom.stage_or_hand_interval.what is 'stage or hand';
comment on column classroom.stage_or_hand_interval.user_name is 'Name as the person was told to come';
comment on column classroom.stage_or_hand_interval.began_at is 'When it began, or the person was first told to be there';
comment on column classroom.stage_or_hand_interval.ended_at is 'When it ended, or the person left the room; null where neither was seen';
comment on column classroom.stage_or_hand_interval.lasted is 'Until ended_at, else until the class ended, else until the last event of a room that is gone; null while it goes on';

create view classroom.stage_interval as
  select app_id, room_uuid, incarnation, user_uuid, user_name, began_at, ended_at, lasted
  from classroom.stage_or_hand_interval where what = 'stage';
comment on view classroom.stage_interval is 'Who was on the stage from when to when';
comment on column classroom.stage_interval.user_name is 'Name as the person was told to come';
comment on column classroom.stage_interval.began_at is 'When the person was brought on it, or was first told to be there';
comment on column classroom.stage_interval.ended_at is 'When the person was taken off it, or left the room; null of one of whom neither was seen';
comment on column classroom.stage_interval.lasted is 'Until ended_at, else until the class ended, else until the last event of a room that is gone; null of one who is still there';

create view classroom.hand_interval as
  select app_id, room_uuid, incarnation, user_uuid, user_name, began_at, ended_at, lasted
  from classroom.stage_or_hand_interval where what = 'hand';
comment on view classroom.hand_interval is 'Whose hand was up from when to when';
comment on column classroom.hand_interval.user_name is 'Name as the person was told to come';
comment on column classroom.hand_interval.began_at is 'When it was raised, or was first told to be up';
comment on column classroom.hand_interval.ended_at is 'When it was lowered, or the person left the room; null where neither was seen';
comment on column classroom.hand_interval.lasted is 'Until ended_at, else until the class ended, else until the last event of a room that is gone; null while it is up';

-- Who came is reckoned from every coming and going, in a tenth of a millisecond for each class: too long for those of a year. What
-- the classes of a day come to is kept once the day is over, as long as nothing changes that it hangs on; students are told
-- apart by hashes, in half the time that their IDs take. What is kept is never touched by those who write rooms, who would
-- wait for each other: they note beside it which classes changed, and a day that has such a note is reckoned.
create table ingest.day_attendance (
  app_id text not null, begins_at timestamptz not null, ends_at timestamptz not null,
  classes int not null, students bigint[] not null, visits int not null, stays int not null, seconds double precision not null,
  primary key (app_id, begins_at)
);
comment on table ingest.day_attendance is 'Of days that are over, what the comings and goings of their classes come to; made again where one of them changed';
comment on column ingest.day_attendance.begins_at is 'First moment of the day, in the time zone that the app was in then';
comment on column ingest.day_attendance.ends_at is 'First moment of the next one';
comment on column ingest.day_attendance.classes is 'How many classes began';
comment on column ingest.day_attendance.students is 'Hashes of the user IDs of the students who came, each once';
comment on column ingest.day_attendance.visits is 'The students of each class, added up';
comment on column ingest.day_attendance.seconds is 'Lengths of all their stays together, as far as they are over';

create table ingest.changed_attendance (
  app_id text not null, began_at timestamptz not null, room_uuid text not null, incarnation int not null,
  primary key (app_id, began_at, room_uuid, incarnation)
);
comment on table ingest.changed_attendance is 'Classes of which something changed since ingest.day_attendance was told of their day';
comment on column ingest.changed_attendance.began_at is 'When the class began, before or after the change';

create view ingest.class_day as
  select z.app_id, d.day, d.begins_at, d.ends_at,
         exists (select from ingest.day_attendance k where k.app_id = z.app_id and k.begins_at = d.begins_at and k.ends_at = d.ends_at)
         and not exists (select from ingest.changed_attendance c
                         where c.app_id = z.app_id and c.began_at >= d.begins_at and c.began_at < d.ends_at) as is_kept
  from ingest.app z
  cross join lateral (
    select min((coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date) as first, max((coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date) as last
    from classroom.room r where r.app_id = z.app_id
  ) r
  join ingest.calendar d on d.time_zone = z.time_zone and d.day between r.first - 1 and r.last + 1
    and d.utc_day = (d.begins_at at time zone 'UTC')::date;
comment on view ingest.class_day is 'The days of each app, in its time zone, from that of its first class to that of its last';
comment on column ingest.class_day.day is 'The day, as people in the zone say it';
comment on column ingest.class_day.begins_at is 'Its first moment';
comment on column ingest.class_day.ends_at is 'First moment of the next one';
comment on column ingest.class_day.is_kept is 'Whether ingest.day_attendance tells what came of it';

create view ingest.attendance_of_day as
  select d.app_id, d.day, d.begins_at, a.classes, a.students, a.visits, a.stays, a.seconds
  from ingest.class_day d
  cross join lateral (
    select k.classes, k.students, k.visits, k.stays, k.seconds from ingest.day_attendance k
    where d.is_kept and k.app_id = d.app_id and k.begins_at = d.begins_at
    union all
    select (count(*) filter (where coalesce(s.place, 1) = 1))::int, coalesce(array_agg(distinct hashtextextended(s.user_uuid, 0)) filter (where s.place > 0), '{}'),
           count(s.place)::int, coalesce(sum(s.stays), 0)::int, coalesce(sum(s.seconds), 0)::double precision
    from classroom.room r
    left join lateral (
      select i.user_uuid, row_number() over () as place, count(*) as stays, sum(extract(epoch from i.stayed)) as seconds
      from classroom.attendance_interval i
      where i.app_id = r.app_id and i.room_uuid = r.room_uuid and i.incarnation = r.incarnation
      group by i.user_uuid having bool_and(classroom.is_student(i.role))
    ) s on true
    where r.app_id = d.app_id and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
      and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
        between (d.begins_at at time zone 'UTC')::date and ((d.ends_at - interval '1 microsecond') at time zone 'UTC')::date
    having not d.is_kept
  ) a
  where a.classes > 0;
comment on view ingest.attendance_of_day is 'The students of the classes of each day and their stays, kept or reckoned; a class that has not begun is of the day on which its room was first heard of';
comment on column ingest.attendance_of_day.day is 'On which the classes began, in the time zone of the app';
comment on column ingest.attendance_of_day.begins_at is 'Its first moment';
comment on column ingest.attendance_of_day.classes is 'How many classes began';
comment on column ingest.attendance_of_day.students is 'Hashes of the user IDs of the students who came, each once';
comment on column ingest.attendance_of_day.visits is 'The students of each class, added up';
comment on column ingest.attendance_of_day.seconds is 'Lengths of all their stays together, as far as they are over';

-- Whoever changes classes of an app holds its lock until that is there, and nothing is kept meanwhile.
create function ingest.note_attendance(p_app text, p_room text, p_incarnation int, p_began timestamptz) returns void
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('penstock attendance of ' || p_app, 0));
  insert into ingest.changed_attendance (app_id, began_at, room_uuid, incarnation)
    select p_app, p_began, p_room, p_incarnation
    where exists (select from ingest.day_attendance k
                  where k.app_id = p_app and k.begins_at > p_began - interval '2 days' and k.begins_at <= p_began and k.ends_at > p_began)
    on conflict do nothing;
end
$$;
comment on function ingest.note_attendance is 'Notes that a class changed, where its day is kept';

create function ingest.attendance_changed() returns trigger language plpgsql as $$
begin
  if exists (select from came) then
    perform ingest.note_attendance(r.app_id, r.room_uuid, r.incarnation, coalesce(r.started_at, r.valid_from))
      from (select distinct c.app_id, c.room_uuid, c.incarnation from came c order by 1, 2, 3) c
      join classroom.room r using (app_id, room_uuid, incarnation);
  end if;
  return null;
end
$$;
comment on function ingest.attendance_changed is 'Notes the classes of comings and goings that changed, and classes that are new';
create trigger changed_by_insert after insert on classroom.attendance referencing new table as came
  for each statement execute function ingest.attendance_changed();
create trigger changed_by_update after update on classroom.attendance referencing new table as came
  for each statement execute function ingest.attendance_changed();
create trigger changed_by_delete after delete on classroom.attendance referencing old table as came
  for each statement execute function ingest.attendance_changed();
create trigger changed_by_insert after insert on classroom.room referencing new table as came
  for each statement execute function ingest.attendance_changed();

create function ingest.class_changed() returns trigger language plpgsql as $$
begin
  perform ingest.note_attendance(old.app_id, old.room_uuid, old.incarnation, coalesce(old.started_at, old.valid_from));
  if tg_op = 'UPDATE' then
    perform ingest.note_attendance(new.app_id, new.room_uuid, new.incarnation, coalesce(new.started_at, new.valid_from));
  end if;
  return null;
end
$$;
comment on function ingest.class_changed is 'Notes a class whose begin or end changed, or that is no more';
create trigger changed_by_update after update on classroom.room for each row
  when ((coalesce(old.started_at, old.valid_from), old.ended_at, case when coalesce(old.forgotten_at, old.valid_to) is not null then old.last_event_at end)
        is distinct from (coalesce(new.started_at, new.valid_from), new.ended_at, case when coalesce(new.forgotten_at, new.valid_to) is not null then new.last_event_at end))
  execute function ingest.class_changed();
create trigger changed_by_delete after delete on classroom.room for each row execute function ingest.class_changed();

create function ingest.keep_attendance(p_before timestamptz, p_most int) returns int language plpgsql volatile as $$
declare
  v_day record;
  v_classes int;
  v_kept int := 0;
begin
  for v_day in
    select d.app_id, d.begins_at, d.ends_at from ingest.class_day d where d.ends_at <= p_before and not d.is_kept order by 1, 2
  loop
    exit when v_kept >= p_most;
    continue when not pg_try_advisory_xact_lock(hashtextextended('penstock attendance of ' || v_day.app_id, 0));
    delete from ingest.day_attendance k where k.app_id = v_day.app_id and k.begins_at < v_day.ends_at and k.ends_at > v_day.begins_at;
    delete from ingest.changed_attendance c where c.app_id = v_day.app_id and c.began_at >= v_day.begins_at and c.began_at < v_day.ends_at;
    insert into ingest.day_attendance as k
      select v_day.app_id, v_day.begins_at, v_day.ends_at, coalesce(a.classes, 0), coalesce(a.students, '{}'), coalesce(a.visits, 0), coalesce(a.stays, 0), coalesce(a.seconds, 0)
      from (select) one left join ingest.attendance_of_day a on a.app_id = v_day.app_id and a.begins_at = v_day.begins_at
      returning k.classes into v_classes;
    v_kept := v_kept + 1 + v_classes;
  end loop;
  return v_kept;
end
$$;
comment on function ingest.keep_attendance is
  'Keeps what came of days that ended before a moment, until they and their classes are so many; answers of how many. An app that somebody writes to is left for the next time';
revoke execute on function ingest.note_attendance, ingest.attendance_changed, ingest.class_changed, ingest.keep_attendance from public;
grant execute on function ingest.note_attendance, ingest.attendance_changed, ingest.class_changed, ingest.keep_attendance to penstock_runtime;

create view classroom.attendance_by_day as
  select app_id, day, classes, cardinality(students) as students, visits, stays, seconds / 60 as student_minutes from ingest.attendance_of_day;
comment on view classroom.attendance_by_day is 'How many students came, day by day; ask for an app and some days';
comment on column classroom.attendance_by_day.day is 'On which the classes began, in the time zone of the app; one without classes is not here';
comment on column classroom.attendance_by_day.classes is 'How many classes began';
comment on column classroom.attendance_by_day.students is 'Different students who came to any of them';
comment on column classroom.attendance_by_day.visits is 'The students of each class, added up: who came to two classes counts twice';
comment on column classroom.attendance_by_day.student_minutes is 'Lengths of all their stays together, as far as they are over';

-- Each week by itself and the one before it, so that a query for some weeks reads no others.
create view classroom.attendance_by_week as
  select w.app_id, w.week, max(s.classes) filter (where o.is_own) as classes, max(s.students) filter (where o.is_own) as students,
         max(s.visits) filter (where o.is_own) as visits, max(s.minutes) filter (where o.is_own) as student_minutes,
         max(s.students) filter (where not o.is_own) as students_before, max(s.visits) filter (where not o.is_own) as visits_before,
         max(s.minutes) filter (where not o.is_own) as student_minutes_before,
         max(s.minutes) filter (where o.is_own) / nullif(max(s.minutes) filter (where not o.is_own), 0) - 1 as change
  from (select distinct d.app_id, d.day - (extract(isodow from d.day)::int - 1) as week from ingest.class_day d) w
  cross join (values (true, 0), (false, 7)) o(is_own, days)
  cross join lateral (
    select coalesce(sum(a.classes) filter (where u.is_first), 0)::int as classes, count(distinct u.student)::int as students,
           coalesce(sum(a.visits) filter (where u.is_first), 0)::int as visits, coalesce(sum(a.seconds) filter (where u.is_first), 0) / 60 as minutes
    from ingest.attendance_of_day a
    left join lateral unnest(a.students) with ordinality s(student, place) on true
    cross join lateral (select s.student, coalesce(s.place, 1) = 1 as is_first) u
    where a.app_id = w.app_id and a.day between w.week - o.days and w.week - o.days + 6
  ) s
  group by w.app_id, w.week having max(s.classes) filter (where o.is_own) > 0;
comment on view classroom.attendance_by_week is 'How many students came, week by week, beside the week before; ask for an app and some weeks';
comment on column classroom.attendance_by_week.week is 'Its Monday; a week is of the days of the time zone of the app, and one without classes is not here';
comment on column classroom.attendance_by_week.classes is 'How many classes began';
comment on column classroom.attendance_by_week.students is 'Different students who came to any of them';
comment on column classroom.attendance_by_week.visits is 'The students of each class, added up: who came to two classes counts twice';
comment on column classroom.attendance_by_week.student_minutes is 'Lengths of all their stays together, as far as they are over';
comment on column classroom.attendance_by_week.students_before is 'The same of the week before; likewise the other two';
comment on column classroom.attendance_by_week.visits_before is 'Visits of the week before';
comment on column classroom.attendance_by_week.student_minutes_before is 'Minutes of the week before';
comment on column classroom.attendance_by_week.change is 'Of student_minutes: 0.1 is a tenth more than the week before; null where nobody came then';

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

-- A quiz or poll that nobody ended is over with its class.
-- Each answer of those who are told without an ID counts.
create view classroom.quiz_result as
  select q.app_id, q.room_uuid, q.incarnation, q.quiz_id, q.started_at,
         case when coalesce(r.ended_at, r.forgotten_at, r.valid_to) is null then q.state when q.state is not null then 'ended' end as state,
         q.total_count as asked,
         s.answered, s.correct, s.correct::double precision / nullif(s.answered, 0) as accuracy,
         q.average_accuracy as reported_accuracy
  from classroom.quiz q
  left join classroom.room r using (app_id, room_uuid, incarnation)
  cross join lateral (
    select count(*)::int as answered, (count(*) filter (where a.is_correct))::int as correct
    from (
      select distinct on (x.user_uuid, case x.user_uuid when '' then x.ordinal end) x.is_correct from classroom.quiz_submission x
      where x.app_id = q.app_id and x.room_uuid = q.room_uuid and x.incarnation = q.incarnation and x.quiz_id = q.quiz_id
      order by x.user_uuid, case x.user_uuid when '' then x.ordinal end, x.ordinal desc
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
         case p.mode when 1 then 'single choice' when 2 then 'multiple choice' end as mode,
         case when coalesce(r.ended_at, r.forgotten_at, r.valid_to) is null then p.state when p.state is not null then 'ended' end as state,
         t.option_index,
         case jsonb_typeof(p.items) when 'array' then p.items ->> t.option_index else p.items ->> t.option_index::text end as option,
         t.num as votes, t.percentage as share
  from classroom.poll p
  left join classroom.room r using (app_id, room_uuid, incarnation)
  join classroom.poll_tally t using (app_id, room_uuid, incarnation, poll_id);
comment on view classroom.poll_result is 'Every option of every poll with its votes';
comment on column classroom.poll_result.option is 'What the option says; null where the poll''s start was never seen';
comment on column classroom.poll_result.share is 'Share of those who voted, 0 to 1; of a multiple choice the shares come to more than 1';

reset role;

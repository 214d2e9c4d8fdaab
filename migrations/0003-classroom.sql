set local role penstock_migrate;

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
  primary key (app_id, room_uuid, incarnation)
);
comment on table classroom.room is 'One classroom; the same room_uuid used again later is another incarnation of it';
comment on column classroom.room.app_id is 'App ID of the project';
comment on column classroom.room.room_uuid is 'The provider''s classroom ID, also the channel name of its calls';
comment on column classroom.room.incarnation is 'Counts from 1 how often this room_uuid has been used for a new room';
comment on column classroom.room.state is '0 not started, 1 started, 2 ended, 3 closed; null while no state change has been seen';
comment on column classroom.room.state_sequence is 'Sequence of the event that state comes from';
comment on column classroom.room.valid_from is 'The room_uuid means this incarnation from here ...';
comment on column classroom.room.valid_to is '... to here; null while it is the latest';
comment on column classroom.room.verified_at is 'From here on the provider means this incarnation for as long as it remembers an ended room';
comment on column classroom.room.forgotten_at is 'When the provider first answered that the room does not exist';
create index room_by_start on classroom.room (app_id, started_at);

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
comment on table classroom.room_event is 'Every event of every room as it came, known kinds and unknown ones';
comment on column classroom.room_event.sequence is 'Order of the events within the room, given by the provider';
comment on column classroom.room_event.cmd is '1 room state, 3 chat, 20 enter and leave, 1001 recording, 1003 resources, 1101 rewards, 1501 stage, 1502 hands; others are kept too';
comment on column classroom.room_event.data is 'The event''s own data; NUL and lone surrogates are written as U+001A and four hex digits, tokens are replaced by a mark';
comment on column classroom.room_event.event_time is 'The provider''s time inside the event, where it has one';
comment on column classroom.room_event.at is 'When it happened, as well as can be known';
comment on column classroom.room_event.at_source is 'Where "at" comes from: event (its own time), neighbour (the last event before it that has one), provider (when it was served), received (our clock)';
comment on column classroom.room_event.source is 'feed: seen in the app''s feed only so far; log: confirmed by the room''s log';

create table classroom.room_state_change (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null,
  state int not null, started_at timestamptz, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence)
);
comment on table classroom.room_state_change is 'A class was made ready, started, ended or closed';
comment on column classroom.room_state_change.state is '0 not started, 1 started, 2 ended, 3 closed';

create table classroom.chat_message (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null,
  user_uuid text, user_name text, role text, message text, type int, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence)
);
create index chat_message_at on classroom.chat_message using brin (at);
comment on table classroom.chat_message is 'Chat of the room, one row a message';
comment on column classroom.chat_message.type is '1 is text, the only documented one';

create table classroom.attendance (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  user_uuid text not null, user_name text, role text, stream_uuid text, action text not null,
  at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);
create index attendance_at on classroom.attendance using brin (at);
comment on table classroom.attendance is 'People entering and leaving; classroom.attendance_interval makes spans of it';
comment on column classroom.attendance.ordinal is 'Place in the event''s list, from 0';
comment on column classroom.attendance.role is 'As the provider says it: a number or a word';
comment on column classroom.attendance.action is 'enter or leave';

create table classroom.recording_state_change (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null,
  state int not null, record_id text, sid text, resource_id text, started_at timestamptz, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence)
);
comment on table classroom.recording_state_change is 'A recording started (state 1) or stopped (another state)';
comment on column classroom.recording_state_change.record_id is 'A stop names none: it belongs to the recording started last';

create table classroom.reward (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  user_uuid text not null, changed_reward double precision, total double precision, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);
comment on table classroom.reward is 'Rewards given: the change and the new total of one user';

create table classroom.resource_change (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  resource_uuid text not null, action text not null, resource_name text, ext text, size double precision, url text,
  task_uuid text, task_progress jsonb, operator_uuid text, operator_name text, operator_role text,
  at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);
comment on table classroom.resource_change is 'Public resources added, changed (upsert) or deleted, and by whom';
comment on column classroom.resource_change.size is 'Bytes';

create table classroom.stage_change (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  user_uuid text not null, action text not null, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);
comment on table classroom.stage_change is 'Users brought on the stage (add) or taken off it (remove); present is a full list without changes';

create table classroom.hand_wave (
  app_id text not null, room_uuid text not null, incarnation int not null, sequence bigint not null, ordinal int not null,
  user_uuid text not null, action text not null, payload jsonb, at timestamptz not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, sequence, ordinal)
);
comment on table classroom.hand_wave is 'Hands raised (add) and lowered (remove); present is a full list without changes';

create table classroom.widget_event (
  app_id text not null, room_uuid text not null, incarnation int not null, widget text not null, position bigint not null,
  content_hash text not null, data jsonb not null, received_at timestamptz not null,
  primary key (app_id, room_uuid, incarnation, widget, position)
);
comment on table classroom.widget_event is 'Items of the quiz and poll logs as they came';
comment on column classroom.widget_event.widget is 'popupQuiz or poll';
comment on column classroom.widget_event.position is 'The item''s own sequence where it has one, else its place in the log from 0';
comment on column classroom.widget_event.content_hash is 'SHA-256 of the item, hex';

create table classroom.quiz (
  app_id text not null, room_uuid text not null, incarnation int not null, quiz_id text not null,
  correct_items jsonb, items jsonb, correct_count int, selected_count int, total_count int,
  average_accuracy double precision, state text, started_at timestamptz, ended_at timestamptz, started_by text, extra jsonb,
  primary key (app_id, room_uuid, incarnation, quiz_id)
);
comment on table classroom.quiz is 'A pop-up quiz with its latest summary';
comment on column classroom.quiz.selected_count is 'Students who answered';
comment on column classroom.quiz.total_count is 'Students who could answer';
comment on column classroom.quiz.average_accuracy is 'As the provider gives it';
comment on column classroom.quiz.state is 'running or ended';

create table classroom.quiz_submission (
  app_id text not null, room_uuid text not null, incarnation int not null, quiz_id text not null,
  user_uuid text not null, ordinal int not null, user_name text,
  selected_items jsonb, is_correct boolean, committed_at timestamptz, extra jsonb,
  primary key (app_id, room_uuid, incarnation, quiz_id, user_uuid, ordinal)
);
comment on table classroom.quiz_submission is 'Every answer to a quiz; a user may answer again (ordinal 1, 2, ...)';

create table classroom.poll (
  app_id text not null, room_uuid text not null, incarnation int not null, poll_id text not null,
  mode int, items jsonb, state text, started_at timestamptz, ended_at timestamptz, started_by text, extra jsonb,
  primary key (app_id, room_uuid, incarnation, poll_id)
);
comment on table classroom.poll is 'A poll';
comment on column classroom.poll.mode is '1 single choice, 2 multiple choice';
comment on column classroom.poll.state is 'running or ended';

create table classroom.poll_submission (
  app_id text not null, room_uuid text not null, incarnation int not null, poll_id text not null,
  user_uuid text not null, ordinal int not null, user_name text, select_index int[], at timestamptz, extra jsonb,
  primary key (app_id, room_uuid, incarnation, poll_id, user_uuid, ordinal)
);
comment on table classroom.poll_submission is 'Every vote; a user may vote again (ordinal 1, 2, ...)';
comment on column classroom.poll_submission.select_index is 'Options chosen, from 0';

create table classroom.poll_tally (
  app_id text not null, room_uuid text not null, incarnation int not null, poll_id text not null,
  option_index int not null, num int, percentage double precision,
  primary key (app_id, room_uuid, incarnation, poll_id, option_index)
);
comment on table classroom.poll_tally is 'Latest count of each option of a poll';
comment on column classroom.poll_tally.percentage is 'Share of those who voted, as the provider gives it';

create table classroom.recording (
  app_id text not null, room_uuid text not null, incarnation int not null, record_id text not null,
  sid text, resource_id text, type int, status int, started_at timestamptz, ended_at timestamptz, url text, extra jsonb,
  primary key (app_id, room_uuid, incarnation, record_id)
);
comment on table classroom.recording is 'Recordings as listed last; read again until they have ended and have their files';
comment on column classroom.recording.type is '1 individual, 2 composite, 3 web page';
comment on column classroom.recording.status is '1 recording, 2 ended';

create table classroom.recording_file (
  app_id text not null, room_uuid text not null, incarnation int not null, record_id text not null,
  ordinal int not null, url text not null, extra jsonb,
  primary key (app_id, room_uuid, incarnation, record_id, ordinal)
);
comment on table classroom.recording_file is 'Files of a recording';

create table classroom.resource (
  app_id text not null, room_uuid text not null, incarnation int not null, resource_uuid text not null,
  resource_name text, ext text, size double precision, url text, task_uuid text, task_progress jsonb,
  updated_at timestamptz, removed_at timestamptz, extra jsonb,
  primary key (app_id, room_uuid, incarnation, resource_uuid)
);
comment on table classroom.resource is 'Public resources as listed last';
comment on column classroom.resource.size is 'Bytes';
comment on column classroom.resource.removed_at is 'When a complete listing no longer named it; null while it is listed';

-- Who enters twice without leaving has stayed, and who leaves twice has left the first time: only the first of a
-- run of equal actions counts.
create view classroom.attendance_interval as
  select app_id, room_uuid, incarnation, user_uuid, user_name, role, at as entered_at, left_at,
         coalesce(left_at, case when ended_at > at then ended_at end) - at as stayed
  from (
    select a.*, r.ended_at, lead(a.at) over (person order by a.sequence, a.ordinal) as left_at
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
comment on view classroom.attendance_interval is 'Who was in the room from when to when';
comment on column classroom.attendance_interval.left_at is 'Null for one who was not seen leaving';
comment on column classroom.attendance_interval.stayed is 'Until left_at, else until the class ended; null while neither is known';

create view ingest.room_log as
  select p.app_id, p.series as room_uuid, r.incarnation, r.state, p.caught_up_at, p.closed_at, e.events, e.unconfirmed, g.holes,
         p.caught_up_at is not null and e.unconfirmed = 0 and g.holes = 0 as whole
  from ingest.progress p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  cross join lateral (select count(*) as events, count(*) filter (where e.source = 'feed') as unconfirmed
                      from classroom.room_event e
                      where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation) e
  cross join lateral (select count(*) as holes from ingest.gap g
                      where g.app_id = p.app_id and g.stream = p.stream and g.series = p.series
                        and g.incarnation = r.incarnation and g.state in ('open', 'lost')) g
  where p.stream = 'room-events';
comment on view ingest.room_log is 'Per room: whether its log has been read to the end without holes';
comment on column ingest.room_log.unconfirmed is 'Events that only the feed has shown';
comment on column ingest.room_log.holes is 'Ranges of sequences that are missing, still open or lost';
comment on column ingest.room_log.whole is 'The log was read to its end and nothing of the room is known that it did not say';

grant select on classroom.attendance_interval, ingest.room_log to penstock_runtime;
reset role;

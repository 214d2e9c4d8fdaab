set local role penstock_migrate;

create table analytics.call (
  app_id text not null,
  call_id text not null,
  cname text,
  created_at timestamptz not null,
  destroyed_at timestamptz,
  finished boolean,
  extra jsonb,
  first_seen_at timestamptz not null default ingest.clock(),
  updated_at timestamptz not null default ingest.clock(),
  primary key (app_id, call_id)
);
create index call_by_start on analytics.call (app_id, created_at);
create index call_by_channel on analytics.call (app_id, cname, created_at);
comment on table analytics.call is 'Calls as the search listed them last';
comment on column analytics.call.app_id is 'App ID of the project';
comment on column analytics.call.cname is 'Channel name; of a class it is the room_uuid';
comment on column analytics.call.created_at is 'Start of the call';
comment on column analytics.call.destroyed_at is 'End of the call; of one that goes on, as far as the provider says';
comment on column analytics.call.finished is 'False while the call goes on; once true it stays true';
comment on column analytics.call.extra is 'Fields that have no column here, as they came';
comment on column analytics.call.first_seen_at is 'When the search listed it first, our clock';
comment on column analytics.call.updated_at is 'When anything about it changed last, our clock';

create table analytics.call_session (
  app_id text not null,
  call_id text not null,
  sid text not null,
  cname text,
  uid text,
  network text,
  platform text,
  speaker boolean,
  sdk_version text,
  device_type text,
  joined_at timestamptz,
  left_at timestamptz,
  finished boolean,
  extra jsonb,
  primary key (app_id, call_id, sid)
);
comment on table analytics.call_session is 'One stay of one user in a call; who leaves and comes back has another one';
comment on column analytics.call_session.sid is 'The provider''s ID of the stay';
comment on column analytics.call_session.uid is 'User ID; the same user may stay more than once';
comment on column analytics.call_session.speaker is 'Whether the user speaks in the call';
comment on column analytics.call_session.finished is 'Whether the user has left; once true it stays true';
comment on column analytics.call_session.extra is 'Fields that have no column here, as they came';

-- The largest table. A week a partition: with three months kept, a look-up of one call meets a dozen indexes and
-- not a hundred, and a week is still little to keep too long when its turn to go comes.
create table analytics.session_metric (
  app_id text not null,
  call_id text not null,
  sid text not null,
  peer_uid text not null,
  mid int not null,
  at timestamptz not null,
  value double precision not null,
  primary key (app_id, call_id, sid, peer_uid, mid, at)
) partition by range (at);
-- The hour as the view quality_by_hour makes it, so that its bounds reach the index.
create index session_metric_time on analytics.session_metric
  using brin (at, date_bin('1 hour', at, '1970-01-01 00:00:00+00')) with (pages_per_range = 32, autosummarize = on);
create table analytics.session_metric_default partition of analytics.session_metric default;
comment on table analytics.session_metric is 'Quality of each session over time, about one value of each metric in two seconds; a partition a week';
comment on column analytics.session_metric.peer_uid is 'The remote user that the value is about; 0: the session''s own user';
comment on column analytics.session_metric.mid is 'Metric; analytics.metric has its name and unit';
comment on column analytics.session_metric.value is 'In the unit of the metric';

create table analytics.metric (
  mid int primary key,
  name text not null,
  unit text
);
comment on table analytics.metric is 'Names and units of the metrics of sessions; one that is not listed here is kept all the same';
comment on column analytics.metric.mid is 'The provider''s ID of the metric';
comment on column analytics.metric.unit is 'Null where it has none';
insert into analytics.metric (mid, name, unit) values
  (20001, 'App CPU usage', '%'),
  (20002, 'System CPU usage', '%'),
  (20003, 'Upstream audio bitrate', 'Kbps'),
  (20004, 'Downstream audio bitrate', 'Kbps'),
  (20005, 'Freeze time in rendering audio', 'ms'),
  (20006, 'Upstream bitrate of low-quality video stream', 'Kbps'),
  (20007, 'Video capturing frame rate', 'fps'),
  (20008, 'Upstream frame rate of high-quality video stream', 'fps'),
  (20009, 'Downstream video bitrate', 'Kbps'),
  (20010, 'Downstream video frame rate', 'fps'),
  (20011, 'Freeze time in rendering video', 'ms'),
  (20013, 'Video quality of picture (QP); lower is better', null),
  (20015, 'Upstream audio packet loss rate', '%'),
  (20016, 'End-to-end audio packet loss rate', '%'),
  (20017, 'Upstream video packet loss rate', '%'),
  (20018, 'End-to-end video packet loss rate', '%'),
  (20019, 'Width of received video', null),
  (20020, 'Height of received video', null),
  (20021, 'Task scheduling delay', 'ms'),
  (20022, 'Round-trip delay from client to local router', 'ms'),
  (20023, 'Upstream frame rate of low-quality video stream', 'fps'),
  (20024, 'Upstream bitrate of high-quality video stream', 'Kbps'),
  (20025, 'Sampling volume of sent audio', 'dB'),
  (20026, 'Playback volume of received audio', 'dB'),
  (20027, 'Width of sent video', null),
  (20028, 'Height of sent video', null);

create table analytics.usage_insight (
  app_id text not null,
  metric text not null,
  granularity text not null check (granularity in ('minute', 'hour', 'day')),
  at timestamptz not null,
  value double precision not null,
  revision int not null default 1,
  fetched_at timestamptz not null,
  primary key (app_id, metric, granularity, at)
);
comment on table analytics.usage_insight is 'Usage of the project as the provider counts it, by minute, hour or day (UTC)';
comment on column analytics.usage_insight.at is 'Begin of what the value stands for';
comment on column analytics.usage_insight.revision is 'Counts from 1 how often the provider has given another value; it computes them again about two days later';
comment on column analytics.usage_insight.fetched_at is 'When this value was last read, our clock';

create table analytics.quality_insight (
  app_id text not null,
  product text not null,
  metric text not null,
  granularity text not null check (granularity in ('minute', 'hour', 'day')),
  at timestamptz not null,
  value double precision not null,
  revision int not null default 1,
  fetched_at timestamptz not null,
  primary key (app_id, product, metric, granularity, at)
);
comment on table analytics.quality_insight is 'Quality of the project as the provider counts it, by minute, hour or day (UTC)';
comment on column analytics.quality_insight.product is 'Kind of client that the value is about';
comment on column analytics.quality_insight.at is 'Begin of what the value stands for';
comment on column analytics.quality_insight.revision is 'Counts from 1 how often the provider has given another value; it computes them again about two days later';
comment on column analytics.quality_insight.fetched_at is 'When this value was last read, our clock';

-- A month a partition: 4,320 values a day and series are little, and they are kept for a year.
create table analytics.usage_realtime (
  app_id text not null,
  product text not null,
  metric text not null,
  cname text not null,
  at timestamptz not null,
  value double precision not null,
  primary key (app_id, product, metric, cname, at)
) partition by range (at);
create table analytics.usage_realtime_default partition of analytics.usage_realtime default;
comment on table analytics.usage_realtime is 'Numbers of users and channels in windows of 20 seconds; a partition a month';
comment on column analytics.usage_realtime.product is 'Kind of client that the value is about';
comment on column analytics.usage_realtime.cname is 'Channel; empty: the whole project';
comment on column analytics.usage_realtime.at is 'Begin of the 20 seconds';

create table analytics.quality_realtime (
  app_id text not null,
  product text not null,
  metric text not null,
  cname text not null,
  uid text not null,
  at timestamptz not null,
  value double precision not null,
  primary key (app_id, product, metric, cname, uid, at)
) partition by range (at);
create table analytics.quality_realtime_default partition of analytics.quality_realtime default;
comment on table analytics.quality_realtime is 'Quality in windows of 20 seconds; a partition a month';
comment on column analytics.quality_realtime.product is 'Kind of client that the value is about';
comment on column analytics.quality_realtime.cname is 'Channel; empty: the whole project';
comment on column analytics.quality_realtime.uid is 'User; empty: all users';
comment on column analytics.quality_realtime.at is 'Begin of the 20 seconds';

reset role;

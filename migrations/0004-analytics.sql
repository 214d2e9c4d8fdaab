-- Calls, what was measured during them, and what the provider counts itself.

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
-- Every arm of usage_by_day can be asked for an app and some days alone, and so can session_quality.
create index call_by_day on analytics.call (app_id, ((created_at at time zone 'UTC')::date));

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
-- Finds the sessions of a day.
create index session_by_day on analytics.call_session (app_id, ((joined_at at time zone 'UTC')::date));

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
  extra jsonb,
  primary key (app_id, call_id, sid, peer_uid, mid, at)
) partition by range (at);
-- The hour as the view quality_by_hour makes it, so that its bounds reach the index. Its summaries are made by housekeeping
-- (ingest.summarize): made by the server itself, each is a request to autovacuum, and every one that it has no room for is
-- a line in the server's log.
create index session_metric_time on analytics.session_metric
  using brin (at, date_bin('1 hour', at, '1970-01-01 00:00:00+00')) with (pages_per_range = 32);
create table analytics.session_metric_default partition of analytics.session_metric default;
-- What lies in a default partition is found by its time; normally nothing does.
create index session_metric_default_at on analytics.session_metric_default (at);

-- What the provider says beside a value, which its documents leave open, is kept in extra, here and in the tables below.
create table analytics.usage_insight (
  app_id text not null,
  metric text not null,
  granularity text not null check (granularity in ('minute', 'hour', 'day')),
  at timestamptz not null,
  value double precision not null,
  revision int not null default 1,
  fetched_at timestamptz not null,
  extra jsonb,
  primary key (app_id, metric, granularity, at)
);
create index usage_insight_by_day on analytics.usage_insight (app_id, ((at at time zone 'UTC')::date)) where granularity = 'day';

create table analytics.quality_insight (
  app_id text not null,
  product text not null,
  metric text not null,
  granularity text not null check (granularity in ('minute', 'hour', 'day')),
  at timestamptz not null,
  value double precision not null,
  revision int not null default 1,
  fetched_at timestamptz not null,
  extra jsonb,
  primary key (app_id, product, metric, granularity, at)
);

-- A month a partition: 4,320 values a day and series are little, and they are kept for a year.
create table analytics.usage_realtime (
  app_id text not null,
  product text not null,
  metric text not null,
  cname text not null,
  at timestamptz not null,
  value double precision not null,
  extra jsonb,
  primary key (app_id, product, metric, cname, at)
) partition by range (at);
create table analytics.usage_realtime_default partition of analytics.usage_realtime default;
create index usage_realtime_default_at on analytics.usage_realtime_default (at);

create table analytics.quality_realtime (
  app_id text not null,
  product text not null,
  metric text not null,
  cname text not null,
  uid text not null,
  at timestamptz not null,
  value double precision not null,
  extra jsonb,
  primary key (app_id, product, metric, cname, uid, at)
) partition by range (at);
create table analytics.quality_realtime_default partition of analytics.quality_realtime default;
create index quality_realtime_default_at on analytics.quality_realtime_default (at);

-- For the rows of the last and the next two weeks; the daemon makes the others.
select ingest.make_partition(t.name, d.at)
from unnest(array['session_metric', 'usage_realtime', 'quality_realtime']) t(name)
cross join lateral ingest.partitions_due(
  t.name, ingest.clock() - interval '14 days', ingest.clock() + interval '14 days', ingest.clock()) d(at);

-- What was measured during some calls. It goes from each call to its sessions and to their values, so that every
-- step is a look-up of a key; a value that lies more than a day outside its call is left out, so that a call looks
-- into the partitions of its own time only.
create function analytics.quality_of(p_app text, p_calls text[])
returns table (
  samples bigint, bad_share double precision,
  audio_freeze_avg_ms double precision, audio_freeze_p95_ms double precision,
  video_freeze_avg_ms double precision, video_freeze_p95_ms double precision,
  audio_loss_avg_pct double precision, audio_loss_p95_pct double precision,
  video_loss_avg_pct double precision, video_loss_p95_pct double precision,
  rtt_avg_ms double precision, rtt_p95_ms double precision
) language sql stable parallel safe as $$
  select count(*),
         (count(*) filter (where m.mid in (20005, 20011) and m.value >= 200 or m.mid in (20016, 20018) and m.value >= 10
                              or m.mid = 20022 and m.value >= 400))::double precision / nullif(count(*), 0),
         avg(m.value) filter (where m.mid = 20005), percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20005),
         avg(m.value) filter (where m.mid = 20011), percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20011),
         avg(m.value) filter (where m.mid = 20016), percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20016),
         avg(m.value) filter (where m.mid = 20018), percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20018),
         avg(m.value) filter (where m.mid = 20022), percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20022)
  from analytics.call c
  join analytics.call_session s on s.app_id = c.app_id and s.call_id = c.call_id
  join analytics.session_metric m on m.app_id = s.app_id and m.call_id = s.call_id and m.sid = s.sid
    and m.mid in (20005, 20011, 20016, 20018, 20022) and m.at >= c.created_at - interval '1 day'
    and m.at < coalesce(greatest(c.destroyed_at, c.created_at), 'infinity') + interval '1 day'
  where c.app_id = p_app and c.call_id = any (p_calls)
$$;
comment on function analytics.quality_of is
  'Freeze (mid 20005, 20011), end-to-end loss (20016, 20018) and round trip (20022) of calls; bad_share: values of at least 200 ms, 10 % and 400 ms';

create view analytics.call_quality as
  select c.app_id, c.call_id, c.cname, c.created_at, c.destroyed_at, c.finished,
         case when c.destroyed_at is not null
           then extract(epoch from greatest(c.destroyed_at - c.created_at, interval '0'))::double precision / 60 end as minutes,
         s.users, s.sessions, s.user_minutes, q.*
  from analytics.call c
  cross join lateral (
    select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at) - s.joined_at, interval '0'))), 0)::double precision / 60
             as user_minutes
    from analytics.call_session s where s.app_id = c.app_id and s.call_id = c.call_id
  ) s
  cross join lateral analytics.quality_of(c.app_id, array[c.call_id]) q;
comment on view analytics.call_quality is 'Every call with its users and its quality; what was not measured is null';
comment on column analytics.call_quality.minutes is 'Length of the call; null while its end is not known';
comment on column analytics.call_quality.users is 'Different users; sessions counts their stays';
comment on column analytics.call_quality.user_minutes is 'Lengths of all stays together';
comment on column analytics.call_quality.samples is 'Values of freeze, loss and round trip that the rest is made of';
comment on column analytics.call_quality.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.call_quality.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.call_quality.audio_freeze_p95_ms is '95 of 100 values are at most this; likewise the others';
comment on column analytics.call_quality.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.call_quality.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.call_quality.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';
comment on column analytics.call_quality.rtt_avg_ms is 'Mean of the round trip from client to local router (mid 20022)';

create view analytics.worst_calls as
  select q.* from analytics.call_quality q where q.bad_share > 0 order by q.bad_share desc, q.user_minutes desc;
comment on view analytics.worst_calls is 'Calls with bad moments, the worst first; the columns are those of call_quality';
comment on column analytics.worst_calls.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';

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

create view analytics.quality_by_hour as
  select m.app_id, date_bin('1 hour', m.at, '1970-01-01 00:00:00+00') as hour, count(distinct m.call_id)::int as calls, count(*) as samples,
         avg(m.value) filter (where m.mid = 20005) as audio_freeze_avg_ms,
         percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20005) as audio_freeze_p95_ms,
         avg(m.value) filter (where m.mid = 20011) as video_freeze_avg_ms,
         percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20011) as video_freeze_p95_ms,
         avg(m.value) filter (where m.mid = 20016) as audio_loss_avg_pct,
         percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20016) as audio_loss_p95_pct,
         avg(m.value) filter (where m.mid = 20018) as video_loss_avg_pct,
         percentile_cont(0.95) within group (order by m.value) filter (where m.mid = 20018) as video_loss_p95_pct
  from analytics.session_metric m
  where m.mid in (20005, 20011, 20016, 20018)
  group by 1, 2;
comment on view analytics.quality_by_hour is 'Freeze and loss of all calls of an app, hour by hour (UTC)';
comment on column analytics.quality_by_hour.hour is 'Begin of the hour';
comment on column analytics.quality_by_hour.calls is 'Calls in which something was measured';
comment on column analytics.quality_by_hour.samples is 'Values of freeze and loss that the rest is made of';
comment on column analytics.quality_by_hour.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.quality_by_hour.audio_freeze_p95_ms is '95 of 100 values are at most this; likewise the others';
comment on column analytics.quality_by_hour.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.quality_by_hour.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.quality_by_hour.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';

create view analytics.usage_by_day as
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
comment on view analytics.usage_by_day is 'Calls and users day by day (UTC), and what the provider itself reports of the day';
comment on column analytics.usage_by_day.day is 'UTC; calls and stays belong to the day on which their call began';
comment on column analytics.usage_by_day.users is 'Different users of the day; sessions counts their stays';
comment on column analytics.usage_by_day.user_minutes is 'Lengths of all stays together';
comment on column analytics.usage_by_day.reported is 'Usage insights of the day by metric; null where none were read';

reset role;

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
  emptied_at timestamptz,
  primary key (app_id, call_id)
);
create trigger know_apps after insert on analytics.call referencing new table as came
  for each statement execute function ingest.know_apps();
create index call_by_age on analytics.call (created_at) where emptied_at is null;
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
  unit text,
  bad_from double precision,
  talk_from double precision
);
comment on table analytics.metric is 'Names and units of the metrics of sessions; one that is not listed here is kept all the same';
comment on column analytics.metric.mid is 'The provider''s ID of the metric';
comment on column analytics.metric.unit is 'Null where it has none';
comment on column analytics.metric.bad_from is 'From here on a value is bad: somebody would notice; null where the metric does not tell of quality';
comment on column analytics.metric.talk_from is 'From here on a value is of somebody who talks, which no document tells: a quiet room has less; null where the metric does not tell it. A call is counted by what stood here when it was summed up';
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
update analytics.metric m set bad_from = b.bad_from
from (values (20005, 200), (20011, 200), (20016, 10), (20018, 10), (20022, 400)) b(mid, bad_from) where m.mid = b.mid;

update analytics.metric set talk_from = 40 where mid = 20025;

-- The largest table. A value every two seconds is one of a series, so a day of it is one row: a value costs a few bytes,
-- and values that come twice, in slices that overlap, meet in the row that they have in common. A week a partition: with
-- three months kept, a look-up of one call meets a dozen indexes and not a hundred, and a week is still little to keep too
-- long when its turn to go comes.
create table analytics.session_series (
  app_id text not null,
  call_id text not null,
  sid text not null,
  mid int not null,
  peer_uid text not null,
  at timestamptz not null,
  gaps int[] not null,
  value double precision[] not null,
  extra jsonb,
  check (gaps[1] >= 0 and 0 < all (gaps[2:]) and cardinality(gaps) = cardinality(value)),
  primary key (app_id, call_id, sid, mid, peer_uid, at)
) partition by range (at);
create table analytics.session_series_default partition of analytics.session_series default;
-- What lies in a default partition is found by its time; normally nothing does.
create index session_series_default_at on analytics.session_series_default (at);

create function analytics.values_of(p_gaps int[], p_value double precision[], p_extra jsonb)
returns table (second bigint, value double precision, extra jsonb) language sql immutable parallel safe as $$
  select s.second, s.value, case when p_extra is not null then p_extra -> s.second::text end
  from (select sum(v.gap) over (rows unbounded preceding) as second, v.value from unnest(p_gaps, p_value) v(gap, value)) s
$$;
comment on function analytics.values_of is 'The values of a row of session_series, with the seconds since the begin of its day';

-- Of two values of one second the second row's counts, with what stands beside it.
create function analytics.merged_series(
  p_gaps int[], p_value double precision[], p_extra jsonb, p_newer_gaps int[], p_newer_value double precision[], p_newer_extra jsonb,
  out gaps int[], out value double precision[], out extra jsonb
) language sql immutable parallel safe as $$
  select array_agg(m.second - coalesce(m.before, 0) order by m.second)::int[], array_agg(m.value order by m.second),
         jsonb_object_agg(m.second, m.extra) filter (where m.extra is not null)
  from (
    select o.*, lag(o.second) over (order by o.second) as before
    from (
      select distinct on (v.second) v.second, v.value, v.extra
      from (
        select 1 as place, a.* from analytics.values_of(p_gaps, p_value, p_extra) a
        union all
        select 2, b.* from analytics.values_of(p_newer_gaps, p_newer_value, p_newer_extra) b
      ) v
      order by v.second, v.place desc
    ) o
  ) m
$$;
comment on function analytics.merged_series is 'Two rows of session_series of the same day as one';

create view analytics.session_metric as
  select s.app_id, s.call_id, s.sid, s.peer_uid, s.mid, s.at + make_interval(secs => v.second) as at, v.value, v.extra, s.at as day
  from analytics.session_series s cross join lateral analytics.values_of(s.gaps, s.value, s.extra) v;
comment on view analytics.session_metric is
  'Quality of each session over time, about one value of each metric in two seconds; ask for one call, or for sessions, and of many calls for their summaries';
comment on column analytics.session_metric.call_id is 'The provider''s ID of the call';
comment on column analytics.session_metric.sid is 'Stay of the user that the value was measured in';
comment on column analytics.session_metric.peer_uid is
  'The remote user that the value is about; 0: the session''s own user; empty: the provider did not say';
comment on column analytics.session_metric.mid is 'Metric; analytics.metric has its name and unit';
comment on column analytics.session_metric.at is 'When it was measured';
comment on column analytics.session_metric.value is 'In the unit of the metric';
comment on column analytics.session_metric.extra is
  'What else came with the value, as it came: elements behind the pair, or members beside it; null with most. Beside the first value of an answer also what else its series and its entry say, by these names, and what the pair says as pair';
comment on column analytics.session_metric.day is 'Begin of the day (UTC) of the value; of many sessions, a condition on it spares most of the work';

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
from unnest(array['session_series', 'usage_realtime', 'quality_realtime']) t(name)
cross join lateral ingest.partitions_due(
  t.name, ingest.clock() - interval '14 days', ingest.clock() + interval '14 days', ingest.clock()) d(at);

-- === Summaries ===

-- What the values of a call come to: written with the last of its items, and kept when the values go. Views of more than one
-- call read nothing else. Each holds what it tells of metrics in arrays of the same order as its mids: a row a metric
-- would be as large as the values once were.

create table analytics.session_digest (
  app_id text not null,
  call_id text not null,
  sid text not null,
  mids int[] not null,
  samples int[] not null,
  least double precision[] not null,
  most double precision[] not null,
  average double precision[] not null,
  p50 double precision[] not null,
  p95 double precision[] not null,
  bad_samples int[] not null,
  primary key (app_id, call_id, sid)
);
comment on table analytics.session_digest is 'What every metric of a stay comes to; analytics.metric_summary tells it metric by metric';
comment on column analytics.session_digest.mids is 'Metrics, in order; the other arrays have as many elements';
comment on column analytics.session_digest.bad_samples is 'Null where the metric does not tell of quality';

-- The metrics that tell of quality, in columns of their own: for those who sum up the stays, calls and minutes of weeks.
create table analytics.session_summary (
  app_id text not null,
  call_id text not null,
  sid text not null,
  samples int not null,
  bad_samples int not null,
  freeze_samples int not null,
  freezes int not null,
  audio_freeze_avg_ms double precision,
  video_freeze_avg_ms double precision,
  audio_loss_avg_pct double precision,
  video_loss_avg_pct double precision,
  rtt_avg_ms double precision,
  audio_loss_samples int,
  rtt_samples int,
  volume_samples int,
  talk_samples int,
  primary key (app_id, call_id, sid)
);
comment on table analytics.session_summary is 'What freeze, loss and round trip of a stay come to; analytics.session_quality tells it beside the stay, with what each column says';
comment on column analytics.session_summary.volume_samples is 'Values of the sampling volume of sent audio (mid 20025); null where there is none';
comment on column analytics.session_summary.talk_samples is 'Those of them of at least analytics.metric.talk_from';

create table analytics.call_summary (
  app_id text not null,
  call_id text not null,
  partial boolean not null default true,
  persons text[] not null default '{}',
  stays int not null default 0,
  user_minutes double precision not null default 0,
  samples int not null default 0,
  bad_samples int not null default 0,
  audio_freeze_samples int,
  audio_freeze_avg_ms double precision,
  audio_freeze_p95_ms double precision,
  video_freeze_samples int,
  video_freeze_avg_ms double precision,
  video_freeze_p95_ms double precision,
  audio_loss_samples int,
  audio_loss_avg_pct double precision,
  audio_loss_p95_pct double precision,
  video_loss_samples int,
  video_loss_avg_pct double precision,
  video_loss_p95_pct double precision,
  rtt_samples int,
  rtt_avg_ms double precision,
  rtt_p95_ms double precision,
  updated_at timestamptz not null default ingest.clock(),
  primary key (app_id, call_id)
);
comment on table analytics.call_summary is 'What freeze, loss and round trip of a call come to; analytics.call_quality tells it beside the call, with what each column says';
comment on column analytics.call_summary.partial is 'Not of all of it: something is still to be read or was given up, or the call goes on';
comment on column analytics.call_summary.persons is 'Its users, each once; one without an ID is told by the ID of the stay';
comment on column analytics.call_summary.user_minutes is 'Lengths of all stays together';
comment on column analytics.call_summary.updated_at is 'When it was written, our clock';

create table analytics.call_minute (
  app_id text not null,
  call_id text not null,
  minute timestamptz not null,
  samples int not null,
  bad_samples int not null,
  audio_freeze_samples int,
  audio_freeze_avg_ms double precision,
  video_freeze_samples int,
  video_freeze_avg_ms double precision,
  audio_loss_samples int,
  audio_loss_avg_pct double precision,
  video_loss_samples int,
  video_loss_avg_pct double precision,
  rtt_samples int,
  rtt_avg_ms double precision,
  primary key (app_id, call_id, minute)
);
-- The hour as quality_by_hour makes it.
create index call_minute_by_hour on analytics.call_minute (app_id, date_bin('1 hour', minute, '1970-01-01 00:00:00+00'));
comment on table analytics.call_minute is 'What freeze, loss and round trip of a minute of a call come to; analytics.call_quality_by_minute tells it beside the call';
comment on column analytics.call_minute.minute is 'Begin of the minute';

do $$
declare
  v_table text;
begin
  foreach v_table in array array['session_summary', 'call_summary', 'call_minute'] loop
    execute format('comment on column analytics.%I.samples is %L', v_table, 'Values of freeze, loss and round trip');
    execute format('comment on column analytics.%I.bad_samples is %L', v_table, 'Those of them that are bad; analytics.metric says from where on');
  end loop;
end
$$;

-- A value that lies days outside its call is none of it; and a call looks into the partitions of its own time only.
create view analytics.call_series as
  select s.*, m.bad_from
  from analytics.call c
  join analytics.session_series s on s.app_id = c.app_id and s.call_id = c.call_id and s.at >= c.created_at - interval '2 days'
    and s.at < coalesce(greatest(c.destroyed_at, c.created_at), 'infinity') + interval '1 day'
  left join analytics.metric m on m.mid = s.mid;
comment on view analytics.call_series is 'The series that a call is summed up by, and from where on their values are bad; ask for one call';
comment on column analytics.call_series.bad_from is 'Null where the metric does not tell of quality';

-- One value that is no measure of anything must not keep a call from being summed up: no sum of these leaves what a number
-- can hold.
create function analytics.summable(p_value double precision) returns double precision language sql immutable parallel safe as $$
  select greatest(least(p_value, 1e100), -1e100)
$$;
comment on function analytics.summable is 'The value as means and percentiles count it: beyond 1e100, either way, as 1e100';

create function analytics.summarize(p_app text, p_calls text[]) returns void language plpgsql as $$
begin
  delete from analytics.session_digest d where d.app_id = p_app and d.call_id = any (p_calls);
  insert into analytics.session_digest
  select p_app, k.call_id, k.sid, array_agg(k.mid order by k.mid), array_agg(v.samples order by k.mid), array_agg(v.least order by k.mid),
         array_agg(v.most order by k.mid), array_agg(v.average order by k.mid), array_agg(v.parts[1] order by k.mid),
         array_agg(v.parts[2] order by k.mid), array_agg(case when k.bad_from is not null then v.bad end order by k.mid)
  from (select s.call_id, s.sid, s.mid, s.bad_from from analytics.call_series s
        where s.app_id = p_app and s.call_id = any (p_calls) group by 1, 2, 3, 4) k
  cross join lateral (
    select count(*) as samples, min(u.value) as least, max(u.value) as most, sum(analytics.summable(u.value)) / count(*) as average,
           percentile_cont(array[0.5, 0.95]) within group (order by analytics.summable(u.value)) as parts, count(*) filter (where u.value >= k.bad_from) as bad
    from analytics.call_series s cross join lateral unnest(s.value) u(value)
    where s.app_id = p_app and s.call_id = k.call_id and s.sid = k.sid and s.mid = k.mid
  ) v
  group by k.call_id, k.sid;

  delete from analytics.session_summary t where t.app_id = p_app and t.call_id = any (p_calls);
  insert into analytics.session_summary
  select p_app, d.call_id, d.sid, coalesce(q.samples, 0), coalesce(q.bad, 0), coalesce(q.freeze_samples, 0), coalesce(q.freezes, 0),
         q.audio_freeze, q.video_freeze, q.audio_loss, q.video_loss, q.rtt, q.audio_loss_samples, q.rtt_samples,
         nullif(t.volume, 0), case when t.volume > 0 then t.talking end
  from analytics.session_digest d
  cross join lateral (
    select sum(m.samples) as samples, sum(m.bad) as bad, sum(m.samples) filter (where m.mid in (20005, 20011)) as freeze_samples,
           sum(m.bad) filter (where m.mid in (20005, 20011)) as freezes,
           max(m.average) filter (where m.mid = 20005) as audio_freeze,
           max(m.average) filter (where m.mid = 20011) as video_freeze,
           max(m.average) filter (where m.mid = 20016) as audio_loss,
           max(m.average) filter (where m.mid = 20018) as video_loss,
           max(m.average) filter (where m.mid = 20022) as rtt,
           max(m.samples) filter (where m.mid = 20016) as audio_loss_samples, max(m.samples) filter (where m.mid = 20022) as rtt_samples
    from unnest(d.mids, d.samples, d.average, d.bad_samples) m(mid, samples, average, bad)
    where m.bad is not null
  ) q
  cross join lateral (
    select count(*) as volume, count(*) filter (where u.value >= m.talk_from) as talking
    from analytics.metric m
    join analytics.call_series s on s.app_id = p_app and s.call_id = d.call_id and s.sid = d.sid and s.mid = m.mid
    cross join lateral unnest(s.value) u(value)
    where m.talk_from is not null
  ) t
  where d.app_id = p_app and d.call_id = any (p_calls) and (q.samples > 0 or t.volume > 0);

  delete from analytics.call_minute t where t.app_id = p_app and t.call_id = any (p_calls);
  insert into analytics.call_minute
  select p_app, m.call_id, m.at + m.minute * interval '1 minute', sum(m.samples), sum(m.bad),
         max(m.samples) filter (where m.mid = 20005), max(m.average) filter (where m.mid = 20005),
         max(m.samples) filter (where m.mid = 20011), max(m.average) filter (where m.mid = 20011),
         max(m.samples) filter (where m.mid = 20016), max(m.average) filter (where m.mid = 20016),
         max(m.samples) filter (where m.mid = 20018), max(m.average) filter (where m.mid = 20018),
         max(m.samples) filter (where m.mid = 20022), max(m.average) filter (where m.mid = 20022)
  from (
    select s.call_id, s.at, v.second / 60 as minute, s.mid, count(*) as samples, sum(analytics.summable(v.value)) / count(*) as average,
           count(*) filter (where v.value >= s.bad_from) as bad
    from analytics.call_series s cross join lateral analytics.values_of(s.gaps, s.value, null) v
    where s.app_id = p_app and s.call_id = any (p_calls) and s.bad_from is not null
    group by 1, 2, 3, 4
  ) m
  group by m.call_id, m.at, m.minute;

  -- A percentile of a call is of all its values: those of its stays cannot be put together.
  update analytics.call_summary t
  set partial = coalesce(not c.finished, c.destroyed_at is null) or exists (
        select from ingest.work_item w
        where w.app_id = p_app and w.item = c.call_id and w.state in ('pending', 'lost') and w.stream in (select analytics.detail_streams())),
      persons = coalesce(p.persons, '{}'), stays = p.stays, user_minutes = p.minutes,
      samples = coalesce(q.samples, 0), bad_samples = coalesce(q.bad, 0),
      audio_freeze_samples = q.audio_freeze, audio_freeze_avg_ms = q.audio_freeze_avg, audio_freeze_p95_ms = q.audio_freeze_p95,
      video_freeze_samples = q.video_freeze, video_freeze_avg_ms = q.video_freeze_avg, video_freeze_p95_ms = q.video_freeze_p95,
      audio_loss_samples = q.audio_loss, audio_loss_avg_pct = q.audio_loss_avg, audio_loss_p95_pct = q.audio_loss_p95,
      video_loss_samples = q.video_loss, video_loss_avg_pct = q.video_loss_avg, video_loss_p95_pct = q.video_loss_p95,
      rtt_samples = q.rtt, rtt_avg_ms = q.rtt_avg, rtt_p95_ms = q.rtt_p95,
      updated_at = ingest.clock()
  from analytics.call c
  cross join lateral (
    select array_agg(distinct coalesce(s.uid, s.sid)) as persons, count(*) as stays,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at) - s.joined_at, interval '0'))), 0) / 60 as minutes
    from analytics.call_session s where s.app_id = p_app and s.call_id = c.call_id
  ) p
  cross join lateral (
    select sum(m.samples) as samples, sum(m.bad) as bad,
           max(m.samples) filter (where m.mid = 20005) as audio_freeze, max(m.average) filter (where m.mid = 20005) as audio_freeze_avg, max(m.p95) filter (where m.mid = 20005) as audio_freeze_p95,
           max(m.samples) filter (where m.mid = 20011) as video_freeze, max(m.average) filter (where m.mid = 20011) as video_freeze_avg, max(m.p95) filter (where m.mid = 20011) as video_freeze_p95,
           max(m.samples) filter (where m.mid = 20016) as audio_loss, max(m.average) filter (where m.mid = 20016) as audio_loss_avg, max(m.p95) filter (where m.mid = 20016) as audio_loss_p95,
           max(m.samples) filter (where m.mid = 20018) as video_loss, max(m.average) filter (where m.mid = 20018) as video_loss_avg, max(m.p95) filter (where m.mid = 20018) as video_loss_p95,
           max(m.samples) filter (where m.mid = 20022) as rtt, max(m.average) filter (where m.mid = 20022) as rtt_avg, max(m.p95) filter (where m.mid = 20022) as rtt_p95
    from (
      select s.mid, count(*) as samples, sum(analytics.summable(u.value)) / count(*) as average,
             percentile_cont(0.95) within group (order by analytics.summable(u.value)) as p95,
             count(*) filter (where u.value >= s.bad_from) as bad
      from analytics.call_series s cross join lateral unnest(s.value) u(value)
      where s.app_id = p_app and s.call_id = c.call_id and s.bad_from is not null
      group by 1
    ) m
  ) q
  where t.app_id = p_app and t.call_id = any (p_calls) and c.app_id = p_app and c.call_id = t.call_id;
end
$$;
comment on function analytics.summarize is 'Writes the summaries of some calls anew, which analytics.call_summary has rows of';

create function analytics.detail_streams() returns setof text language sql stable parallel safe as $$
  select s.stream from ingest.stream s where s.kind = 'substream'
$$;
comment on function analytics.detail_streams is 'Streams that bring what is known of a call';

-- A call is summed up when nothing of it is left that was not tried: what was read later, or at last, has it done again.
-- Whoever comes to a call at the same moment waits for who came first, and then sees what that brought.
create function analytics.summarize_tried(p_app text, p_calls text[]) returns void language plpgsql as $$
declare
  v_calls text[];
begin
  insert into analytics.call_summary (app_id, call_id)
  select p_app, c.call_id from analytics.call c where c.app_id = p_app and c.call_id = any (p_calls) order by 2
  on conflict do nothing;
  perform from analytics.call_summary t where t.app_id = p_app and t.call_id = any (p_calls) order by t.call_id for update;
  select array_agg(c) into v_calls from unnest(p_calls) c
  where not exists (select from ingest.work_item w
                    where w.app_id = p_app and w.item = c and w.state = 'pending' and w.failures = 0
                      and w.stream in (select analytics.detail_streams()));
  if v_calls is not null then
    perform analytics.summarize(p_app, v_calls);
  end if;
end
$$;
comment on function analytics.summarize_tried is 'Sums up those of some calls of which all was tried';

create function analytics.summarize_read() returns trigger language plpgsql as $$
begin
  perform analytics.summarize_tried(r.app_id, r.calls)
  from (
    select n.app_id, array_agg(distinct n.item) as calls
    from came n join went o using (app_id, stream, item, part)
    where o.state = 'pending' and n.state in ('done', 'lost') or n.failures > o.failures and (o.failures = 0 or n.set_aside > 0)
    group by 1
  ) r;
  return null;
end
$$;
comment on function analytics.summarize_read is 'Sums up calls of which the last item was read or given up';
create trigger summarize after update on ingest.work_item referencing old table as went new table as came
  for each statement execute function analytics.summarize_read();

-- A call that went on may have been read as far as it turns out to have gone: then nothing is left to be read.
create function analytics.summarize_ended() returns trigger language plpgsql as $$
begin
  perform analytics.summarize_tried(r.app_id, r.calls)
  from (
    select n.app_id, array_agg(n.call_id) as calls
    from came n join went o using (app_id, call_id)
    where (n.finished, n.destroyed_at) is distinct from (o.finished, o.destroyed_at)
      and exists (select from ingest.work_item w
                  where w.app_id = n.app_id and w.item = n.call_id and w.stream in (select analytics.detail_streams()))
    group by 1
  ) r;
  return null;
end
$$;
comment on function analytics.summarize_ended is 'Sums up calls of which all was read before they were said to be over';
create trigger summarize after update on analytics.call referencing old table as went new table as came
  for each statement execute function analytics.summarize_ended();

-- Readers change nothing.
revoke execute on function analytics.summarize, analytics.summarize_tried, analytics.summarize_read, analytics.summarize_ended from public;
grant execute on function analytics.summarize, analytics.summarize_tried, analytics.summarize_read, analytics.summarize_ended to penstock_runtime;

create view analytics.metric_summary as
  select d.app_id, d.call_id, d.sid, m.mid, m.samples, m.least as min, m.most as max, m.average as avg, m.p50, m.p95,
         m.bad::double precision / m.samples as bad_share
  from analytics.session_digest d
  cross join lateral unnest(d.mids, d.samples, d.least, d.most, d.average, d.p50, d.p95, d.bad_samples)
    m(mid, samples, least, most, average, p50, p95, bad);
comment on view analytics.metric_summary is 'What each metric of each stay comes to; ask for one call, or for the calls of a day';
comment on column analytics.metric_summary.mid is 'Metric; analytics.metric has its name, its unit and from where on a value is bad';
comment on column analytics.metric_summary.samples is 'Values that were measured, about all remote users together';
comment on column analytics.metric_summary.p95 is '95 of 100 values are at most this; likewise p50';
comment on column analytics.metric_summary.bad_share is 'Share of the values that are bad; null where the metric does not tell of quality';

create view analytics.call_quality as
  select c.app_id, c.call_id, c.cname, c.created_at, c.destroyed_at, c.finished,
         case when c.destroyed_at is not null
           then extract(epoch from greatest(c.destroyed_at - c.created_at, interval '0'))::double precision / 60 end as minutes,
         s.users, s.sessions, s.user_minutes,
         coalesce(q.samples, 0)::bigint as samples, q.bad_samples::double precision / nullif(q.samples, 0) as bad_share,
         q.audio_freeze_avg_ms, q.audio_freeze_p95_ms,
         q.video_freeze_avg_ms, q.video_freeze_p95_ms,
         q.audio_loss_avg_pct, q.audio_loss_p95_pct,
         q.video_loss_avg_pct, q.video_loss_p95_pct,
         q.rtt_avg_ms, q.rtt_p95_ms,
         coalesce(q.partial, true) as partial
  from analytics.call c
  left join analytics.call_summary q on q.app_id = c.app_id and q.call_id = c.call_id
  left join lateral (
    select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at) - s.joined_at, interval '0'))), 0)::double precision / 60
             as user_minutes
    from analytics.call_session s where s.app_id = c.app_id and s.call_id = c.call_id
  ) s on true;
comment on view analytics.call_quality is 'Every call with its users and its quality; what was not measured is null';
comment on column analytics.call_quality.minutes is 'Length of the call; null while its end is not known';
comment on column analytics.call_quality.users is 'Different users; sessions counts their stays';
comment on column analytics.call_quality.user_minutes is 'Lengths of all stays together';
comment on column analytics.call_quality.samples is 'Values of freeze, loss and round trip that the rest is made of, written when all of the call was read or tried';
comment on column analytics.call_quality.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.call_quality.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.call_quality.audio_freeze_p95_ms is '95 of 100 values are at most this; likewise the others';
comment on column analytics.call_quality.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.call_quality.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.call_quality.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';
comment on column analytics.call_quality.rtt_avg_ms is 'Mean of the round trip from client to local router (mid 20022)';
comment on column analytics.call_quality.partial is 'The samples are not all of the call: something is still to be read or was given up, or the call goes on';

create view analytics.worst_calls as
  select q.* from analytics.call_quality q where q.bad_share > 0 order by q.bad_share desc, q.user_minutes desc;
comment on view analytics.worst_calls is 'Calls with bad moments, the worst first; the columns are those of call_quality';
comment on column analytics.worst_calls.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';

create view analytics.call_quality_by_minute as
  select c.app_id, c.call_id, c.cname, m.minute, m.samples::bigint as samples, m.bad_samples::double precision / m.samples as bad_share,
         m.audio_freeze_avg_ms,
         m.video_freeze_avg_ms,
         m.audio_loss_avg_pct,
         m.video_loss_avg_pct,
         m.rtt_avg_ms
  from analytics.call c
  join analytics.call_minute m on m.app_id = c.app_id and m.call_id = c.call_id;
comment on view analytics.call_quality_by_minute is 'Quality of a call minute by minute; ask for one call, or for the calls of one channel';
comment on column analytics.call_quality_by_minute.minute is 'Begin of the minute';
comment on column analytics.call_quality_by_minute.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';

create view analytics.session_quality as
  select s.app_id, s.call_id, s.sid, s.cname, s.uid, s.network, s.platform, s.device_type, s.sdk_version, s.speaker,
         s.joined_at, s.left_at, d.day,
         extract(epoch from s.left_at - s.joined_at)::double precision / 60 as minutes,
         coalesce(q.samples, 0)::bigint as samples, coalesce(q.bad_samples, 0)::bigint as bad_samples,
         coalesce(q.freeze_samples, 0)::bigint as freeze_samples, coalesce(q.freezes, 0)::bigint as freezes,
         q.audio_freeze_avg_ms,
         q.video_freeze_avg_ms,
         q.audio_loss_avg_pct,
         q.video_loss_avg_pct,
         q.rtt_avg_ms,
         coalesce(q.audio_loss_samples, 0)::bigint as audio_loss_samples,
         coalesce(q.rtt_samples, 0)::bigint as rtt_samples,
         extract(epoch from s.left_at - s.joined_at)::double precision / 60 * q.talk_samples / q.volume_samples as talk_minutes,
         (s.joined_at at time zone 'UTC')::date as utc_day
  from analytics.call_session s
  join ingest.app a on a.app_id = s.app_id
  left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (s.joined_at at time zone 'UTC')::date
    and s.joined_at >= d.begins_at and s.joined_at < d.ends_at
  left join analytics.session_summary q on q.app_id = s.app_id and q.call_id = s.call_id and q.sid = s.sid;
comment on view analytics.session_quality is 'Every stay of a user in a call, what it was held with, and its quality';
comment on column analytics.session_quality.day is 'On which the stay began, in the time zone of the app; of one day only, ask by it and by app_id';
comment on column analytics.session_quality.utc_day is 'Day of UTC on which the stay began, whatever the time zone of the app: of a range of days, a condition on it and on app_id spares most of the work';
comment on column analytics.session_quality.samples is 'Values of freeze, loss and round trip that were measured';
comment on column analytics.session_quality.bad_samples is 'Those of them with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.session_quality.freeze_samples is 'Values of freeze time of audio and video';
comment on column analytics.session_quality.freezes is 'Those of them of at least 200 ms';
comment on column analytics.session_quality.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.session_quality.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.session_quality.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.session_quality.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';
comment on column analytics.session_quality.rtt_avg_ms is 'Mean of the round trip from client to local router (mid 20022)';
comment on column analytics.session_quality.audio_loss_samples is 'Values that audio_loss_avg_pct is the mean of; by them means of several stays are weighed, by rtt_samples likewise';
comment on column analytics.session_quality.talk_minutes is
  'How long the user talked: the share of the values of the sampling volume of sent audio (mid 20025) that are at least analytics.metric.talk_from, of the length of the stay. Null where that metric was not measured, as of one who sends nothing';

create view analytics.network_quality as
  select s.app_id, s.day, s.network, count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
         sum(s.samples)::bigint as samples, sum(s.bad_samples)::double precision / nullif(sum(s.samples), 0) as bad_share,
         sum(s.freeze_samples)::bigint as freeze_samples, sum(s.freezes)::bigint as freezes,
         sum(s.freezes)::double precision / nullif(sum(s.freeze_samples), 0) as freeze_share
  from analytics.session_quality s
  group by s.app_id, s.day, s.network;
comment on view analytics.network_quality is 'Quality by day and kind of network';
comment on column analytics.network_quality.day is 'On which the stays began, in the time zone of the app';
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
comment on column analytics.device_quality.day is 'On which the stays began, in the time zone of the app';
comment on column analytics.device_quality.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.device_quality.freeze_samples is 'Values of freeze time of audio and video; to put days together, divide the sum of freezes by the sum of these';
comment on column analytics.device_quality.freeze_share is 'Share of them of at least 200 ms';

create view analytics.quality_by_hour as
  select h.app_id, h.hour, count(*)::int as calls, sum(coalesce(h.audio_freeze_samples, 0) + coalesce(h.video_freeze_samples, 0) + coalesce(h.audio_loss_samples, 0) + coalesce(h.video_loss_samples, 0))::bigint as samples,
         sum(h.audio_freeze) / sum(h.audio_freeze_samples) as audio_freeze_avg_ms, sum(q.audio_freeze_p95_ms * h.audio_freeze_samples) / sum(h.audio_freeze_samples) as audio_freeze_p95_ms,
         sum(h.video_freeze) / sum(h.video_freeze_samples) as video_freeze_avg_ms, sum(q.video_freeze_p95_ms * h.video_freeze_samples) / sum(h.video_freeze_samples) as video_freeze_p95_ms,
         sum(h.audio_loss) / sum(h.audio_loss_samples) as audio_loss_avg_pct, sum(q.audio_loss_p95_pct * h.audio_loss_samples) / sum(h.audio_loss_samples) as audio_loss_p95_pct,
         sum(h.video_loss) / sum(h.video_loss_samples) as video_loss_avg_pct, sum(q.video_loss_p95_pct * h.video_loss_samples) / sum(h.video_loss_samples) as video_loss_p95_pct
  from (
    select m.app_id, m.call_id, date_bin('1 hour', m.minute, '1970-01-01 00:00:00+00') as hour,
           sum(m.audio_freeze_samples) as audio_freeze_samples, sum(m.audio_freeze_avg_ms * m.audio_freeze_samples) as audio_freeze,
           sum(m.video_freeze_samples) as video_freeze_samples, sum(m.video_freeze_avg_ms * m.video_freeze_samples) as video_freeze,
           sum(m.audio_loss_samples) as audio_loss_samples, sum(m.audio_loss_avg_pct * m.audio_loss_samples) as audio_loss,
           sum(m.video_loss_samples) as video_loss_samples, sum(m.video_loss_avg_pct * m.video_loss_samples) as video_loss
    from analytics.call_minute m group by 1, 2, 3
  ) h
  join analytics.call_summary q on q.app_id = h.app_id and q.call_id = h.call_id
  where coalesce(h.audio_freeze_samples, h.video_freeze_samples, h.audio_loss_samples, h.video_loss_samples) is not null
  group by 1, 2;
comment on view analytics.quality_by_hour is 'Freeze and loss of all calls of an app, hour by hour (UTC)';
comment on column analytics.quality_by_hour.hour is 'Begin of the hour';
comment on column analytics.quality_by_hour.calls is 'Calls in which something was measured';
comment on column analytics.quality_by_hour.samples is 'Values of freeze and loss that the rest is made of';
comment on column analytics.quality_by_hour.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.quality_by_hour.audio_freeze_p95_ms is
  'Mean over the calls of what 95 of 100 values of the call are at most, each call weighed by its values in the hour; likewise the others';
comment on column analytics.quality_by_hour.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.quality_by_hour.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.quality_by_hour.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';

create view analytics.usage_by_day as
  select x.app_id, x.day, count(x.call_seconds)::int as calls, coalesce(sum(x.call_seconds), 0)::double precision / 60 as call_minutes,
         count(distinct x.person)::int as users, count(x.person)::int as sessions,
         coalesce(sum(x.user_seconds), 0)::double precision / 60 as user_minutes,
         jsonb_object_agg(x.metric, x.value) filter (where x.metric is not null) as reported
  from (
    select c.app_id, d.day, coalesce(extract(epoch from greatest(c.destroyed_at - c.created_at, interval '0')), 0) as call_seconds,
           null::text as person, null::numeric as user_seconds, null::text as metric, null::double precision as value
    from analytics.call c
    join ingest.app a on a.app_id = c.app_id
    left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (c.created_at at time zone 'UTC')::date
      and c.created_at >= d.begins_at and c.created_at < d.ends_at
    union all
    select c.app_id, d.day, null, coalesce(s.uid, s.sid),
           extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at) - s.joined_at, interval '0')), null, null
    from analytics.call c
    join analytics.call_session s on s.app_id = c.app_id and s.call_id = c.call_id
    join ingest.app a on a.app_id = c.app_id
    left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (c.created_at at time zone 'UTC')::date
      and c.created_at >= d.begins_at and c.created_at < d.ends_at
    union all
    select i.app_id, (i.at at time zone 'UTC')::date, null, null, null, i.metric, i.value
    from analytics.usage_insight i where i.granularity = 'day'
  ) x
  group by x.app_id, x.day;
comment on view analytics.usage_by_day is 'Calls and users day by day, and what the provider itself reports of the day';
comment on column analytics.usage_by_day.day is 'In the time zone of the app; calls and stays belong to the day on which their call began';
comment on column analytics.usage_by_day.users is 'Different users of the day; sessions counts their stays';
comment on column analytics.usage_by_day.user_minutes is 'Lengths of all stays together';
comment on column analytics.usage_by_day.reported is 'Usage insights by metric, which the provider counts for the day of UTC of the same date; null where none were read';

reset role;

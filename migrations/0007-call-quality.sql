set local role penstock_migrate;

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

-- A call belongs to the incarnation of its room that was the first not yet over when the call began: a call may
-- begin a little before the room shows its first event.
create view analytics.class_quality as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at, r.ended_at, c.calls, c.first_call_at, c.last_call_end,
         s.users, s.sessions, s.user_minutes, q.*
  from classroom.room r
  cross join lateral (
    select coalesce(max(b.valid_to), '-infinity') as since from classroom.room b
    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
  ) b
  cross join lateral (
    select count(*)::int as calls, array_agg(c.call_id) as ids, min(c.created_at) as first_call_at,
           max(greatest(c.destroyed_at, c.created_at)) as last_call_end
    from analytics.call c
    where c.app_id = r.app_id and c.cname = r.room_uuid and c.created_at >= b.since
      and c.created_at < coalesce(r.valid_to, 'infinity')
  ) c
  cross join lateral (
    select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, k.destroyed_at) - s.joined_at, interval '0'))), 0)::double precision / 60
             as user_minutes
    from analytics.call_session s
    join analytics.call k on k.app_id = s.app_id and k.call_id = s.call_id
    where s.app_id = r.app_id and s.call_id = any (c.ids)
  ) s
  cross join lateral analytics.quality_of(r.app_id, c.ids) q
  where c.calls > 0;

create view analytics.worst_calls as
  select q.* from analytics.call_quality q where q.bad_share > 0 order by q.bad_share desc, q.user_minutes desc;

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

create view analytics.usage_by_day as
  select coalesce(o.app_id, i.app_id) as app_id, coalesce(o.day, i.day) as day, coalesce(o.calls, 0) as calls,
         coalesce(o.call_minutes, 0) as call_minutes, coalesce(o.users, 0) as users, coalesce(o.sessions, 0) as sessions,
         coalesce(o.user_minutes, 0) as user_minutes, i.reported
  from (
    select c.app_id, (c.created_at at time zone 'UTC')::date as day, count(*)::int as calls,
           coalesce(sum(extract(epoch from greatest(c.destroyed_at - c.created_at, interval '0'))), 0)::double precision / 60 as call_minutes,
           max(s.users) as users, max(s.sessions) as sessions, max(s.user_minutes) as user_minutes
    from analytics.call c
    left join (
      select k.app_id, (k.created_at at time zone 'UTC')::date as day, count(distinct coalesce(s.uid, s.sid))::int as users,
             count(*)::int as sessions,
             sum(extract(epoch from greatest(coalesce(s.left_at, k.destroyed_at) - s.joined_at, interval '0')))::double precision / 60 as user_minutes
      from analytics.call_session s join analytics.call k using (app_id, call_id) group by 1, 2
    ) s on s.app_id = c.app_id and s.day = (c.created_at at time zone 'UTC')::date
    group by 1, 2
  ) o
  full join (
    select app_id, (at at time zone 'UTC')::date as day, jsonb_object_agg(metric, value) as reported
    from analytics.usage_insight where granularity = 'day' group by 1, 2
  ) i on i.app_id = o.app_id and i.day = o.day;

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

comment on view analytics.class_quality is 'Every class that had calls: the room, its calls by channel name, and their quality together';
comment on column analytics.class_quality.incarnation is 'Of the room_uuid: the room whose calls these are';
comment on column analytics.class_quality.users is 'Different users; sessions counts their stays';
comment on column analytics.class_quality.user_minutes is 'Lengths of all stays together';
comment on column analytics.class_quality.samples is 'Values of freeze, loss and round trip that the rest is made of';
comment on column analytics.class_quality.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.class_quality.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.class_quality.audio_freeze_p95_ms is '95 of 100 values are at most this; likewise the others';
comment on column analytics.class_quality.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.class_quality.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.class_quality.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';
comment on column analytics.class_quality.rtt_avg_ms is 'Mean of the round trip from client to local router (mid 20022)';

comment on view analytics.worst_calls is 'Calls with bad moments, the worst first; the columns are those of call_quality';
comment on column analytics.worst_calls.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';

comment on view analytics.quality_by_hour is 'Freeze and loss of all calls of an app, hour by hour (UTC)';
comment on column analytics.quality_by_hour.hour is 'Begin of the hour';
comment on column analytics.quality_by_hour.calls is 'Calls in which something was measured';
comment on column analytics.quality_by_hour.samples is 'Values of freeze and loss that the rest is made of';
comment on column analytics.quality_by_hour.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.quality_by_hour.audio_freeze_p95_ms is '95 of 100 values are at most this; likewise the others';
comment on column analytics.quality_by_hour.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.quality_by_hour.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.quality_by_hour.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';

comment on view analytics.usage_by_day is 'Calls and users day by day (UTC), and what the provider itself reports of the day';
comment on column analytics.usage_by_day.day is 'UTC; calls and stays belong to the day on which their call began';
comment on column analytics.usage_by_day.users is 'Different users of the day; sessions counts their stays';
comment on column analytics.usage_by_day.user_minutes is 'Lengths of all stays together';
comment on column analytics.usage_by_day.reported is 'Usage insights of the day by metric; null where none were read';

grant select on analytics.call_quality, analytics.class_quality, analytics.worst_calls, analytics.quality_by_hour, analytics.usage_by_day
  to penstock_runtime;
reset role;

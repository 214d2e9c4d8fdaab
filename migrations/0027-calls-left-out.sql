-- Calls whose metrics streams.call-metrics.select leaves out had no work at all, as if nobody had got round to it, so that no day of
-- metrics was ever complete. Their work is written down as done, with a mark; whoever asks for it takes the mark away.
alter table ingest.work_item add column left_out boolean default false not null;
comment on column ingest.work_item.left_out is
  'Nobody asked for it, because of streams.call-metrics.select; done all the same, until someone does';
create index concurrently if not exists work_item_left_out on ingest.work_item (app_id, item) where left_out;

-- Of a range of time what was selected is fetched once more, of one call that is named all.
create or replace function ingest.mark_wanted(p_stream text, p_app text, p_series text, p_from timestamptz, p_to timestamptz) returns int
language plpgsql as $$
declare
  v_from timestamptz := date_trunc('second', p_from);
  v_to timestamptz := least(p_to, date_trunc('second', ingest.clock()));
  v_marked int := 0;
begin
  if p_from is null or p_to is null or p_from >= p_to then
    raise exception 'the range ends before it begins' using errcode = 'invalid_parameter_value';
  end if;
  case ingest.stream_kind(p_stream)
    when 'window' then
      if v_from < v_to then
        update ingest.progress p
          set wanted = p.wanted + tstzmultirange(tstzrange(v_from, v_to)), backlog_from = least(p.backlog_from, v_from)
          where p.app_id = p_app and p.stream = p_stream and p.backlog_from is not null and p.closed_at is null
            and (p_series is null or p.series = p_series);
        get diagnostics v_marked = row_count;
      end if;
    when 'substream' then
      update ingest.work_item w
        set state = 'pending', falls_back_to = w.state, origin = 'backfill', page = 1, stream_state = null, version = w.version + 1,
            failures = 0, not_before = null, updated_at = ingest.clock()
        from analytics.call c
        where c.app_id = p_app and c.created_at >= v_from and c.created_at < p_to
          and w.app_id = c.app_id and w.stream = p_stream and w.item = c.call_id and w.state in ('done', 'lost')
          and (w.item = p_series or p_series is null and not w.left_out);
      get diagnostics v_marked = row_count;
    else
      perform ingest.refuse_stream(p_stream);
  end case;
  return v_marked;
end
$$;
comment on function ingest.mark_wanted is
  'Marks a range of time, or the details of the calls that start in it, to be fetched once more; of one series (of details: of one call) where it is given. What was left out on purpose is marked only of a call that is given';

create or replace view analytics.call_quality as
  select c.app_id, c.call_id, c.cname, c.created_at, c.destroyed_at, c.finished,
         case when c.destroyed_at is not null
           then extract(epoch from greatest(c.destroyed_at - c.created_at, interval '0'))::double precision / 60 end as minutes,
         case when s.sessions > 0 or k.is_known then s.users end as users,
         case when s.sessions > 0 or k.is_known then s.sessions end as sessions,
         case when s.sessions > 0 or k.is_known then s.user_minutes end as user_minutes,
         coalesce(q.samples, 0)::bigint as samples, q.bad_samples::double precision / nullif(q.samples, 0) as bad_share,
         q.audio_freeze_avg_ms, q.audio_freeze_p95_ms,
         q.video_freeze_avg_ms, q.video_freeze_p95_ms,
         q.audio_loss_avg_pct, q.audio_loss_p95_pct,
         q.video_loss_avg_pct, q.video_loss_p95_pct,
         q.rtt_avg_ms, q.rtt_p95_ms,
         coalesce(q.partial, true) as partial, d.day, exists (select from ingest.work_item w
                 where w.app_id = c.app_id and w.stream = 'call-metrics' and w.item = c.call_id and w.left_out and w.state = 'done') as left_out
  from analytics.call c
  join ingest.app a on a.app_id = c.app_id
  left join ingest.calendar d on d.time_zone = a.time_zone and d.utc_day = (c.created_at at time zone 'UTC')::date
    and c.created_at >= d.begins_at and c.created_at < d.ends_at
  left join analytics.call_summary q on q.app_id = c.app_id and q.call_id = c.call_id
  left join lateral (
    select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, c.destroyed_at) - s.joined_at, interval '0'))), 0)::double precision / 60
             as user_minutes
    from analytics.call_session s where s.app_id = c.app_id and s.call_id = c.call_id
  ) s on true
  cross join lateral (
    select c.emptied_at is null and case when not q.partial then true else coalesce((
             select bool_and(w.state in ('done', 'split')) from ingest.work_item w
             where w.app_id = c.app_id and w.stream = 'call-sessions' and w.item = c.call_id), false) end as is_known
  ) k;
comment on column analytics.call_quality.left_out is
  'The metrics of the call, or of a slice of a long one, were left out by streams.call-metrics.select: nobody asked for them. partial does not count them';

create or replace view analytics.class_quality as
  select c.app_id, c.room_uuid, c.incarnation, c.started_at, c.ended_at, c.calls, c.first_call_at, c.last_call_end,
         case when s.sessions > 0 or c.is_known then s.users end as users,
         case when s.sessions > 0 or c.is_known then s.sessions end as sessions,
         case when s.sessions > 0 or c.is_known then s.user_minutes end as user_minutes, c.samples, c.bad_share, c.audio_freeze_avg_ms, c.audio_freeze_p95_ms,
         c.video_freeze_avg_ms, c.video_freeze_p95_ms, c.audio_loss_avg_pct, c.audio_loss_p95_pct, c.video_loss_avg_pct, c.video_loss_p95_pct,
         c.rtt_avg_ms, c.rtt_p95_ms, p.cloud_players, c.partial, c.day, c.calls_unread, c.calls_left_out
  from (
    select k.app_id, k.room_uuid, k.incarnation, k.class_started_at as started_at, k.class_ended_at as ended_at, count(*)::int as calls, array_agg(k.call_id) as ids,
         min(k.created_at) as first_call_at, max(greatest(k.destroyed_at, k.created_at)) as last_call_end,
         coalesce(sum(q.samples), 0)::bigint as samples, sum(q.bad_samples)::double precision / nullif(sum(q.samples), 0) as bad_share,
         sum(q.audio_freeze_avg_ms * q.audio_freeze_samples) / sum(q.audio_freeze_samples) as audio_freeze_avg_ms, max(q.audio_freeze_p95_ms) as audio_freeze_p95_ms,
         sum(q.video_freeze_avg_ms * q.video_freeze_samples) / sum(q.video_freeze_samples) as video_freeze_avg_ms, max(q.video_freeze_p95_ms) as video_freeze_p95_ms,
         sum(q.audio_loss_avg_pct * q.audio_loss_samples) / sum(q.audio_loss_samples) as audio_loss_avg_pct, max(q.audio_loss_p95_pct) as audio_loss_p95_pct,
         sum(q.video_loss_avg_pct * q.video_loss_samples) / sum(q.video_loss_samples) as video_loss_avg_pct, max(q.video_loss_p95_pct) as video_loss_p95_pct,
         sum(q.rtt_avg_ms * q.rtt_samples) / sum(q.rtt_samples) as rtt_avg_ms, max(q.rtt_p95_ms) as rtt_p95_ms,
         bool_or(coalesce(q.partial, true)) as partial, d.day, (count(*) filter (where not w.is_read))::int as calls_unread,
         bool_and(w.is_read and w.is_kept) as is_known, (count(*) filter (where w.is_left_out))::int as calls_left_out
    from analytics.class_call k
    join ingest.app z on z.app_id = k.app_id
    left join ingest.calendar d on d.time_zone = z.time_zone and d.utc_day = (k.class_began_at at time zone 'UTC')::date
      and k.class_began_at >= d.begins_at and k.class_began_at < d.ends_at
    left join analytics.call_summary q on q.app_id = k.app_id and q.call_id = k.call_id
    cross join lateral (
      select k.emptied_at is null as is_kept, case when not q.partial then true else coalesce((
               select bool_and(w.state in ('done', 'split')) from ingest.work_item w
               where w.app_id = k.app_id and w.stream = 'call-sessions' and w.item = k.call_id), false) end as is_read,
             exists (select from ingest.work_item w
                     where w.app_id = k.app_id and w.stream = 'call-metrics' and w.item = k.call_id and w.left_out and w.state = 'done') as is_left_out
    ) w
    group by 1, 2, 3, 4, 5, d.day
  ) c
  left join lateral (
    select count(distinct coalesce(s.uid, s.sid))::int as users, count(*)::int as sessions,
           coalesce(sum(extract(epoch from greatest(coalesce(s.left_at, k.destroyed_at) - s.joined_at, interval '0'))), 0)::double precision / 60
             as user_minutes
    from analytics.call_session s
    join analytics.call k on k.app_id = s.app_id and k.call_id = s.call_id
    where s.app_id = c.app_id and s.call_id = any (c.ids)
  ) s on true
  left join lateral (
    select count(*)::int as cloud_players from players.class_player p
    where p.app_id = c.app_id and p.room_uuid = c.room_uuid and p.incarnation = c.incarnation
  ) p on true;
comment on column analytics.class_quality.calls_left_out is
  'Those of its calls of which the metrics, or some, were left out by streams.call-metrics.select (analytics.call_quality.left_out)';

-- What puts several schemas together: which calls and players belong to which class, and what is stored whole.

set local role penstock_migrate;

-- === Calls and players of a class ===

create view analytics.class_call as
  select c.app_id, c.cname as room_uuid, r.incarnation, c.call_id, c.created_at, c.destroyed_at, c.finished
  from analytics.call c
  cross join lateral (
    select r.incarnation, r.valid_from - interval '15 minutes' as since,
           coalesce(r.ended_at, case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity')
             + interval '1 hour' as until
    from classroom.room r
    where r.app_id = c.app_id and r.room_uuid = c.cname
      and c.created_at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    order by r.incarnation limit 1
  ) r
  where c.created_at >= r.since and c.created_at < r.until;
comment on view analytics.class_call is 'Which calls belong to which class; a call in whose channel no class was seen then is not here';

-- A call belongs to the first incarnation of its room that was not over when it began. One that began less than a
-- minute before the next incarnation belongs to that one: calls are dated in whole seconds and may begin a little
-- before the room shows its first event, and a room is used again only long after its last call. Calls of classes that
-- nobody saw belong to none: those that began more than a quarter of an hour before the first event of the room, as the
-- calls of all days before the daemon was there, and those that began more than an hour after the class ended, when the
-- room is forgotten. Where nobody saw the end of a room that is gone, it is the room's last event.
create view analytics.class_quality as
  select r.app_id, r.room_uuid, r.incarnation, r.started_at, r.ended_at, c.calls, c.first_call_at, c.last_call_end,
         s.users, s.sessions, s.user_minutes, q.*, p.cloud_players
  from classroom.room r
  cross join lateral (
    select coalesce(r.ended_at, case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity') as at
  ) e
  cross join lateral (
    select greatest(max(b.valid_to) - interval '1 minute', r.valid_from - interval '15 minutes') as since,
           least(r.valid_to - interval '1 minute', e.at + interval '1 hour') as until
    from classroom.room b
    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
  ) b
  cross join lateral (
    select count(*)::int as calls, array_agg(c.call_id) as ids, min(c.created_at) as first_call_at,
           max(greatest(c.destroyed_at, c.created_at)) as last_call_end
    from analytics.call c
    where c.app_id = r.app_id and c.cname = r.room_uuid and c.created_at >= b.since and c.created_at < b.until
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
  cross join lateral (
    select count(*)::int as cloud_players from players.cloud_player p
    where p.app_id = r.app_id and p.channel_name = r.room_uuid
      and coalesce(p.created_at, p.first_seen_at) >= b.since and coalesce(p.created_at, p.first_seen_at) < b.until
  ) p
  where c.calls > 0;
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
comment on column analytics.class_quality.cloud_players is 'Cloud players that were created in the room''s channel while it was this room';

-- The class that a player played in is told like that of a call.
create view players.class_player as
  select p.app_id, p.channel_name as room_uuid, r.incarnation, p.player_id, p.name, p.stream_url, p.status,
         p.created_at, p.destroyed_at
  from players.cloud_player p
  cross join lateral (
    select r.incarnation, r.valid_from - interval '15 minutes' as since,
           coalesce(r.ended_at, case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity')
             + interval '1 hour' as until
    from classroom.room r
    where r.app_id = p.app_id and r.room_uuid = p.channel_name
      and coalesce(p.created_at, p.first_seen_at) < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    order by r.incarnation limit 1
  ) r
  where coalesce(p.created_at, p.first_seen_at) >= r.since and coalesce(p.created_at, p.first_seen_at) < r.until;
comment on view players.class_player is 'Which cloud players were created in which class; one in whose channel no class was seen then is not here';

-- === What is complete ===

create view ingest.room_log as
  select p.app_id, p.series as room_uuid, r.incarnation, r.state, p.caught_up_at, p.closed_at, e.events, e.unconfirmed, g.holes,
         p.caught_up_at is not null and e.unconfirmed = 0 and g.holes = 0 as whole
  from ingest.progress p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  cross join lateral (select count(*) as events, count(*) filter (where e.source = 'feed') as unconfirmed
                      from classroom.room_event e
                      where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation) e
  cross join lateral (select coalesce(sum(coalesce(g.stands_for, 1)), 0)::bigint as holes from ingest.gap g
                      where g.app_id = p.app_id and g.stream = p.stream and g.series = p.series
                        and g.incarnation = r.incarnation and g.state in ('open', 'lost')) g
  where p.stream = 'room-events';
comment on view ingest.room_log is 'Per room: whether its log has been read to the end without holes';
comment on column ingest.room_log.unconfirmed is 'Events that only the feed has shown';
comment on column ingest.room_log.holes is 'Ranges of sequences that are missing, still open or lost';
comment on column ingest.room_log.whole is 'The log was read to its end and nothing of the room is known that it did not say';

create function ingest.unfinished_recordings(p_app text, p_room text, p_incarnation int) returns text
language sql stable parallel safe as $$
  select string_agg(distinct case when c.status = 1 then 'still_recording' else 'files_missing' end, ', ')
  from classroom.recording c
  where c.app_id = p_app and c.room_uuid = p_room and c.incarnation = p_incarnation
    and (c.status = 1 or (c.status = 2 or c.ended_at is not null) and coalesce(c.url, '') = ''
      and not exists (select from classroom.recording_file f
                      where f.app_id = c.app_id and f.room_uuid = c.room_uuid and f.incarnation = c.incarnation
                        and f.record_id = c.record_id))
$$;
comment on function ingest.unfinished_recordings is
  'What a class''s recordings lack: files_missing, of one that ended without an address and without files; still_recording, of one that nobody saw ending. Null where nothing is lacking';
revoke execute on function ingest.unfinished_recordings from public;
grant execute on function ingest.unfinished_recordings to penstock_runtime, penstock_read;

create view ingest.room_complete as
  select p.app_id, p.series as room_uuid, r.incarnation, p.stream, r.state, p.caught_up_at, p.closed_at, g.gaps,
         x.reason is null as complete, x.reason
  from (
    select p.app_id, p.stream, p.series, p.caught_up_at, p.closed_at from ingest.progress p
    where p.stream in (select ingest.room_streams())
    union all
    select p.app_id, f.stream, p.series, to_timestamp((f.kept ->> 0)::double precision), to_timestamp((f.kept ->> 1)::double precision)
    from ingest.progress p cross join lateral jsonb_each(p.folded) f(stream, kept)
    where p.stream = 'room-events' and p.folded is not null
  ) p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  cross join lateral (select coalesce(sum(coalesce(g.stands_for, 1)), 0)::bigint as gaps from ingest.gap g
                      where g.app_id = p.app_id and g.stream = p.stream and g.series = p.series
                        and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')) g
  left join lateral (select l.whole from ingest.room_log l
                     where p.stream = 'room-events' and l.app_id = p.app_id and l.room_uuid = p.series) l on true
  left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
  cross join lateral (
    select case when not coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at, r.first_seen_at), false) then 'unread'
                when g.gaps > 0 then 'gap'
                when ingest.unreadable_items(p.app_id, p.stream, p.series, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                when p.stream = 'room-events' then case when not coalesce(l.whole, false) then 'unconfirmed' end
                when p.stream in (select s.stream from ingest.stream s where 'classroom.recording' = any (s.writes))
                  then ingest.unfinished_recordings(r.app_id, r.room_uuid, r.incarnation) end as reason
  ) x
  where not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false);
comment on view ingest.room_complete is
  'Per room and stream that follows rooms: whether all of it up to its last sign of life is stored; not of streams that were off when the room was first used';
comment on column ingest.room_complete.caught_up_at is 'When the log or list was last read to its end';
comment on column ingest.room_complete.gaps is 'Rows of the gap ledger that are open or lost';
comment on column ingest.room_complete.complete is 'Read to its end after the room ended, or showed its last sign of life, and nothing is missing';
comment on column ingest.room_complete.reason is
  'Why not: unread, since the end or the last sign of life; gap, in the ledger; unreadable, items that are dead letters; unconfirmed, by the log; files_missing or still_recording, of recordings. Null where complete';

-- A series that comes and goes is judged by the time for which it was asked, also when it was left; it alone makes nothing
-- complete.
create function ingest.is_complete(stream text, app_id text, "from" timestamptz, "to" timestamptz) returns boolean
language plpgsql stable strict as $$
#variable_conflict use_column
declare
  v_range tstzmultirange;
  v_need text;
begin
  if $3 > $4 then
    raise exception '"from" is later than "to"' using errcode = 'invalid_parameter_value';
  end if;
  v_range := tstzmultirange(tstzrange($3, $4));
  case ingest.stream_kind($1)
    when 'window' then
      return coalesce((select bool_and(p.covered + p.unasked @> v_range) and bool_or(isempty(p.unasked)) from ingest.progress p
                       where p.app_id = $2 and p.stream = $1 and p.backlog_from is not null
                         and (p.closed_at is null or not isempty(p.unasked))), false);
    when 'substream' then
      foreach v_need in array (select s.needs from ingest.stream s where s.stream = $1) loop
        if not ingest.is_complete(v_need, $2, $3, $4) then
          return false;
        end if;
      end loop;
      return not exists (
        select from analytics.call c
        where c.app_id = $2 and c.created_at >= $3 and c.created_at < $4
          and (exists (select from ingest.work_item w
                       where w.app_id = c.app_id and w.stream = $1 and w.item = c.call_id and w.state in ('pending', 'lost'))
            or (case when (select 'analytics.call_session' = any (s.writes) from ingest.stream s where s.stream = $1)
                     then coalesce(c.finished, c.destroyed_at is not null)
                     else exists (select from analytics.call_session s where s.app_id = c.app_id and s.call_id = c.call_id) end
              and not exists (select from ingest.work_item w
                              where w.app_id = c.app_id and w.stream = $1 and w.item = c.call_id and w.state = 'done'))));
    else
      perform ingest.refuse_stream($1);
  end case;
end
$$;
comment on function ingest.is_complete(text, text, timestamptz, timestamptz) is
  'Whether everything of a stream from one moment up to another is stored and can no longer change; of details of calls: of the calls that start there';

create function ingest.whole_days(p_from timestamptz) returns setof timestamptz language sql stable parallel safe as $$
  select generate_series(
    date_trunc('day', greatest(p_from, ingest.clock() - interval '90 days') + interval '24 hours' - interval '1 microsecond', 'UTC'),
    ingest.clock(), interval '24 hours')
$$;
comment on function ingest.whole_days is 'Begins of the days (UTC) that do not begin before a moment, to today; at most ninety';

-- Of several series, each counts from its own first whole day on, so that one that is added takes nothing from the days
-- before it; one that comes and goes counts for the time for which it was asked. What is of a room belongs to the day
-- on which its class began, and cannot be whole on a day on which rooms may have been missed. A stream that is switched
-- off is judged up to then: its series were closed with it, and a restart may take ten minutes. An app that is in
-- several regions has a feed in each: rooms may have been missed on a day on which any of them had not told all. Those
-- of regions that it is in no more are closed, and have no backlog. Functions and look-ups run for the days that are asked
-- for.
create view ingest.complete_day as
  select d.*, v.expected, v.received
  from (
    with told as not materialized (
      select t.app_id, t.stream, t.begin, t.complete and (t.stream <> 'app-events' or g.gaps = 0) as complete, g.gaps, g.reasons
      from (
        select p.app_id, p.stream, d.begin, bool_and(p.covered + p.unasked @> j.judged) as complete
        from ingest.progress p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        cross join lateral ingest.whole_days(
          case when isempty(p.unasked) then p.backlog_from else date_trunc('day', p.backlog_from, 'UTC') end) d(begin)
        cross join lateral (
          select tstzmultirange(tstzrange(d.begin, d.begin + interval '24 hours')) - coalesce(o.off, '{}') as judged
        ) j
        where p.backlog_from is not null and p.stream in (select k.stream from ingest.stream k where k.kind = 'window') and not isempty(j.judged)
          and (p.closed_at is null or p.closed_at >= o.off_since - interval '10 minutes' or not isempty(p.unasked))
        group by p.app_id, p.stream, d.begin having bool_or(isempty(p.unasked))
        union all
        select p.app_id, p.stream, d.begin,
               (select bool_and(ingest.is_complete(p.stream, p.app_id, lower(j.part), upper(j.part))) from unnest(
                 tstzmultirange(tstzrange(d.begin, d.begin + interval '24 hours')) - coalesce(o.off, '{}')) j(part))
        from ingest.progress p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        join ingest.stream k on k.stream = p.stream and k.kind = 'substream'
        cross join lateral (select min(c.backlog_from) as backlog_from from ingest.progress c
                            where c.app_id = p.app_id and c.stream = any (k.needs) and c.stream in (select w.stream from ingest.stream w where w.kind = 'window')) c
        cross join lateral ingest.whole_days(greatest(p.backlog_from, c.backlog_from)) d(begin)
        where p.backlog_from is not null and p.closed_at is null
          and not coalesce(o.off @> tstzrange(d.begin, d.begin + interval '24 hours'), false)
        union all
        select p.app_id, p.stream, d.begin,
               coalesce(p.caught_up_at >= least(d.begin + interval '24 hours', o.off_since - interval '10 minutes'), false)
        from (
          select f.app_id, f.stream, nullif(min(coalesce(f.caught_up_at, '-infinity')), '-infinity') as caught_up_at
          from ingest.progress f where f.stream = 'app-events' and f.closed_at is null group by f.app_id, f.stream
        ) p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        cross join lateral (select min(r.first_seen_at) as at from classroom.room r where r.app_id = p.app_id) s
        cross join lateral ingest.whole_days(s.at) d(begin)
        where s.at is not null
          and not coalesce(o.off @> tstzrange(d.begin, d.begin + interval '24 hours'), false)
      ) t
      cross join lateral (
        select count(*)::int as gaps, string_agg(distinct g.reason, ', ') as reasons from ingest.gap g
        where g.app_id = t.app_id and g.stream = t.stream and g.state in ('open', 'lost')
          and g.range_from < t.begin + interval '24 hours' and g.range_to > t.begin
      ) g
    )
    select t.app_id, (t.begin at time zone 'UTC')::date as day, t.stream, t.complete, t.gaps, t.reasons
    from told t
    union all
    select a.app_id, (d.begin at time zone 'UTC')::date, s.stream, coalesce(t.complete, true) and r.whole and g.gaps = 0, g.gaps,
           nullif(concat_ws(', ', g.reasons, r.reasons), '')
    from (select r.app_id, min(r.first_seen_at) as at from classroom.room r group by r.app_id) a
    cross join ingest.stream s
    cross join lateral ingest.whole_days(a.at) d(begin)
    left join told t on t.app_id = a.app_id and t.stream = 'app-events' and t.begin = d.begin
    left join ingest.stream_off_time o on o.app_id = a.app_id and o.stream = s.stream
    cross join lateral (
      select coalesce(bool_and(
               (r.started_at is null or r.ended_at is not null and coalesce(e.source = 'log', false))
               and (r.valid_to is not null or coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at), false))
               and u.reason is null
             ), true) as whole, string_agg(distinct u.reason, ', ') as reasons
      from classroom.room r
      left join ingest.progress p on p.app_id = r.app_id and p.stream = s.stream and p.series = r.room_uuid
      left join classroom.room_event e on e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
        and e.sequence = r.state_sequence
      cross join lateral (
        select case when ingest.unreadable_items(r.app_id, s.stream, r.room_uuid, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                    when 'classroom.recording' = any (s.writes) then ingest.unfinished_recordings(r.app_id, r.room_uuid, r.incarnation) end as reason
      ) u
      where r.app_id = a.app_id and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date = (d.begin at time zone 'UTC')::date
        and not coalesce(o.off @> coalesce(r.started_at, r.valid_from), false)
    ) r
    cross join lateral (
      select count(*)::int as gaps, string_agg(distinct g.reason, ', ') as reasons
      from classroom.room r
      join ingest.gap g on g.app_id = r.app_id and g.stream = s.stream and g.series = r.room_uuid
        and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')
      where r.app_id = a.app_id and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date = (d.begin at time zone 'UTC')::date
    ) g
    where s.scope = 'room' and exists (select from ingest.progress p where p.app_id = a.app_id and p.stream = s.stream)
      and not coalesce(o.off @> tstzrange(d.begin, d.begin + interval '24 hours'), false)
  ) d
  left join lateral (
    select sum(86400 / p.step)::bigint as expected,
           sum((select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)
                from unnest(p.covered * tstzmultirange(t.range)) r) / p.step)::bigint as received
    from ingest.progress p
    cross join lateral (
      select tstzrange(d.day::timestamp at time zone 'UTC', (d.day + 1)::timestamp at time zone 'UTC') as range
    ) t
    where p.app_id = d.app_id and p.stream = d.stream and p.step is not null and p.closed_at is null and isempty(p.unasked)
      and p.backlog_from <= lower(t.range)
  ) v on true;
comment on view ingest.complete_day is
  'Whether each day (UTC) of each stream is stored whole and can no longer change, from its first whole day to today, at most ninety; not of cloud players, whose list is always that of now';
comment on column ingest.complete_day.stream is
  'What is of a room (room-events, popup-quiz, poll, recordings, resources) belongs to the day on which its class began; a day during which a stream was off all the time is not told of';
comment on column ingest.complete_day.complete is
  'What may still change is not complete: calls for an hour, insights for about two days, classes until they were read after their end. A stream that was off is not judged of that time. Nothing of rooms is complete on a day of which app-events, where they are on, are not: a class may be missing altogether';
comment on column ingest.complete_day.gaps is
  'Rows of the gap ledger that touch the day or its classes, open or lost; 0 and not complete: it is still being read, or not final yet, or fewer values were served than expected, or it is of rooms and app-events have gaps or the end of a class was not seen';
comment on column ingest.complete_day.reasons is
  'Their reasons, which ingest.loss explains, and of rooms what ingest.room_complete tells of theirs';
comment on column ingest.complete_day.expected is
  'Values that the provider promises for the day, one for each step of each series; null where it promises no number, as for calls and for single users. Channels that are asked for only while something goes on in them are not counted';
comment on column ingest.complete_day.received is
  'Those of them that are stored and can no longer change; fewer than expected on a complete day there are never: what was not served is absent in ingest.gap and makes no day complete';

reset role;

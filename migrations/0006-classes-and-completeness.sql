-- What puts several schemas together: which calls and players belong to which class, and what is stored whole.

set local role penstock_migrate;

-- === Calls and players of a class ===

-- A call belongs to the first incarnation of its room that was not over when it began. One that began less than a
-- minute before the next incarnation belongs to that one: calls are dated in whole seconds and may begin a little
-- before the room shows its first event, and a room is used again only long after its last call. Calls of classes that
-- nobody saw belong to none: those that began more than a quarter of an hour before the first event of the room, as the
-- calls of all days before the daemon was there, and those that began more than an hour after the class ended, when the
-- room is forgotten. Where nobody saw the end of a room that is gone, it is the room's last event.
create view analytics.class_call as
  select c.app_id, r.room_uuid, r.incarnation, c.call_id, c.created_at, c.destroyed_at, c.finished,
         r.started_at as class_started_at, r.ended_at as class_ended_at
  from analytics.call c
  join classroom.room r on r.app_id = c.app_id and r.room_uuid = c.cname
    and c.created_at >= r.valid_from - interval '15 minutes'
    and c.created_at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    and c.created_at < coalesce(r.ended_at, case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity')
                       + interval '1 hour'
  where not exists (select from classroom.room b
                    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
                      and c.created_at < coalesce(b.valid_to, 'infinity') - interval '1 minute');
comment on view analytics.class_call is 'Which calls belong to which class; a call in whose channel no class was seen then is not here';

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

create view analytics.class_quality as
  select c.app_id, c.room_uuid, c.incarnation, c.started_at, c.ended_at, c.calls, c.first_call_at, c.last_call_end,
         s.users, s.sessions, s.user_minutes, c.samples, c.bad_share, c.audio_freeze_avg_ms, c.audio_freeze_p95_ms,
         c.video_freeze_avg_ms, c.video_freeze_p95_ms, c.audio_loss_avg_pct, c.audio_loss_p95_pct, c.video_loss_avg_pct, c.video_loss_p95_pct,
         c.rtt_avg_ms, c.rtt_p95_ms, p.cloud_players, c.partial
  from (
    select k.app_id, k.room_uuid, k.incarnation, k.class_started_at as started_at, k.class_ended_at as ended_at, count(*)::int as calls, array_agg(k.call_id) as ids,
         min(k.created_at) as first_call_at, max(greatest(k.destroyed_at, k.created_at)) as last_call_end,
         coalesce(sum(q.samples), 0)::bigint as samples, sum(q.bad_samples)::double precision / nullif(sum(q.samples), 0) as bad_share,
         sum(q.audio_freeze_avg_ms * q.audio_freeze_samples) / sum(q.audio_freeze_samples) as audio_freeze_avg_ms, max(q.audio_freeze_p95_ms) as audio_freeze_p95_ms,
         sum(q.video_freeze_avg_ms * q.video_freeze_samples) / sum(q.video_freeze_samples) as video_freeze_avg_ms, max(q.video_freeze_p95_ms) as video_freeze_p95_ms,
         sum(q.audio_loss_avg_pct * q.audio_loss_samples) / sum(q.audio_loss_samples) as audio_loss_avg_pct, max(q.audio_loss_p95_pct) as audio_loss_p95_pct,
         sum(q.video_loss_avg_pct * q.video_loss_samples) / sum(q.video_loss_samples) as video_loss_avg_pct, max(q.video_loss_p95_pct) as video_loss_p95_pct,
         sum(q.rtt_avg_ms * q.rtt_samples) / sum(q.rtt_samples) as rtt_avg_ms, max(q.rtt_p95_ms) as rtt_p95_ms,
         bool_or(coalesce(q.partial, true)) as partial
    from analytics.class_call k
    left join analytics.call_summary q on q.app_id = k.app_id and q.call_id = k.call_id
    group by 1, 2, 3, 4, 5
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
comment on view analytics.class_quality is 'Every class that had calls: the room, its calls by channel name, and their quality together';
comment on column analytics.class_quality.incarnation is 'Of the room_uuid: the room whose calls these are';
comment on column analytics.class_quality.users is 'Different users; sessions counts their stays';
comment on column analytics.class_quality.user_minutes is 'Lengths of all stays together';
comment on column analytics.class_quality.samples is 'Values of freeze, loss and round trip that the rest is made of';
comment on column analytics.class_quality.bad_share is 'Share of the samples with a freeze of at least 200 ms, a loss of at least 10 % or a round trip of at least 400 ms';
comment on column analytics.class_quality.audio_freeze_avg_ms is 'Mean of the freeze time in rendering audio (mid 20005)';
comment on column analytics.class_quality.audio_freeze_p95_ms is '95 of 100 values are at most this, of several calls in the worst of them; likewise the others';
comment on column analytics.class_quality.video_freeze_avg_ms is 'Mean of the freeze time in rendering video (mid 20011)';
comment on column analytics.class_quality.audio_loss_avg_pct is 'Mean of the end-to-end audio packet loss rate (mid 20016)';
comment on column analytics.class_quality.video_loss_avg_pct is 'Mean of the end-to-end video packet loss rate (mid 20018)';
comment on column analytics.class_quality.rtt_avg_ms is 'Mean of the round trip from client to local router (mid 20022)';
comment on column analytics.class_quality.partial is 'Something of its calls is still to be read or was given up, or one goes on';
comment on column analytics.class_quality.cloud_players is 'Cloud players that were created in the room''s channel while it was this room';

-- === Who heard and saw what ===

-- No document says how the users of a classroom are called in its calls: apps[].userLink does, and linked_by tells of each by
-- what it was found. A number that several users of the class would have is nobody's.
create view classroom.user_call as
  select r.app_id, r.room_uuid, r.incarnation, d.day, u.user_uuid, u.user_name, u.is_student,
         case when u.is_shared then 'shared' when c.sid is null then 'none' when z.user_link = 'stream' then 'stream' else 'rule' end as linked_by,
         c.call_id, c.sid, c.uid, c.joined_at, c.left_at,
         extract(epoch from greatest(coalesce(c.left_at, c.destroyed_at) - c.joined_at, interval '0'))::double precision / 60 as minutes,
         c.network, c.platform, c.device_type, coalesce(q.samples, 0)::bigint as samples,
         g.audio_bad_share, g.video_bad_share, q.audio_freeze_avg_ms, q.video_freeze_avg_ms, q.audio_loss_avg_pct, q.video_loss_avg_pct, q.rtt_avg_ms,
         extract(epoch from c.left_at - c.joined_at)::double precision / 60 * q.talk_samples / q.volume_samples as talk_minutes,
         case when c.sid is not null then coalesce(k.partial, true) end as partial
  from classroom.room r
  join ingest.app z on z.app_id = r.app_id
  left join ingest.calendar d on d.time_zone = z.time_zone
    and d.utc_day = (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
    and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
  cross join lateral (
    select p.user_uuid, p.user_name, p.is_student, p.uid,
           p.uid is not null and min(p.user_uuid) over (partition by p.uid) <> max(p.user_uuid) over (partition by p.uid) as is_shared
    from (
      select a.user_uuid, max(a.user_name) as user_name, bool_and(classroom.is_student(a.role)) as is_student, l.uid
      from classroom.attendance a
      cross join lateral (select split_part(z.user_link, '{uid}', 1) as head, split_part(z.user_link, '{uid}', 2) as tail) t
      cross join lateral (
        select nullif(case when z.user_link = 'stream' then a.stream_uuid
                           when z.user_link <> 'off' and starts_with(a.user_uuid, t.head) and right(a.user_uuid, length(t.tail)) = t.tail
                             then substr(a.user_uuid, length(t.head) + 1, length(a.user_uuid) - length(t.head) - length(t.tail)) end, '') as uid
      ) l
      where a.app_id = r.app_id and a.room_uuid = r.room_uuid and a.incarnation = r.incarnation and a.user_uuid is not null and a.action = 'enter'
      group by a.user_uuid, l.uid
    ) p
  ) u
  left join lateral (
    select s.*, k.destroyed_at from analytics.class_call k
    join analytics.call_session s on s.app_id = k.app_id and s.call_id = k.call_id
    where k.app_id = r.app_id and k.room_uuid = r.room_uuid and k.incarnation = r.incarnation and s.uid = u.uid and not u.is_shared
  ) c on true
  left join analytics.session_summary q on q.app_id = r.app_id and q.call_id = c.call_id and q.sid = c.sid
  left join analytics.call_summary k on k.app_id = r.app_id and k.call_id = c.call_id
  left join lateral (
    select sum(m.bad) filter (where m.mid in (20005, 20016))::double precision / sum(m.samples) filter (where m.mid in (20005, 20016)) as audio_bad_share,
           sum(m.bad) filter (where m.mid in (20011, 20018))::double precision / sum(m.samples) filter (where m.mid in (20011, 20018)) as video_bad_share
    from analytics.session_digest e cross join lateral unnest(e.mids, e.samples, e.bad_samples) m(mid, samples, bad)
    where e.app_id = r.app_id and e.call_id = c.call_id and e.sid = c.sid
  ) g on true;
comment on view classroom.user_call is
  'Every user of every class with each stay in its calls: how well they heard and saw, and how long they talked; ask for one class, or for an app and a day';
comment on column classroom.user_call.day is 'On which the class began, in the time zone of the app';
comment on column classroom.user_call.user_uuid is 'The classroom''s ID of the user';
comment on column classroom.user_call.is_student is 'Neither a teacher nor an assistant in any of the stays in the class';
comment on column classroom.user_call.linked_by is
  'How the stay was found to be the user''s. stream: its uid is the uuid of the stream of the user in the class; rule: the user ID holds it as apps[].userLink says; shared: several users of the class would have it, so nothing is said; none: no stay in the calls of the class has it, or apps[].userLink is off';
comment on column classroom.user_call.uid is 'User ID in calls; null where none was found';
comment on column classroom.user_call.minutes is 'Length of the stay in the call';
comment on column classroom.user_call.audio_bad_share is
  'Share of what was measured of sound that somebody would have noticed: freezes of at least 200 ms (mid 20005) and end-to-end losses of at least 10 % (mid 20016); null where nothing was measured';
comment on column classroom.user_call.video_bad_share is 'The same of the picture: freezes (mid 20011) and end-to-end losses (mid 20018)';
comment on column classroom.user_call.talk_minutes is 'How long the user talked, as analytics.session_quality tells it; null where it was not measured';
comment on column classroom.user_call.partial is 'Not all of the call: something is still to be read or was given up, or it goes on; null where no stay was found';

-- === What is complete ===

create view ingest.room_log as
  select p.app_id, p.series as room_uuid, r.incarnation, r.state, p.caught_up_at, p.closed_at, e.events, e.unconfirmed, g.holes,
         p.caught_up_at is not null and e.unconfirmed = 0 and g.holes = 0 as whole
  from ingest.progress p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  -- Of a room that retention has emptied, what it was then; one that was read since is as it was read.
  cross join lateral (select (r.emptied ->> 'events')::bigint as events, (r.emptied ->> 'unconfirmed')::bigint as unconfirmed
                      where r.verified_at <= r.emptied_at
                      union all
                      select count(*) as events, count(*) filter (where e.source = 'feed') as unconfirmed
                      from classroom.room_event e
                      where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
                      having r.emptied_at is null or r.verified_at > r.emptied_at) e
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
  select r.emptied ->> 'recordings' from classroom.room r
  where r.app_id = p_app and r.room_uuid = p_room and r.incarnation = p_incarnation and r.verified_at <= r.emptied_at
  union all
  (select string_agg(distinct case when c.status = 1 then 'still_recording' else 'files_missing' end, ', ')
  from classroom.recording c
  where c.app_id = p_app and c.room_uuid = p_room and c.incarnation = p_incarnation
    and (c.status = 1 or (c.status = 2 or c.ended_at is not null) and coalesce(c.url, '') = ''
      and not exists (select from classroom.recording_file f
                      where f.app_id = c.app_id and f.room_uuid = c.room_uuid and f.incarnation = c.incarnation
                        and f.record_id = c.record_id)))
  limit 1
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

create function ingest.each_once(variadic p_words text[]) returns text language sql immutable parallel safe as $$
  select coalesce(string_agg(distinct w.word, ', '), '')
  from unnest(string_to_array(array_to_string(p_words, ', '), ', ')) w(word) where w.word <> ''
$$;
comment on function ingest.each_once is 'Words from lists with commas between them, in order and each once; nulls are left out, and nothing is the empty text';

-- Of several series, each counts from its own first whole day on, so that one that is added takes nothing from the days
-- before it; one that comes and goes counts for the time for which it was asked. What is of a room belongs to the day
-- on which its class began, and cannot be whole on a day on which rooms may have been missed. A stream that is switched
-- off is judged up to then: its series were closed with it, and a restart may take ten minutes. An app that is in
-- several regions has a feed in each: rooms may have been missed on a day on which any of them had not told all. Those
-- of regions that it is in no more are closed, and have no backlog. Functions and look-ups run for the days that are asked
-- for.
create view ingest.complete_day as
  select d.app_id, d.day, d.days_ago, d.stream, d.complete, d.gaps, case when d.complete then '' else coalesce(nullif(d.reasons, ''), 'unread') end as reasons,
         v.expected, v.received
  from (
    with told as not materialized (
      select t.app_id, t.stream, t.day, t.begins_at, t.ends_at, t.days_ago, t.complete and (t.stream <> 'app-events' or g.gaps = 0) as complete,
             g.gaps, ingest.each_once(case when t.days_ago = 0 then 'not_over' end, t.reasons, g.reasons) as reasons
      from (
        select p.app_id, p.stream, d.day, d.begins_at, d.ends_at, d.days_ago, bool_and(isempty(k.lacking)) as complete,
               ingest.each_once(
                 case when bool_or(not isempty(k.lacking * p.missing)) then 'not_served' end,
                 case when bool_or(not isempty((k.lacking - p.missing - p.lost - p.seen) * tstzmultirange(tstzrange(d.begins_at, d.told_until)))) then 'unread' end,
                 case when bool_or(not isempty((k.lacking - p.missing - p.lost) * p.seen)) then 'not_final' end) as reasons
        from ingest.progress p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        cross join lateral ingest.whole_days(p.app_id, case when isempty(p.unasked) then p.backlog_from else p.backlog_from - interval '25 hours' end) d
        cross join lateral (
          select tstzmultirange(tstzrange(d.begins_at, d.ends_at)) - coalesce(o.off, '{}') as judged
        ) j
        cross join lateral (select j.judged - p.covered - p.unasked as lacking) k
        where p.backlog_from is not null and p.stream in (select k.stream from ingest.stream k where k.kind = 'window') and not isempty(j.judged)
          and (p.closed_at is null or p.closed_at >= o.off_since - interval '10 minutes' or not isempty(p.unasked))
          and d.ends_at > p.backlog_from
        group by p.app_id, p.stream, d.day, d.begins_at, d.ends_at, d.days_ago having bool_or(isempty(p.unasked))
        union all
        select p.app_id, p.stream, d.day, d.begins_at, d.ends_at, d.days_ago, w.whole,
               case when not w.whole then
                 (select string_agg(n.stream, ', ') from unnest(k.needs) n(stream)
                  where not (select bool_and(ingest.is_complete(n.stream, p.app_id, lower(j.part), upper(j.part))) from unnest(b.judged) j(part))) end
        from ingest.progress p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        join ingest.stream k on k.stream = p.stream and k.kind = 'substream'
        cross join lateral (select min(c.backlog_from) as backlog_from from ingest.progress c
                            where c.app_id = p.app_id and c.stream = any (k.needs) and c.stream in (select w.stream from ingest.stream w where w.kind = 'window')) c
        cross join lateral ingest.whole_days(p.app_id, greatest(p.backlog_from, c.backlog_from)) d
        cross join lateral (select tstzmultirange(tstzrange(d.begins_at, d.ends_at)) - coalesce(o.off, '{}') as judged) b
        cross join lateral (
          select bool_and(ingest.is_complete(p.stream, p.app_id, lower(j.part), upper(j.part))) as whole from unnest(b.judged) j(part)
        ) w
        where p.backlog_from is not null and p.closed_at is null
          and not coalesce(o.off @> tstzrange(d.begins_at, d.ends_at), false)
        union all
        select p.app_id, p.stream, d.day, d.begins_at, d.ends_at, d.days_ago, w.whole, case when not w.whole then 'unread' end
        from (
          select f.app_id, f.stream, nullif(min(coalesce(f.caught_up_at, '-infinity')), '-infinity') as caught_up_at
          from ingest.progress f where f.stream = 'app-events' and f.closed_at is null group by f.app_id, f.stream
        ) p
        left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
        cross join lateral (select min(r.first_seen_at) as at from classroom.room r where r.app_id = p.app_id) s
        cross join lateral ingest.whole_days(p.app_id, s.at) d
        cross join lateral (
          select coalesce(p.caught_up_at >= least(d.ends_at, o.off_since - interval '10 minutes'), false) as whole
        ) w
        where s.at is not null
          and not coalesce(o.off @> tstzrange(d.begins_at, d.ends_at), false)
      ) t
      cross join lateral (
        select (count(*) filter (where g.state <> 'absent'))::int as gaps, string_agg(distinct g.reason, ', ') as reasons from ingest.gap g
        where g.app_id = t.app_id and g.stream = t.stream and (g.state in ('open', 'lost') or g.state = 'absent' and g.reason = 'not_served')
          and g.range_from < t.ends_at and g.range_to > t.begins_at
      ) g
    )
    select t.app_id, t.stream, t.day, t.begins_at, t.ends_at, t.days_ago, t.complete, t.gaps, t.reasons
    from told t
    union all
    select a.app_id, r.stream, d.day, d.begins_at, d.ends_at, d.days_ago, coalesce(t.complete, true) and r.whole, r.gaps,
           ingest.each_once(case when not t.complete then 'app-events' end, case when not t.complete and d.days_ago = 0 then 'not_over' end, r.reasons)
    from (select r.app_id, min(r.first_seen_at) as at from classroom.room r group by r.app_id) a
    cross join lateral ingest.whole_days(a.app_id, a.at) d
    left join told t on t.app_id = a.app_id and t.stream = 'app-events' and t.day = d.day
    -- The classes of a day are looked up once for all streams; each is looked at closely where there is anything at all: of
    -- hardly any there is.
    cross join lateral (
      with held as materialized (
        select r.room_uuid, r.incarnation, r.first_seen_at, r.ended_at, r.last_event_at, r.valid_to, r.emptied, coalesce(r.started_at, r.valid_from) as began_at,
               case when r.started_at is not null and r.ended_at is null then 'end_not_seen'
                    when r.started_at is not null and not coalesce(e.source = 'log', (r.emptied ->> 'confirmed')::boolean, false) then 'unconfirmed' end as reason
        from classroom.room r
        left join classroom.room_event e on e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
          and e.sequence = r.state_sequence
        where r.app_id = a.app_id
          and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
            between (d.begins_at at time zone 'UTC')::date and ((d.ends_at - interval '1 microsecond') at time zone 'UTC')::date
          and coalesce(r.started_at, r.valid_from) >= d.begins_at and coalesce(r.started_at, r.valid_from) < d.ends_at
      )
      select s.stream, bool_and(v.reason is null and u.reason is null and g.gaps = 0) as whole, sum(g.gaps)::int as gaps,
             ingest.each_once(string_agg(g.reasons, ', '), string_agg(v.reason, ', '), string_agg(u.reason, ', ')) as reasons
      from ingest.stream s
      left join ingest.stream_off_time o on o.app_id = a.app_id and o.stream = s.stream
      left join held r on not coalesce(o.off @> r.began_at, false)
      left join ingest.progress p on p.app_id = a.app_id and p.stream = s.stream and p.series = r.room_uuid
      cross join lateral (
        select coalesce(r.reason, case when r.room_uuid is not null and not (r.valid_to is not null or coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at), false))
                                    then 'unread' end) as reason
      ) v
      cross join lateral (
        select case when (exists (select from ingest.dead_letter x where x.app_id = a.app_id and x.stream = s.stream and x.series = r.room_uuid)
                          or exists (select from ingest.unkept_letter x where x.app_id = a.app_id and x.stream = s.stream and x.series = r.room_uuid))
                     and ingest.unreadable_items(a.app_id, s.stream, r.room_uuid, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                    when 'classroom.recording' = any (s.writes)
                     and (r.emptied is not null or exists (select from classroom.recording x where x.app_id = a.app_id and x.room_uuid = r.room_uuid
                                                           and x.incarnation = r.incarnation))
                      then ingest.unfinished_recordings(a.app_id, r.room_uuid, r.incarnation) end as reason
        offset 0
      ) u
      cross join lateral (
        select count(*)::int as gaps, string_agg(g.reason, ', ') as reasons from ingest.gap g
        where g.app_id = a.app_id and g.stream = s.stream and g.series = r.room_uuid
          and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')
      ) g
      where s.scope = 'room' and exists (select from ingest.progress p where p.app_id = a.app_id and p.stream = s.stream)
        and not coalesce(o.off @> tstzrange(d.begins_at, d.ends_at), false)
      group by s.stream
    ) r
  ) d
  -- A step is counted in the day in which it begins: those of a day may reach into the next.
  left join lateral (
    select sum(ceil(extract(epoch from d.ends_at) / p.step) - ceil(extract(epoch from d.begins_at) / p.step))::bigint as expected,
           sum((select coalesce(sum(ceil(extract(epoch from upper(r)) / p.step) - ceil(extract(epoch from lower(r)) / p.step)), 0)
                from unnest(p.covered * tstzmultirange(tstzrange(d.begins_at, d.ends_at))) r))::bigint as received
    from ingest.progress p
    where p.app_id = d.app_id and p.stream = d.stream and p.step is not null and p.closed_at is null and isempty(p.unasked)
      and p.backlog_from <= d.begins_at
  ) v on true;
comment on view ingest.complete_day is
  'Whether each day of each stream, in the time zone of the app, is stored whole and can no longer change, from its first whole day to today, at most ninety; not of cloud players, whose list is always that of now';
comment on column ingest.complete_day.days_ago is '0 is today, 1 yesterday, as the app''s time zone has it';
comment on column ingest.complete_day.stream is
  'What is of a room (room-events, popup-quiz, poll, recordings, resources) belongs to the day on which its class began; a day during which a stream was off all the time is not told of';
comment on column ingest.complete_day.complete is
  'What may still change is not complete: calls for an hour, insights for about two days, classes until they were read after their end. A stream that was off is not judged of that time. Nothing of rooms is complete on a day of which app-events, where they are on, are not: a class may be missing altogether';
comment on column ingest.complete_day.gaps is
  'Rows of the gap ledger that touch the day or its classes, open or lost';
comment on column ingest.complete_day.reasons is
  'Why the day is not complete, in words with commas between them; empty where it is, and never null. not_over: today; unread: something of it was not read to its end yet; not_final: it was read and may still change; not_served: values that are promised were not served; the name of a stream that it hangs on and that is not complete itself; those of its gaps, which ingest.loss explains; of rooms end_not_seen of a class, unconfirmed by the log that it ended, and what else ingest.room_complete tells of theirs';
comment on column ingest.complete_day.expected is
  'Values that the provider promises for the day, one for each step of each series that begins in it; null where it promises no number, as for calls and for single users. Channels that are asked for only while something goes on in them are not counted';
comment on column ingest.complete_day.received is
  'Those of them that are stored and can no longer change; fewer than expected on a complete day there are never: what was not served is absent in ingest.gap and makes no day complete';

-- === Readers of less ===

-- Columns that hold the name of a person, what was written in a chat, or what came as it was told, which may hold both.
create function ingest.tells_names(p_column name) returns boolean language sql immutable parallel safe as $$
  select p_column in ('user_name', 'operator_name', 'message', 'data', 'extra', 'payload', 'url', 'stream_url', 'task_progress')
$$;
comment on function ingest.tells_names is 'Whether a column may hold the name of a person or the text of a chat';

-- Makes a role, and a schema of the same name with a view of each table and view of classrooms, calls and players, and of what
-- was lost. A view is read with the rights of its owner, so the role needs none on what lies below. Made again, it is as new.
create function ingest.make_reader(p_role text, p_app text default null, p_names boolean default true) returns int
language plpgsql volatile as $$
declare
  v_table record;
  v_views int := 0;
begin
  if to_regrole(quote_ident(p_role)) is null then
    execute format('create role %I nologin', p_role);
  end if;
  execute format('drop schema if exists %I cascade', p_role);
  execute format('create schema %I', p_role);
  for v_table in
    select c.oid::regclass::text as source, c.relname as name,
           string_agg(quote_ident(a.attname), ', ' order by a.attnum) as columns, bool_or(a.attname = 'app_id') as of_app
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where (n.nspname in ('classroom', 'analytics', 'players') or c.oid in ('ingest.gap'::regclass, 'ingest.loss'::regclass))
      and c.relkind in ('r', 'p', 'v') and not c.relispartition
      and (p_names or not ingest.tells_names(a.attname))
    group by c.oid, c.relname
  loop
    -- What is of no app is the list of metrics.
    continue when p_app is not null and not v_table.of_app and v_table.name <> 'metric';
    execute format('create view %I.%I with (security_barrier) as select %s from %s %s', p_role, v_table.name, v_table.columns,
      v_table.source, case when p_app is not null and v_table.of_app then format('where app_id = %L', p_app) else '' end);
    v_views := v_views + 1;
  end loop;
  -- Functions inside of views are called with the rights of whoever reads.
  execute format('grant usage on schema %I, ingest, classroom, analytics, players to %I', p_role, p_role);
  execute format('grant select on all tables in schema %I to %I', p_role, p_role);
  return v_views;
end
$$;
comment on function ingest.make_reader is
  'Makes a role that reads less than penstock_read, in a schema of its own name: of one app alone, or without names and chats. For whoever migrates';
revoke execute on function ingest.make_reader from public;

-- === What columns say ===

-- Every column says what it is: those of the described tables are written by penstock migrate up, these are the others of one
-- meaning in several places. What a column says already stays; a full name goes before a name alone.
do $$
declare
  v_column record;
begin
  for v_column in
    select c.oid::regclass::text as of_table, quote_ident(a.attname) as name, said.comment
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    cross join lateral (select s.comment from (values
      ('analytics.metric.name', 'Name of the metric, as the provider documents it'),
      ('analytics.call_series.at', 'Begin of the day that the values are of'),
      ('analytics.call_series.value', 'The values, in the unit of the metric'),
      ('analytics.call_series.gaps', 'Seconds from the begin of the day to the first value, and from each value to the next'),
      ('analytics.session_quality.minutes', 'Length of the stay'),
      ('analytics.session_digest.samples', 'Values of each metric'),
      ('analytics.call_minute.samples', 'Values of freeze, loss and round trip'),
      ('analytics.class_quality.ended_at', 'When the class ended; null while it goes on'),
      ('analytics.class_quality.started_at', 'When the class started'),
      ('analytics.class_call.incarnation', 'Counts from 1 how often this room_uuid has been used for a new room: the one whose class it was'),
      ('classroom.head_count.at', 'When somebody came or left'),
      ('classroom.head_count.students', 'From at on, those who are neither teacher nor assistant'),
      ('classroom.poll_result.state', 'running or ended; what nobody ended is over with its class'),
      ('classroom.quiz_result.state', 'running or ended; what nobody ended is over with its class'),
      ('classroom.quiz_result.started_at', 'When students got it'),
      ('classroom.quiz_accuracy.answered', 'Times that a student did'),
      ('classroom.quiz_accuracy.correct', 'Times that the last answer was right'),
      ('classroom.quiz_accuracy.quizzes', 'How many there were'),
      ('classroom.attendance_interval.entered_at', 'When the person came'),
      ('classroom.participation.entered_at', 'When the person came first'),
      ('classroom.participation.messages', 'Chat messages that the person wrote'),
      ('ingest.migration.name', 'File of the migration'),
      ('ingest.migration.statements', 'How many statements of the file were applied'),
      ('ingest.migration.applied_at', 'When the last of them was; null while some are missing'),
      ('ingest.intent.created_at', 'When it was written first'),
      ('ingest.work_item.created_at', 'When it was put on the work list'),
      ('ingest.intent.channel_name', 'Channel in which the player was to play'),
      ('ingest.loss.reason', 'A word of a closed set, which why says in a sentence'),
      ('ingest.dead_letter_count.reason', 'A word of a closed set, the label of the metric too'),
      ('ingest.unkept_letter.reason', 'A word of a closed set, the label of the metric too'),
      ('ingest.work_item.updated_at', 'When it changed last, our clock'),
      ('ingest.room_log.closed_at', 'When visits ended because the room is over; null while it is followed'),
      ('ingest.room_complete.closed_at', 'When visits ended because the room is over; null while it is followed'),
      ('players.class_player.created_at', 'When the player was created, by the provider''s clock'),
      ('players.orphan_player.created_at', 'When the player was created, by the provider''s clock'),
      ('players.class_player.destroyed_at', 'When it was gone; null while it lives'),
      ('players.channel.running', 'Those of them that play'),
      ('players.class_player.started_at', 'When the class started'),
      ('players.class_player.ended_at', 'When the class ended; null while it goes on'),
      ('%.app_id', 'App ID of the project'),
      ('%.call_id', 'The provider''s ID of the call'),
      ('%.sid', 'The provider''s ID of the stay of a user in a call'),
      ('%.room_uuid', 'The provider''s classroom ID, also the channel name of its calls'),
      ('%.incarnation', 'Counts from 1 how often this room_uuid has been used for a new room'),
      ('%.stream', 'Stream that it is of'),
      ('%.series', 'Series of the stream, as in ingest.progress'),
      ('%.cname', 'Channel name; of a class it is the room_uuid'),
      ('%.channel_name', 'Channel in which it plays; of a class it is the room_uuid'),
      ('%.created_at', 'Start of the call'),
      ('%.destroyed_at', 'End of the call; of one that goes on, as far as the provider says'),
      ('%.finished', 'False while the call goes on'),
      ('%.user_uuid', 'User ID; null or empty of one who is told without'),
      ('%.user_name', 'Name as it was told with it'),
      ('%.role', 'As the provider says it: a number or a word'),
      ('%.uid', 'User ID in calls; the same user may stay more than once'),
      ('%.peer_uid', 'The remote user that the values are about; 0: the session''s own user; empty: the provider did not say'),
      ('%.joined_at', 'When the stay began'),
      ('%.left_at', 'When it ended; of one that goes on, as far as the provider says'),
      ('%.network', 'Kind of network, as the provider names it'),
      ('%.platform', 'Operating system, as the provider names it'),
      ('%.device_type', 'Device, as the provider names it'),
      ('%.sdk_version', 'Version of the SDK that the user''s app holds'),
      ('%.speaker', 'Whether the user speaks in the call'),
      ('%.extra', 'Fields that have no column here, as they came'),
      ('%.mid', 'Metric; analytics.metric has its name and unit'),
      ('%.users', 'Different users; sessions counts their stays'),
      ('%.sessions', 'Stays of users; who leaves and comes back has another one'),
      ('%.stays', 'Stays of users; who leaves and comes back has another one'),
      ('%.minutes', 'Length of the call; null while its end is not known'),
      ('%.user_minutes', 'Lengths of all stays together'),
      ('%.samples', 'Values of freeze, loss and round trip that were measured'),
      ('%.partial', 'Something is still to be read or was given up, or the call goes on'),
      ('%.freezes', 'Values with a freeze of at least 200 ms'),
      ('%.freeze_samples', 'Values of the freeze time, of audio and video'),
      ('%.audio_freeze_samples', 'Values that the freeze of audio is made of'),
      ('%.video_freeze_samples', 'Values that the freeze of video is made of'),
      ('%.audio_loss_samples', 'Values that the loss of audio is made of'),
      ('%.video_loss_samples', 'Values that the loss of video is made of'),
      ('%.rtt_samples', 'Values that the round trip is made of'),
      ('%.audio_freeze_avg_ms', 'Mean of the freeze time in rendering audio (mid 20005)'),
      ('%.video_freeze_avg_ms', 'Mean of the freeze time in rendering video (mid 20011)'),
      ('%.audio_loss_avg_pct', 'Mean of the end-to-end audio packet loss rate (mid 20016)'),
      ('%.video_loss_avg_pct', 'Mean of the end-to-end video packet loss rate (mid 20018)'),
      ('%.rtt_avg_ms', 'Mean of the round trip from client to local router (mid 20022)'),
      ('%.audio_freeze_p95_ms', '95 of 100 values of the freeze of audio are at most this'),
      ('%.video_freeze_p95_ms', '95 of 100 values of the freeze of video are at most this'),
      ('%.audio_loss_p95_pct', '95 of 100 values of the loss of audio are at most this'),
      ('%.video_loss_p95_pct', '95 of 100 values of the loss of video are at most this'),
      ('%.rtt_p95_ms', '95 of 100 values of the round trip are at most this'),
      ('%.least', 'Least value of each metric'),
      ('%.most', 'Greatest value of each metric'),
      ('%.average', 'Mean of each metric'),
      ('%.p50', 'Half of the values are at most this'),
      ('%.p95', '95 of 100 values are at most this'),
      ('%.min', 'Least value'),
      ('%.max', 'Greatest value'),
      ('%.avg', 'Mean of the values'),
      ('%.value', 'As the provider gives it'),
      ('%.class_started_at', 'When the class started'),
      ('%.class_ended_at', 'When the class ended; null while it goes on'),
      ('%.started_at', 'When it started'),
      ('%.ended_at', 'When it ended; null while it goes on'),
      ('%.calls', 'How many calls there were'),
      ('%.call_minutes', 'Lengths of all calls together'),
      ('%.first_call_at', 'Start of the first of its calls'),
      ('%.last_call_end', 'End of the last of its calls'),
      ('%.students_second_half', 'Students who were there on average over the time of that half'),
      ('%.acts_second_half', 'Messages of students and hands that were raised'),
      ('%.messages', 'Chat messages that were written'),
      ('%.quizzes', 'Quizzes that were held'),
      ('%.polls', 'Polls that were held'),
      ('%.recordings', 'Recordings that were made'),
      ('%.minutes_late', 'How long after the start of the class the first coming was'),
      ('%.is_student', 'Neither a teacher nor an assistant in any of the stays'),
      ('%.quizzes_answered', 'Quizzes that the person answered'),
      ('%.polls_voted', 'Polls in which the person voted'),
      ('%.votes', 'Votes for the option'),
      ('%.quiz_id', 'The provider''s ID of the quiz'),
      ('%.poll_id', 'The provider''s ID of the poll'),
      ('%.option_index', 'Place of the option in the poll''s items, from 0'),
      ('%.mode', 'single choice or multiple choice'),
      ('%.day', 'The day, UTC'),
      ('%.first_at', 'When the first of them came'),
      ('%.last_at', 'When the last of them came'),
      ('%.occurrences', 'How often they came'),
      ('%.reason', 'A word of a closed set'),
      ('%.why', 'The reason as a sentence'),
      ('%.events', 'Events that are stored of the room'),
      ('%.off', 'When the stream was off'),
      ('%.caught_up_at', 'When it was last read to its end'),
      ('%.closed_at', 'When visits ended; null while it is followed'),
      ('%.range_from', 'Begin of a range of time'),
      ('%.range_to', 'Its end'),
      ('%.sequence_from', 'First sequence of a range of events'),
      ('%.sequence_to', 'Its last'),
      ('%.state', '0 not started, 1 started, 2 ended, 3 closed; null while no state change has been seen'),
      ('%.player_id', 'The provider''s ID of the player'),
      ('%.name', 'Name of the player; null of one without'),
      ('%.status', 'idle, connecting, running or failed, as the list says; destroyed once it is gone'),
      ('%.stream_url', 'Address of what it plays, without secrets'),
      ('%.region', 'Region in which it was made'),
      ('%.last_seen_at', 'When a list named it last, our clock')
    ) s(name, comment)
      where s.name in (n.nspname || '.' || c.relname || '.' || a.attname, '%.' || a.attname) order by s.name like '\%%' limit 1) said
    where n.nspname in ('ingest', 'classroom', 'analytics', 'players') and c.relkind in ('r', 'p', 'v') and not c.relispartition
      and col_description(c.oid, a.attnum) is null and pg_has_role(c.relowner, 'usage')
  loop
    execute format('comment on column %s.%s is %L', v_column.of_table, v_column.name, v_column.comment);
  end loop;
end
$$;

reset role;

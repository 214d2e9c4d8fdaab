-- Made by npm run generate; edit the code instead. Commits a page of room-events.

-- commit_room_events
with 
  fence as materialized (
    select pg_advisory_xact_lock_shared(hashtextextended('penstock rooms of ' || :app, 0)), ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
    where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share
  ),
  moved as (
    update ingest.progress p
    set version = p.version + 1, cursor = :cursor, stream_state = :stream_state::jsonb, epoch = :epoch, updated_at = ingest.clock(),
        caught_up_at = case when :caught_up::boolean then ingest.clock() - :age::double precision * interval '1 millisecond' else p.caught_up_at end, closed_at = null, wanted = '{}'
    where p.app_id = :app and p.stream = :stream and p.series = :series and p.version = :version
      and exists (select from fence) and true
    returning p.version
  ),
  event as materialized (
    select d.* from json_to_recordset(:rows_room_event::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, cmd int, version int, data jsonb, event_time timestamptz, at_source text, received_at timestamptz) where exists (select from moved)
  ),
  place as materialized (
    select :series::text as room_uuid, :incarnation::int as incarnation, true as trusted where exists (select from moved)
  ),
  judged as materialized (
    select e.*, p.incarnation, s.source as stored_source, s.cmd as stored_cmd,
           s.event_time as stored_time, s.data as stored_data, s.at as stored_at,
           case when s.source is null then not p.trusted
                when s.cmd <> e.cmd or s.event_time is distinct from e.event_time then true
                when s.source = 'log' and s.data is distinct from e.data then true
                else not p.trusted and e.event_time is null end as contradicts,
           s.source is null or s.source = 'feed' as fresh
    from event e
    join place p using (room_uuid)
    -- "offset 0" keeps all four columns an index condition of one look-up an event, whatever the statistics say.
    left join lateral (
      select s.source, s.cmd, s.event_time, s.data, s.at from classroom.room_event s
      where s.app_id = :app and s.room_uuid = e.room_uuid and s.incarnation = p.incarnation and s.sequence = e.sequence
      offset 0
    ) s on true
  ),
  replaced as materialized (
    select j.sequence, j.stored_cmd <> j.cmd or j.stored_time is distinct from j.event_time as other
    from judged j
    where j.fresh and j.stored_source = 'feed'
      and (j.stored_cmd <> j.cmd or j.stored_time is distinct from j.event_time or j.stored_data is distinct from j.data)
  ),
  state_change as materialized (
    select room_uuid, sequence, coalesce(d.state, c.state) as state,
           coalesce(d.started_at, case when not sequence = any (array(select x.sequence from replaced x where x.other)) then c.started_at end) as started_at,
           case when c.at is null or sequence = any (array(select x.sequence from replaced x where x.other)) then d.at else c.at end as at, c.at is null as fresh
    from (
      select c.* from place p
      cross join lateral (
        select c.room_uuid, c.sequence, c.state, c.started_at, c.at from classroom.room_state_change c
        where c.app_id = :app and c.room_uuid = p.room_uuid and c.incarnation = p.incarnation
        offset 0
      ) c
      where exists (select from json_to_recordset(:rows_room_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, started_at timestamptz) where d.room_uuid = p.room_uuid) or exists (select from replaced where other)
    ) c
    full join (
      select d.room_uuid, d.sequence, d.state, d.started_at, d.at
      from json_to_recordset(:rows_room_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, started_at timestamptz)
      join judged j using (room_uuid, sequence) where j.fresh
    ) d using (room_uuid, sequence)
    where d.at is not null or not sequence = any (array(select x.sequence from replaced x where x.other))
  ),
  course as materialized (
    select c.room_uuid, max(c.sequence) as sequence, min(c.at) filter (where c.state in (2, 3) and c.sequence > c.begun) as ended_at,
           bool_or(c.fresh and c.sequence = c.begun and c.sequence = c.last) as begins
    from (
      select c.*, max(c.sequence) over w as last, coalesce(max(c.sequence) filter (where c.state < 2) over w, -1) as begun
      from state_change c window w as (partition by c.room_uuid)
    ) c
    group by c.room_uuid
  ),
  restated as materialized (
    select (select c.state from state_change c order by c.sequence desc limit 1) as state, max(c.sequence) as state_sequence,
           min(coalesce(c.started_at, c.at)) filter (where c.state = 1) as started_at,
           (select o.ended_at from course o) as ended_at,
           (select min(e.at) from classroom.room_event e where e.app_id = :app and e.room_uuid = :series and e.incarnation = :incarnation::int and e.sequence <> all (array(select x.sequence from replaced x where x.other))) as valid_from
    from state_change c
    having exists (select from replaced where other)
  ),
  removed_room_state_change as (
    delete from classroom.room_state_change t
    where t.app_id = :app and t.room_uuid = :series and t.incarnation = :incarnation::int and t.sequence = any (array(select x.sequence from replaced x))
      and not exists (select from json_to_recordset(:rows_room_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, started_at timestamptz) where d.room_uuid = t.room_uuid and d.sequence = t.sequence)
  ),
  removed_chat_message as (
    delete from classroom.chat_message t
    where t.app_id = :app and t.room_uuid = :series and t.incarnation = :incarnation::int and t.sequence = any (array(select x.sequence from replaced x))
      and not exists (select from json_to_recordset(:rows_chat_message::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, user_uuid text, user_name text, role text, message text, type int) where d.room_uuid = t.room_uuid and d.sequence = t.sequence)
  ),
  removed_attendance as (
    delete from classroom.attendance t
    where t.app_id = :app and t.room_uuid = :series and t.incarnation = :incarnation::int and t.sequence = any (array(select x.sequence from replaced x))
      and not exists (select from json_to_recordset(:rows_attendance::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, user_name text, role text, stream_uuid text, action text, total int) where d.room_uuid = t.room_uuid and d.sequence = t.sequence and d.ordinal = t.ordinal)
  ),
  removed_recording_state_change as (
    delete from classroom.recording_state_change t
    where t.app_id = :app and t.room_uuid = :series and t.incarnation = :incarnation::int and t.sequence = any (array(select x.sequence from replaced x))
      and not exists (select from json_to_recordset(:rows_recording_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, record_id text, sid text, resource_id text, started_at timestamptz) where d.room_uuid = t.room_uuid and d.sequence = t.sequence)
  ),
  removed_reward as (
    delete from classroom.reward t
    where t.app_id = :app and t.room_uuid = :series and t.incarnation = :incarnation::int and t.sequence = any (array(select x.sequence from replaced x))
      and not exists (select from json_to_recordset(:rows_reward::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, changed_reward double precision, total double precision) where d.room_uuid = t.room_uuid and d.sequence = t.sequence and d.ordinal = t.ordinal)
  ),
  removed_resource_change as (
    delete from classroom.resource_change t
    where t.app_id = :app and t.room_uuid = :series and t.incarnation = :incarnation::int and t.sequence = any (array(select x.sequence from replaced x))
      and not exists (select from json_to_recordset(:rows_resource_change::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, resource_uuid text, action text, resource_name text, ext text, size double precision, url text, task_uuid text, task_progress jsonb, operator_uuid text, operator_name text, operator_role text) where d.room_uuid = t.room_uuid and d.sequence = t.sequence and d.ordinal = t.ordinal)
  ),
  removed_stage_change as (
    delete from classroom.stage_change t
    where t.app_id = :app and t.room_uuid = :series and t.incarnation = :incarnation::int and t.sequence = any (array(select x.sequence from replaced x))
      and not exists (select from json_to_recordset(:rows_stage_change::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, action text, is_listed boolean) where d.room_uuid = t.room_uuid and d.sequence = t.sequence and d.ordinal = t.ordinal)
  ),
  removed_hand_wave as (
    delete from classroom.hand_wave t
    where t.app_id = :app and t.room_uuid = :series and t.incarnation = :incarnation::int and t.sequence = any (array(select x.sequence from replaced x))
      and not exists (select from json_to_recordset(:rows_hand_wave::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, action text, is_listed boolean, payload jsonb) where d.room_uuid = t.room_uuid and d.sequence = t.sequence and d.ordinal = t.ordinal)
  ),
  stored_room_event as (
    insert into classroom.room_event as t (app_id, incarnation, source, room_uuid, sequence, at, extra, cmd, version, data, event_time, at_source, received_at)
    select :app, d.incarnation, 'log', d.room_uuid, d.sequence, d.at, d.extra, d.cmd, d.version, d.data, d.event_time, d.at_source, d.received_at
    from judged d where d.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) do update set cmd = excluded.cmd, version = excluded.version, data = excluded.data,
           event_time = excluded.event_time, extra = excluded.extra, source = excluded.source,
           at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end, at_source = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at_source else t.at_source end, received_at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.received_at else t.received_at end
         where t.source = 'feed'
    returning (xmax = 0) as fresh
  ),
  seen_room as materialized (
    select d.*, p.incarnation from json_to_recordset(:rows_room::json) as d(room_uuid text, state int, state_sequence bigint, started_at timestamptz, ended_at timestamptz, ended_by timestamptz, last_event_at timestamptz, first_event_at timestamptz, late_ends jsonb)
    join place p using (room_uuid)
    where true
  ), stored_room as (
    insert into classroom.room as t (app_id, room_uuid, incarnation, region, state, state_sequence, started_at, ended_at, ended_by,
                                     valid_from, last_event_at, first_seen_at, verified_at)
    select :app, s.room_uuid, s.incarnation, :region, s.state, s.state_sequence, s.started_at, s.ended_at,
           case when s.ended_at in (select l.at::timestamptz from jsonb_array_elements_text(s.late_ends) l(at)) then s.ended_by end,
           s.first_event_at, s.last_event_at, ingest.clock(), case when :caught_up::boolean and coalesce(s.state, 0) < 2 then ingest.clock() else ingest.clock() - :memory::interval * 0.75 end
    from seen_room s
    on conflict (app_id, room_uuid, incarnation) do update set
      state = case when exists (select from restated) then (select r.state from restated r) else case when excluded.state_sequence >= coalesce(t.state_sequence, -1) then excluded.state else t.state end end,
      state_sequence = case when exists (select from restated) then (select r.state_sequence from restated r) else greatest(t.state_sequence, excluded.state_sequence) end,
      started_at = case when exists (select from restated) then (select r.started_at from restated r) else least(t.started_at, excluded.started_at) end,
      ended_at = case when exists (select from restated) then (select r.ended_at from restated r) else case
        when excluded.state_sequence is null or t.state_sequence > (select c.sequence from course c where c.room_uuid = t.room_uuid) then t.ended_at
        else (select c.ended_at from course c where c.room_uuid = t.room_uuid) end end,
      ended_by = (select case when e.at = t.ended_at then t.ended_by when e.at in (select l.at::timestamptz from jsonb_array_elements_text(s.late_ends) l(at)) then s.ended_by end
                   from (select case when exists (select from restated) then (select r.ended_at from restated r) else case
        when excluded.state_sequence is null or t.state_sequence > (select c.sequence from course c where c.room_uuid = t.room_uuid) then t.ended_at
        else (select c.ended_at from course c where c.room_uuid = t.room_uuid) end end as at) e cross join seen_room s where s.room_uuid = t.room_uuid),
      valid_from = least(case when exists (select from restated)
        then (select r.valid_from from restated r) else t.valid_from end, excluded.valid_from),
      last_event_at = greatest(t.last_event_at, least(excluded.last_event_at,
        (select max(case when j.contradicts and j.stored_source = 'feed' then j.at else coalesce(j.stored_at, j.at) end)
         from judged j))),
      verified_at = case when :caught_up::boolean and coalesce(case when exists (select from restated) then (select r.state from restated r) else case when excluded.state_sequence >= coalesce(t.state_sequence, -1) then excluded.state else t.state end end, 0) < 2 then ingest.clock() else greatest(t.verified_at, ingest.clock() - :memory::interval * 0.75) end, forgotten_at = null, region = excluded.region
    returning (xmax = 0) as fresh
  ),
  followed as (
    insert into ingest.progress (app_id, stream, series, stream_state)
    select :app, f.stream, s.room_uuid, jsonb_build_object('incarnation', s.incarnation)
    from seen_room s cross join unnest(:room_streams::text[]) as f(stream)
    where (select true from ingest.progress p where p.app_id = :app and p.stream = f.stream and p.series = s.room_uuid) is null
    on conflict (app_id, stream, series) do nothing
    returning 1
  ),
  reopened as (
    update ingest.progress p set closed_at = null
    from (
      select f.stream, c.room_uuid from course c cross join unnest(:room_streams::text[]) f(stream) where c.begins and f.stream <> :stream and not :opens::boolean) s(stream, series)
    cross join lateral (
      select o.ctid as place from ingest.progress o
      where o.app_id = :app and o.stream = s.stream and o.series = s.series and o.closed_at is not null
      offset 0
    ) o
    where p.ctid = o.place
    returning 1
  ),
  contradiction as (
    select j.room_uuid, j.sequence::text as key, j.stored_source is not null and j.fresh as replaces,
           j.stored_source is not null as is_stored,
           j.stored_source = 'log' and j.stored_cmd = j.cmd and j.stored_time is not distinct from j.event_time as reworded,
           jsonb_build_object('cmd', j.cmd, 'event_time', j.event_time, 'data', j.data) as told,
           jsonb_build_object('cmd', j.stored_cmd, 'event_time', j.stored_time, 'data', j.stored_data) as stored
    from judged j where j.contradicts
  ), diverged as (
    insert into ingest.divergence (app_id, stream, series, key, kept, other)
    select :app, :stream, c.room_uuid, c.key, case when c.replaces then c.told when c.is_stored then c.stored end,
           case when c.replaces then c.stored else c.told end
    from contradiction c
    where not coalesce(c.reworded, false) or not exists (
      select from ingest.divergence d
      where d.app_id = :app and d.stream = :stream and d.series = c.room_uuid and d.key = c.key and d.kept = c.stored)
    on conflict do nothing
    returning 1
  ),
  offered as materialized (
    select r.*, exists (select from ingest.dead_letter t
                        where t.app_id = :app and t.stream = :stream and t.series = :series and t.reason = r.reason
                          and t.content_hash = sha256(r.bytes)) as known
    from (select distinct on (r.reason, r.body) r.reason, r.detail, convert_to(r.body, 'UTF8') as bytes
          from json_to_recordset(:rejects::json) as r(reason text, detail text, body text)) r
    where exists (select from moved)
  ),
  weighed as materialized (
    select o.*, o.known or row_number() over (partition by o.reason, o.known) <= s.places as kept
    from offered o
    join (select reason, ingest.letters_left(:app, :stream, reason) as places from offered group by reason) s using (reason)
  ),
  letters as (
    insert into ingest.dead_letter as t (app_id, stream, series, reason, detail, body)
    select :app, :stream, :series, w.reason, w.detail, w.bytes from weighed w where w.kept
    on conflict (app_id, stream, series, reason, content_hash) do update
      set occurrences = t.occurrences + 1, last_seen_at = ingest.clock()
    returning t.reason, (xmax = 0) as fresh
  ),
  unkept as (
    insert into ingest.unkept_letter as u (app_id, stream, series, reason, letters, last_seen_at)
    select :app, :stream, :series, w.reason, count(*), ingest.clock() from weighed w where not w.kept group by w.reason
    on conflict (app_id, stream, series, reason) do update
      set letters = u.letters + excluded.letters, last_seen_at = excluded.last_seen_at
  ),
  rejected as (
    select reason, fresh from letters
    union all select w.reason, true from weighed w where not w.kept
  ),
  pending as materialized (
    select d.*, e.alike or a.has_letter as alike, e.certain or a.has_letter as certain from (
      select d.id, d.key::bigint as sequence, (d.other ->> 'cmd')::int as cmd, d.other -> 'event_time' as event_time,
             d.other -> 'data' as data, d.seen_at
      from ingest.divergence d
      where d.app_id = :app and d.stream = 'app-events' and d.series = :series and d.resolved_at is null
        and exists (select from moved)
    ) d cross join lateral (
      select count(*) > 0 as alike, coalesce(bool_or(d.event_time <> 'null' or e.data = d.data), false) as certain from (
        select e.sequence, e.cmd, e.event_time, e.data from event e
        union all
        select e.sequence, e.cmd, e.event_time, e.data from classroom.room_event e
        where e.app_id = :app and e.room_uuid = :series and e.incarnation = :incarnation::int
          and e.sequence = d.sequence and e.source = 'log'
      ) e where e.sequence = d.sequence and e.cmd = d.cmd
          and coalesce(to_jsonb(e.event_time), 'null') = d.event_time
    ) e cross join lateral (select exists (
        select from (
          select o.bytes from offered o
          union all
          select l.body from ingest.dead_letter l
          where l.app_id = :app and l.stream = :stream and l.series = :series
            and l.reason in ('missing_key', 'wrong_type', 'out_of_range', 'store_refused')
        ) l where encode(l.bytes, 'escape') ~ ('"sequence":"?' || d.sequence || '"?[,}]')) as has_letter) a
  ), confirmed as (
    update ingest.divergence d set resolved_at = ingest.clock() from pending p
    where d.id = p.id and p.alike and (p.certain or not exists (select from pending o where not o.alike))
    returning d.id
  ), unconfirmed as (
    select p.* from pending p where not exists (select from confirmed c where c.id = p.id)
  ),
  waiting as materialized (
    select o.id, o.sequence_from, o.sequence_to from ingest.gap o
    where o.app_id = :app and o.stream = :stream and o.series = :series and o.incarnation is null
      and o.unit = 'sequence' and o.state = 'lost' and exists (select from pending)
  ), unheard as (
    select p.sequence from unconfirmed p
    where :complete::boolean and p.seen_at < coalesce(
        (select r.first_seen_at from classroom.room r
         where r.app_id = :app and r.room_uuid = :series and r.incarnation = :incarnation::int), ingest.clock())
      and not exists (
        select from classroom.room_event e
        where e.app_id = :app and e.room_uuid = :series
          and e.incarnation = any (array(select generate_series(1, :incarnation::int - 1)))
          and e.sequence = p.sequence and e.cmd = p.cmd
          and coalesce(to_jsonb(e.event_time), 'null') = p.event_time and (p.event_time <> 'null' or e.data = p.data))
  ), lost_between as (
    insert into ingest.gap as g (app_id, stream, series, unit, sequence_from, sequence_to, reason, state, detail, first_seen_at,
                                 updated_at)
    select :app, :stream, :series, 'sequence', w.first, w.last, 'room_reused', 'lost',
      'the feed told events in this range, which wait in ingest.divergence: of a room between two whose logs were read',
      ingest.clock(), ingest.clock()
    from (select min(sequence) as first, max(sequence) as last from unheard) w
    where w.first is not null and not exists (select from waiting)
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set state = 'lost', reason = excluded.reason, detail = excluded.detail, updated_at = ingest.clock()
  ),
  hole as (
    select h."from" as sequence_from, h."to" as sequence_to, h.state
    from json_to_recordset(:holes::json) as h("from" bigint, "to" bigint, state text) where exists (select from moved)
  ), refilled as (
    delete from ingest.gap g using hole h
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.incarnation = :incarnation::int
      and g.unit = 'sequence' and g.state in ('open', 'lost', 'absent')
      and h.sequence_from <= g.sequence_to and g.sequence_from <= h.sequence_to
      and not exists (select from hole s where s.sequence_from = g.sequence_from and s.sequence_to = g.sequence_to)
    returning g.sequence_from, g.sequence_to, g.first_seen_at
  ), opened as (
    insert into ingest.gap as g (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state,
                                 first_seen_at, updated_at)
    select :app, :stream, :series, :incarnation::int, 'sequence', h.sequence_from, h.sequence_to, 'hole', h.state,
           coalesce((select min(r.first_seen_at) from refilled r
                     where h.sequence_from <= r.sequence_to and r.sequence_from <= h.sequence_to), ingest.clock()),
           ingest.clock()
    from hole h
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set state = excluded.state, updated_at = ingest.clock() where g.state <> excluded.state
    returning 1
  ), closed as (
    update ingest.gap g set state = case when t.told then 'repaired' else 'absent' end, updated_at = ingest.clock()
    from (
      select o.id, o.incarnation is null
          or exists (select from event e where e.sequence between o.sequence_from and o.sequence_to)
          or exists (
            select from classroom.room_event e where e.app_id = :app and e.room_uuid = :series
              and e.incarnation = o.incarnation and e.sequence between o.sequence_from and o.sequence_to) as told
      from ingest.gap o
      where o.app_id = :app and o.stream = :stream and o.series = :series
        and (o.incarnation = :incarnation::int and :complete::boolean
             or o.incarnation is null and (:complete::boolean or exists (select from confirmed)) and not exists (
               select from unconfirmed u where u.sequence between o.sequence_from and o.sequence_to))
        and o.unit = 'sequence' and o.state in ('open', 'lost', 'absent') and exists (select from moved)
        and not exists (select from hole h where h.sequence_from <= o.sequence_to and o.sequence_from <= h.sequence_to)
    ) t
    where g.id = t.id and (g.state <> 'absent' or t.told)
    returning 1
  ), fitted as (
    update ingest.gap g
    set sequence_from = w.first, sequence_to = w.last,
        updated_at = case when w.first >= g.sequence_from and w.last <= g.sequence_to then g.updated_at else ingest.clock() end
    from (
      select o.id, min(u.sequence) as first, max(u.sequence) as last
      from waiting o
      join unconfirmed u on u.sequence between o.sequence_from and o.sequence_to
        or u.sequence in (select h.sequence from unheard h)
      where :complete::boolean or exists (select from confirmed)
      group by 1
    ) w
    where g.id = w.id and (g.sequence_from, g.sequence_to) <> (w.first, w.last)
    returning 1
  ),
  regained as (
    update ingest.gap g set state = 'repaired', updated_at = ingest.clock()
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.incarnation = :incarnation::int
      and g.unit = 'time' and g.state = 'lost' and :caught_up::boolean and exists (select from moved)
  ),
  gone as (
    update classroom.room r
    set valid_to = coalesce((select min(e.at) from event e), ingest.clock()),
        unread = (
          select jsonb_agg(p.stream order by p.stream) from ingest.progress p
          where p.app_id = :app and p.series = :series and p.stream = any (:room_streams::text[])
            and not coalesce(p.caught_up_at > coalesce(r.ended_by, r.ended_at, r.last_event_at, r.first_seen_at), false))
    where r.app_id = :app and r.room_uuid = :series and r.incarnation < :incarnation::int and r.valid_to is null
      and :opens::boolean and exists (select from moved)
    returning r.incarnation
  ), 
  lost as (
    update ingest.gap g set state = 'lost', updated_at = ingest.clock() from gone
    where g.app_id = :app and g.stream = 'room-events' and g.series = :series and g.incarnation = gone.incarnation
      and g.state = 'open'
    returning 1
  ), 
  neighbours as (
    select e.sequence, e.source, e.incarnation, lead(e.sequence) over log as next_sequence, lead(e.source) over log as next_source,
           row_number() over log as place, bool_or(e.source = 'log') over (partition by e.incarnation) as logged
    from gone join classroom.room_event e on e.app_id = :app and e.room_uuid = :series and e.incarnation = gone.incarnation
    window log as (partition by e.incarnation order by e.sequence)
  ), missing as (
    select m.* from (
      select n.incarnation, n.sequence + 1 as first, n.next_sequence - 1 as last from neighbours n
      where n.next_sequence > n.sequence + 1 and 'feed' in (n.source, n.next_source)
      union all
      select n.incarnation, 1, n.sequence - 1 from neighbours n
      where n.place = 1 and n.sequence > 1 and not n.logged
    ) m
    where not exists (
      select from ingest.gap g
      where g.app_id = :app and g.stream = 'room-events' and g.series = :series and g.incarnation = m.incarnation
        and g.sequence_from <= m.last and g.sequence_to >= m.first and g.state in ('open', 'lost'))
  ), 
  unread_stream as (
    select g.incarnation, p.stream, coalesce(p.caught_up_at, r.started_at, r.valid_from, r.first_seen_at) as since, r.ended_at
    from gone g
    join classroom.room r on r.app_id = :app and r.room_uuid = :series and r.incarnation = g.incarnation
    join ingest.progress p on p.app_id = :app and p.series = :series and p.stream = any (:room_streams::text[])
    join ingest.progress log on log.app_id = :app and log.stream = 'room-events' and log.series = :series
    left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
    where not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false)
      and not coalesce(p.caught_up_at > greatest(
        coalesce(r.ended_by, r.ended_at, r.last_event_at, r.first_seen_at),
        case when r.started_at is not null and r.ended_at is null
                  and (log.caught_up_at > ingest.clock() - :memory::interval) is not true
          then ingest.clock() - :memory::interval end), false)
  ), recorded as (
    insert into ingest.gap as g (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from, range_to, reason,
                                 state, first_seen_at, updated_at)
    select :app, 'room-events', :series, m.incarnation, 'sequence', m.first, m.last, null, null, 'room_reused', 'lost',
           ingest.clock(), ingest.clock()
    from missing m where :dense::boolean
    union all
    select :app, u.stream, :series, u.incarnation, 'time', null, null, u.since,
           case when u.ended_at > u.since then u.ended_at else ingest.clock() end, 'room_reused', 'lost', ingest.clock(), ingest.clock()
    from unread_stream u
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set range_to = excluded.range_to, state = 'lost', updated_at = ingest.clock() where g.unit = 'time' and g.state <> 'lost'
    returning 1
  ), restarted as (
    update ingest.progress p
    set version = p.version + 1, cursor = null, stream_state = jsonb_build_object('incarnation', :incarnation::int),
        caught_up_at = null, closed_at = null
    where p.app_id = :app and p.series = :series and p.stream = any (:room_streams::text[]) and p.stream <> :stream
      and :opens::boolean and exists (select from moved)
    returning 1
  ), told_apart as (
    update ingest.divergence d set resolved_at = ingest.clock()
    where d.app_id = :app and d.series = :series and d.resolved_at is null
      and d.stream = any (:room_streams::text[]) and d.stream <> :stream and d.seen_at > ingest.clock() - :memory::interval
      and :opens::boolean and exists (select from moved)
  ),
  stored_room_state_change as (
    insert into classroom.room_state_change as t (app_id, incarnation, room_uuid, sequence, at, extra, state, started_at)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.at, d.extra, d.state, d.started_at
    from json_to_recordset(:rows_room_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, started_at timestamptz) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) do update set at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        extra = excluded.extra,
        state = excluded.state,
        started_at = excluded.started_at
      where (t.at, t.extra, t.state, t.started_at) is distinct from (
        case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        excluded.extra,
        excluded.state,
        excluded.started_at)
    returning (xmax = 0) as fresh
  ),
  stored_chat_message as (
    insert into classroom.chat_message as t (app_id, incarnation, room_uuid, sequence, at, extra, user_uuid, user_name, role, message, type)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.at, d.extra, d.user_uuid, d.user_name, d.role, d.message, d.type
    from json_to_recordset(:rows_chat_message::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, user_uuid text, user_name text, role text, message text, type int) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) do update set at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        extra = excluded.extra,
        user_uuid = excluded.user_uuid,
        user_name = excluded.user_name,
        role = excluded.role,
        message = excluded.message,
        type = excluded.type
      where (t.at, t.extra, t.user_uuid, t.user_name, t.role, t.message, t.type) is distinct from (
        case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        excluded.extra,
        excluded.user_uuid,
        excluded.user_name,
        excluded.role,
        excluded.message,
        excluded.type)
    returning (xmax = 0) as fresh
  ),
  stored_attendance as (
    insert into classroom.attendance as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, user_uuid, user_name, role, stream_uuid, action, total)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.user_uuid, d.user_name, d.role, d.stream_uuid, d.action, d.total
    from json_to_recordset(:rows_attendance::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, user_name text, role text, stream_uuid text, action text, total int) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do update set at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        extra = excluded.extra,
        user_uuid = excluded.user_uuid,
        user_name = excluded.user_name,
        role = excluded.role,
        stream_uuid = excluded.stream_uuid,
        action = excluded.action,
        total = excluded.total
      where (t.at, t.extra, t.user_uuid, t.user_name, t.role, t.stream_uuid, t.action, t.total) is distinct from (
        case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        excluded.extra,
        excluded.user_uuid,
        excluded.user_name,
        excluded.role,
        excluded.stream_uuid,
        excluded.action,
        excluded.total)
    returning (xmax = 0) as fresh
  ),
  stored_recording_state_change as (
    insert into classroom.recording_state_change as t (app_id, incarnation, room_uuid, sequence, at, extra, state, record_id, sid, resource_id, started_at)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.at, d.extra, d.state, d.record_id, d.sid, d.resource_id, d.started_at
    from json_to_recordset(:rows_recording_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, record_id text, sid text, resource_id text, started_at timestamptz) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) do update set at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        extra = coalesce(excluded.extra, t.extra),
        state = coalesce(excluded.state, t.state),
        record_id = coalesce(excluded.record_id, t.record_id),
        sid = coalesce(excluded.sid, t.sid),
        resource_id = coalesce(excluded.resource_id, t.resource_id),
        started_at = coalesce(excluded.started_at, t.started_at)
      where (t.at, t.extra, t.state, t.record_id, t.sid, t.resource_id, t.started_at) is distinct from (
        case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        coalesce(excluded.extra, t.extra),
        coalesce(excluded.state, t.state),
        coalesce(excluded.record_id, t.record_id),
        coalesce(excluded.sid, t.sid),
        coalesce(excluded.resource_id, t.resource_id),
        coalesce(excluded.started_at, t.started_at))
    returning (xmax = 0) as fresh
  ),
  stored_reward as (
    insert into classroom.reward as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, user_uuid, changed_reward, total)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.user_uuid, d.changed_reward, d.total
    from json_to_recordset(:rows_reward::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, changed_reward double precision, total double precision) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do update set at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        extra = excluded.extra,
        user_uuid = excluded.user_uuid,
        changed_reward = excluded.changed_reward,
        total = excluded.total
      where (t.at, t.extra, t.user_uuid, t.changed_reward, t.total) is distinct from (
        case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        excluded.extra,
        excluded.user_uuid,
        excluded.changed_reward,
        excluded.total)
    returning (xmax = 0) as fresh
  ),
  stored_resource_change as (
    insert into classroom.resource_change as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, resource_uuid, action, resource_name, ext, size, url, task_uuid, task_progress, operator_uuid, operator_name, operator_role)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.resource_uuid, d.action, d.resource_name, d.ext, d.size, d.url, d.task_uuid, d.task_progress, d.operator_uuid, d.operator_name, d.operator_role
    from json_to_recordset(:rows_resource_change::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, resource_uuid text, action text, resource_name text, ext text, size double precision, url text, task_uuid text, task_progress jsonb, operator_uuid text, operator_name text, operator_role text) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do update set at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        extra = excluded.extra,
        resource_uuid = excluded.resource_uuid,
        action = excluded.action,
        resource_name = excluded.resource_name,
        ext = excluded.ext,
        size = excluded.size,
        url = excluded.url,
        task_uuid = excluded.task_uuid,
        task_progress = excluded.task_progress,
        operator_uuid = excluded.operator_uuid,
        operator_name = excluded.operator_name,
        operator_role = excluded.operator_role
      where (t.at, t.extra, t.resource_uuid, t.action, t.resource_name, t.ext, t.size, t.url, t.task_uuid, t.task_progress, t.operator_uuid, t.operator_name, t.operator_role) is distinct from (
        case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        excluded.extra,
        excluded.resource_uuid,
        excluded.action,
        excluded.resource_name,
        excluded.ext,
        excluded.size,
        excluded.url,
        excluded.task_uuid,
        excluded.task_progress,
        excluded.operator_uuid,
        excluded.operator_name,
        excluded.operator_role)
    returning (xmax = 0) as fresh
  ),
  stored_stage_change as (
    insert into classroom.stage_change as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, user_uuid, action, is_listed)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.user_uuid, d.action, d.is_listed
    from json_to_recordset(:rows_stage_change::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, action text, is_listed boolean) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do update set at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        extra = excluded.extra,
        user_uuid = excluded.user_uuid,
        action = excluded.action,
        is_listed = excluded.is_listed
      where (t.at, t.extra, t.user_uuid, t.action, t.is_listed) is distinct from (
        case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        excluded.extra,
        excluded.user_uuid,
        excluded.action,
        excluded.is_listed)
    returning (xmax = 0) as fresh
  ),
  stored_hand_wave as (
    insert into classroom.hand_wave as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, user_uuid, action, is_listed, payload)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.user_uuid, d.action, d.is_listed, d.payload
    from json_to_recordset(:rows_hand_wave::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, action text, is_listed boolean, payload jsonb) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do update set at = case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        extra = excluded.extra,
        user_uuid = excluded.user_uuid,
        action = excluded.action,
        is_listed = excluded.is_listed,
        payload = excluded.payload
      where (t.at, t.extra, t.user_uuid, t.action, t.is_listed, t.payload) is distinct from (
        case when t.sequence = any (array(select x.sequence from replaced x where x.other)) then excluded.at else t.at end,
        excluded.extra,
        excluded.user_uuid,
        excluded.action,
        excluded.is_listed,
        excluded.payload)
    returning (xmax = 0) as fresh
  ),
  settled as (
    update ingest.debit d
    set settled_at = greatest(d.sent_at, ingest.settle_time(b, ingest.clock(),
          to_timestamp(:time_floor::double precision / 1000), to_timestamp(:time_ceiling::double precision / 1000))),
        outcome = 'committed', told_all = :told_all::boolean
    from ingest.budget b
    where d.scope = :debit_scope and d.limit_group = :debit_group and d.n = :debit_n::bigint
      and b.scope = d.scope and b.limit_group = d.limit_group and exists (select from moved)
    returning 1
  ) 
  select (select version from moved)::int as version, exists (select from fence) as owned,
         json_build_object('classroom.room', (select count(*) from stored_room where fresh), 'classroom.room_event', (select count(*) from stored_room_event where fresh), 'classroom.room_state_change', (select count(*) from stored_room_state_change where fresh), 'classroom.chat_message', (select count(*) from stored_chat_message where fresh), 'classroom.attendance', (select count(*) from stored_attendance where fresh), 'classroom.recording_state_change', (select count(*) from stored_recording_state_change where fresh), 'classroom.reward', (select count(*) from stored_reward where fresh), 'classroom.resource_change', (select count(*) from stored_resource_change where fresh), 'classroom.stage_change', (select count(*) from stored_stage_change where fresh), 'classroom.hand_wave', (select count(*) from stored_hand_wave where fresh)) as stored,
         (select coalesce(json_object_agg(r.reason, r.letters), '{}') from
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside, (select count(*) from diverged)::int as diverged, true as verified, ingest.not_overtaken((select count(distinct (room_uuid, sequence)) from judged where fresh and stored_source is null), (select count(*) from stored_room_event where fresh)) as current;

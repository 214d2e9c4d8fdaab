-- Made by npm run generate; edit the code instead. Commits a page of app-events.

-- commit_app_events
with 
  fence as materialized (
    select pg_advisory_xact_lock(hashtextextended('penstock rooms of ' || :app, 0)), ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
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
    select i.room_uuid, coalesce(r.incarnation, 1) as incarnation,
           r.incarnation is null or r.verified_at > ingest.clock() - :memory::interval as trusted,
           r.valid_from as begun,
           case when r.state in (2, 3) then (
             select f.sequence from classroom.room_event f
             where f.app_id = :app and f.room_uuid = i.room_uuid and f.incarnation = r.incarnation and f.source = 'log'
             order by f.sequence desc limit 1) end as logged,
           case when r.state in (2, 3) then (
             select f.sequence from classroom.room_event f
             where f.app_id = :app and f.room_uuid = i.room_uuid and f.incarnation = r.incarnation
             order by f.sequence desc limit 1) end as last
    from (select distinct e.room_uuid from event e) i
    left join lateral (
      select r.incarnation, r.verified_at, r.valid_from, r.state from classroom.room r
      where r.app_id = :app and r.room_uuid = i.room_uuid order by r.incarnation desc limit 1
    ) r on true
  ),
  judged as materialized (
    select e.*, p.incarnation, s.source as stored_source, s.cmd as stored_cmd,
           s.event_time as stored_time, s.data as stored_data, s.at as stored_at,
           case when s.source is null then not ((p.trusted and (p.incarnation = 1 or case
      when e.at_source = 'event' then coalesce(e.event_time >= p.begun, false)
      else not exists (
        select from classroom.room_event f
        where f.app_id = :app and f.room_uuid = e.room_uuid
          and f.incarnation = any (array(select generate_series(greatest(1, p.incarnation - 8), p.incarnation - 1)))
          and f.sequence = e.sequence and f.cmd = e.cmd and f.data = e.data) end)) and e.sequence > coalesce(p.logged, -1)
      and (p.logged is null or e.sequence <= p.last + count(*) over (partition by e.room_uuid))
      and not coalesce(bool_or(s.cmd <> e.cmd or s.event_time is distinct from e.event_time or s.source = 'log' and s.data is distinct from e.data and e.event_time is null)
                         filter (where s.source is not null) over (partition by e.room_uuid), false))
                when s.cmd <> e.cmd or s.event_time is distinct from e.event_time then true
                when s.source = 'log' and s.data is distinct from e.data and e.event_time is null then true
                else not (p.trusted and (p.incarnation = 1 or case
      when e.at_source = 'event' then coalesce(e.event_time >= p.begun, false)
      else not exists (
        select from classroom.room_event f
        where f.app_id = :app and f.room_uuid = e.room_uuid
          and f.incarnation = any (array(select generate_series(greatest(1, p.incarnation - 8), p.incarnation - 1)))
          and f.sequence = e.sequence and f.cmd = e.cmd and f.data = e.data) end)) and e.event_time is null end as contradicts,
           ((p.trusted and (p.incarnation = 1 or case
      when e.at_source = 'event' then coalesce(e.event_time >= p.begun, false)
      else not exists (
        select from classroom.room_event f
        where f.app_id = :app and f.room_uuid = e.room_uuid
          and f.incarnation = any (array(select generate_series(greatest(1, p.incarnation - 8), p.incarnation - 1)))
          and f.sequence = e.sequence and f.cmd = e.cmd and f.data = e.data) end)) and e.sequence > coalesce(p.logged, -1)
      and (p.logged is null or e.sequence <= p.last + count(*) over (partition by e.room_uuid))
      and not coalesce(bool_or(s.cmd <> e.cmd or s.event_time is distinct from e.event_time or s.source = 'log' and s.data is distinct from e.data and e.event_time is null)
                         filter (where s.source is not null) over (partition by e.room_uuid), false)) and s.source is null as fresh
    from event e
    join place p using (room_uuid)
    -- "offset 0" keeps all four columns an index condition of one look-up an event, whatever the statistics say.
    left join lateral (
      select s.source, s.cmd, s.event_time, s.data, s.at from classroom.room_event s
      where s.app_id = :app and s.room_uuid = e.room_uuid and s.incarnation = p.incarnation and s.sequence = e.sequence
      offset 0
    ) s on true
  ),
  state_change as materialized (
    select room_uuid, sequence, coalesce(d.state, c.state) as state,
           coalesce(d.started_at, case when not sequence = any ('{}'::bigint[]) then c.started_at end) as started_at,
           case when c.at is null or sequence = any ('{}'::bigint[]) then d.at else c.at end as at, c.at is null as fresh
    from (
      select c.* from place p
      cross join lateral (
        select c.room_uuid, c.sequence, c.state, c.started_at, c.at from classroom.room_state_change c
        where c.app_id = :app and c.room_uuid = p.room_uuid and c.incarnation = p.incarnation
        offset 0
      ) c
      where exists (select from json_to_recordset(:rows_room_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, started_at timestamptz) where d.room_uuid = p.room_uuid)
    ) c
    full join (
      select d.room_uuid, d.sequence, d.state, d.started_at, d.at
      from json_to_recordset(:rows_room_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, started_at timestamptz)
      join judged j using (room_uuid, sequence) where j.fresh
    ) d using (room_uuid, sequence)
    where d.at is not null or not sequence = any ('{}'::bigint[])
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
  stored_room_event as (
    insert into classroom.room_event as t (app_id, incarnation, source, room_uuid, sequence, at, extra, cmd, version, data, event_time, at_source, received_at)
    select :app, d.incarnation, 'feed', d.room_uuid, d.sequence, d.at, d.extra, d.cmd, d.version, d.data, d.event_time, d.at_source, d.received_at
    from judged d where d.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) do nothing
    returning (xmax = 0) as fresh
  ),
  seen_room as materialized (
    select d.room_uuid, d.state, d.state_sequence, d.started_at, d.ended_at, d.ended_by, d.late_ends, d.first_event_at, d.last_event_at, p.incarnation
    from json_to_recordset(:rows_room::json) as d(room_uuid text, state int, state_sequence bigint, started_at timestamptz, ended_at timestamptz, ended_by timestamptz, last_event_at timestamptz, first_event_at timestamptz, late_ends jsonb)
    join place p using (room_uuid)
    where exists (select from judged j where j.room_uuid = d.room_uuid and j.fresh)
      and not exists (select from judged j where j.room_uuid = d.room_uuid and j.contradicts)
    union all
    select j.room_uuid, s.state, s.state_sequence, s.started_at, null, null, null, j.first_event_at, j.last_event_at, j.incarnation
    from (
      select j.room_uuid, j.incarnation, min(j.at) filter (where j.fresh) as first_event_at,
             max(j.at) filter (where j.fresh) as last_event_at
      from judged j group by j.room_uuid, j.incarnation having bool_or(j.fresh) and bool_or(j.contradicts)
    ) j
    left join lateral (
      select (array_agg(c.state order by c.sequence desc))[1] as state, max(c.sequence) as state_sequence,
             min(coalesce(c.started_at, c.at)) filter (where c.state = 1) as started_at
      from state_change c where c.room_uuid = j.room_uuid and c.fresh
    ) s on true
  ), stored_room as (
    insert into classroom.room as t (app_id, room_uuid, incarnation, region, state, state_sequence, started_at, ended_at, ended_by,
                                     valid_from, last_event_at, first_seen_at, verified_at)
    select :app, s.room_uuid, s.incarnation, :region, s.state, s.state_sequence, s.started_at, s.ended_at,
           case when s.ended_at in (select l.at::timestamptz from jsonb_array_elements_text(s.late_ends) l(at)) then s.ended_by end,
           s.first_event_at, s.last_event_at, ingest.clock(), ingest.clock() - :memory::interval * 0.75
    from seen_room s
    on conflict (app_id, room_uuid, incarnation) do update set
      state = case when excluded.state_sequence >= coalesce(t.state_sequence, -1) then excluded.state else t.state end,
      state_sequence = greatest(t.state_sequence, excluded.state_sequence),
      started_at = least(t.started_at, excluded.started_at),
      ended_at = case
        when excluded.state_sequence is null or t.state_sequence > (select c.sequence from course c where c.room_uuid = t.room_uuid) then t.ended_at
        else (select c.ended_at from course c where c.room_uuid = t.room_uuid) end,
      ended_by = (select case when e.at = t.ended_at then t.ended_by when e.at in (select l.at::timestamptz from jsonb_array_elements_text(s.late_ends) l(at)) then s.ended_by end
                   from (select case
        when excluded.state_sequence is null or t.state_sequence > (select c.sequence from course c where c.room_uuid = t.room_uuid) then t.ended_at
        else (select c.ended_at from course c where c.room_uuid = t.room_uuid) end as at) e cross join seen_room s where s.room_uuid = t.room_uuid),
      valid_from = least(t.valid_from, excluded.valid_from),
      last_event_at = greatest(t.last_event_at, excluded.last_event_at),
      verified_at = t.verified_at
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
      select f.stream, c.room_uuid from course c cross join unnest(:room_streams::text[]) f(stream) where c.begins union select 'room-events', j.room_uuid from judged j where j.fresh or j.contradicts) s(stream, series)
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
  stored_room_state_change as (
    insert into classroom.room_state_change as t (app_id, incarnation, room_uuid, sequence, at, extra, state, started_at)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.at, d.extra, d.state, d.started_at
    from json_to_recordset(:rows_room_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, started_at timestamptz) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) do nothing
    returning (xmax = 0) as fresh
  ),
  stored_chat_message as (
    insert into classroom.chat_message as t (app_id, incarnation, room_uuid, sequence, at, extra, user_uuid, user_name, role, message, type)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.at, d.extra, d.user_uuid, d.user_name, d.role, d.message, d.type
    from json_to_recordset(:rows_chat_message::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, user_uuid text, user_name text, role text, message text, type int) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) do nothing
    returning (xmax = 0) as fresh
  ),
  stored_attendance as (
    insert into classroom.attendance as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, user_uuid, user_name, role, stream_uuid, action, total)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.user_uuid, d.user_name, d.role, d.stream_uuid, d.action, d.total
    from json_to_recordset(:rows_attendance::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, user_name text, role text, stream_uuid text, action text, total int) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do nothing
    returning (xmax = 0) as fresh
  ),
  stored_recording_state_change as (
    insert into classroom.recording_state_change as t (app_id, incarnation, room_uuid, sequence, at, extra, state, record_id, sid, resource_id, started_at)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.at, d.extra, d.state, d.record_id, d.sid, d.resource_id, d.started_at
    from json_to_recordset(:rows_recording_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, record_id text, sid text, resource_id text, started_at timestamptz) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) do nothing
    returning (xmax = 0) as fresh
  ),
  stored_reward as (
    insert into classroom.reward as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, user_uuid, changed_reward, total)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.user_uuid, d.changed_reward, d.total
    from json_to_recordset(:rows_reward::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, changed_reward double precision, total double precision) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do nothing
    returning (xmax = 0) as fresh
  ),
  stored_resource_change as (
    insert into classroom.resource_change as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, resource_uuid, action, resource_name, ext, size, url, task_uuid, task_progress, operator_uuid, operator_name, operator_role)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.resource_uuid, d.action, d.resource_name, d.ext, d.size, d.url, d.task_uuid, d.task_progress, d.operator_uuid, d.operator_name, d.operator_role
    from json_to_recordset(:rows_resource_change::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, resource_uuid text, action text, resource_name text, ext text, size double precision, url text, task_uuid text, task_progress jsonb, operator_uuid text, operator_name text, operator_role text) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do nothing
    returning (xmax = 0) as fresh
  ),
  stored_stage_change as (
    insert into classroom.stage_change as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, user_uuid, action, is_listed)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.user_uuid, d.action, d.is_listed
    from json_to_recordset(:rows_stage_change::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, action text, is_listed boolean) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do nothing
    returning (xmax = 0) as fresh
  ),
  stored_hand_wave as (
    insert into classroom.hand_wave as t (app_id, incarnation, room_uuid, sequence, ordinal, at, extra, user_uuid, action, is_listed, payload)
    select :app, j.incarnation, d.room_uuid, d.sequence, d.ordinal, d.at, d.extra, d.user_uuid, d.action, d.is_listed, d.payload
    from json_to_recordset(:rows_hand_wave::json) as d(room_uuid text, sequence bigint, ordinal int, at timestamptz, extra jsonb, user_uuid text, action text, is_listed boolean, payload jsonb) join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh
    on conflict (app_id, room_uuid, incarnation, sequence, ordinal) do nothing
    returning (xmax = 0) as fresh
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
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside, (select count(*) from diverged)::int as diverged, true as verified, ingest.not_overtaken((select count(distinct (room_uuid, sequence)) from judged where fresh and true), (select count(*) from stored_room_event where fresh)) as current;

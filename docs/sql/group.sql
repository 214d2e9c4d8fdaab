-- Made by npm run generate; edit the code instead. Commits pages of many rooms together, one statement after the other in one transaction; what is new is copied.

-- group_held
with 
  fence as materialized (
    select pg_advisory_xact_lock_shared(hashtextextended('penstock rooms of ' || :app, 0)), ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
    where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share
  )
  select from fence;

-- group_known
select p.n,
    case when p.listed then not exists (
        select from classroom.room r
        where r.app_id = :app and r.room_uuid = p.series and r.incarnation = p.incarnation
          and r.verified_at > ingest.clock() - :memory::interval)
        or exists (
        select from ingest.gap g
        where g.app_id = :app and g.stream = p.stream and g.series = p.series and g.state = 'lost')
      else exists (
        select from ingest.divergence d
        where d.app_id = :app and d.stream = 'app-events' and d.series = p.series and d.resolved_at is null)
      or exists (
        select from ingest.gap g
        where g.app_id = :app and g.stream = p.stream and g.series = p.series
          and (g.state in ('open', 'lost') or g.state = 'absent' and p.whole)) end as extraordinary,
    (select json_agg(json_build_array(e.sequence::text, e.source, extract(epoch from e.at) * 1000))
     from classroom.room_event e
     where e.app_id = :app and e.room_uuid = p.series and e.incarnation = p.incarnation
       and e.sequence between p.first_event and p.last_event) as events,
    (select json_agg(json_build_array(w.position::text, w.content_hash))
     from classroom.widget_event w
     where w.app_id = :app and w.room_uuid = p.series and w.incarnation = p.incarnation
       and w.widget = p.widget and w.position between p.first_item and p.last_item) as items
  from json_to_recordset(:pages::json) as p(n int, stream text, series text, incarnation int, listed boolean, whole boolean,
    first_event bigint, last_event bigint, widget text, first_item bigint, last_item bigint);

-- group_otherwise
select distinct e.room_uuid
  from json_to_recordset(:events::json)
    as e(room_uuid text, incarnation int, sequence bigint, cmd int, event_time timestamptz, data jsonb)
  where (
    select s.cmd = e.cmd and s.event_time is not distinct from e.event_time and s.data is not distinct from e.data
    from classroom.room_event s
    where s.app_id = :app and s.room_uuid = e.room_uuid and s.incarnation = e.incarnation and s.sequence = e.sequence
  ) is not true;

-- group_moved
with
  page as materialized (
    select p.* from json_to_recordset(:pages::json) as p(n int, stream text, series text, incarnation int, listed boolean,
      version int, cursor text, stream_state jsonb, caught_up boolean, age double precision, region text, state int, state_sequence bigint,
      started_at timestamptz, ended_at timestamptz, ended_by timestamptz, late_ends jsonb, last_event_at timestamptz, first_event_at timestamptz,
      heard double precision)
  ),
  stood as materialized (
    select p.*, t.place from page p
    cross join lateral (
      select t.ctid as place from ingest.progress t
      where t.app_id = :app and t.stream = p.stream and t.series = p.series and t.version = p.version
      offset 0
    ) t
  ),
  moved as (
    update ingest.progress t
    set version = t.version + 1, cursor = s.cursor, stream_state = s.stream_state, epoch = :epoch, updated_at = ingest.clock(),
        caught_up_at = case when s.caught_up then ingest.clock() - s.age * interval '1 millisecond' else t.caught_up_at end, closed_at = null, wanted = '{}'
    from stood s
    where t.ctid = s.place and t.version = s.version
    returning s.n, t.version
  ),
  place as materialized (
    select p.series as room_uuid, p.incarnation, p.state_sequence from page p where not p.listed
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
      where p.state_sequence is not null
    ) c
    full join (
      select d.room_uuid, d.sequence, d.state, d.started_at, d.at
      from json_to_recordset(:rows_room_state_change::json) as d(room_uuid text, sequence bigint, at timestamptz, extra jsonb, state int, started_at timestamptz)
      
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
  seen_room as materialized (
    select p.*, p.series as room_uuid from page p where not p.listed
  ), stored_room as (
    insert into classroom.room as t (app_id, room_uuid, incarnation, region, state, state_sequence, started_at, ended_at, ended_by,
                                     valid_from, last_event_at, first_seen_at, verified_at)
    select :app, s.room_uuid, s.incarnation, s.region, s.state, s.state_sequence, s.started_at, s.ended_at,
           case when s.ended_at in (select l.at::timestamptz from jsonb_array_elements_text(s.late_ends) l(at)) then s.ended_by end,
           s.first_event_at, s.last_event_at, ingest.clock(), case when s.caught_up and coalesce(s.state, 0) < 2 then ingest.clock() else ingest.clock() - :memory::interval * 0.75 end
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
      last_event_at = greatest(t.last_event_at, least(excluded.last_event_at, to_timestamp((select s.heard from seen_room s where s.room_uuid = t.room_uuid) / 1000))),
      verified_at = case when (select s.caught_up from seen_room s where s.room_uuid = t.room_uuid) and coalesce(case when excluded.state_sequence >= coalesce(t.state_sequence, -1) then excluded.state else t.state end, 0) < 2 then ingest.clock() else greatest(t.verified_at, ingest.clock() - :memory::interval * 0.75) end, forgotten_at = null, region = excluded.region
    returning t.room_uuid, (xmax = 0) as fresh
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
      select f.stream, c.room_uuid from course c cross join unnest(:room_streams::text[]) f(stream) where c.begins and f.stream <> 'room-events') s(stream, series)
    cross join lateral (
      select o.ctid as place from ingest.progress o
      where o.app_id = :app and o.stream = s.stream and o.series = s.series and o.closed_at is not null
      offset 0
    ) o
    where p.ctid = o.place
    returning 1
  )
  select m.n, m.version::int, coalesce((select r.fresh from stored_room r where r.room_uuid = p.series and not p.listed), false) as is_new
  from moved m join page p using (n);

-- group_confirmed
update classroom.room_event t
  set version = e.version, extra = e.extra, source = 'log'
  from (
    select e.version, e.extra, s.place
    from json_to_recordset(:events::json) as e(room_uuid text, incarnation int, sequence bigint, version int, extra jsonb)
    cross join lateral (
      select s.ctid as place from classroom.room_event s
      where s.app_id = :app and s.room_uuid = e.room_uuid and s.incarnation = e.incarnation and s.sequence = e.sequence
        and s.source = 'feed'
      offset 0
    ) s
  ) e
  where t.ctid = e.place;

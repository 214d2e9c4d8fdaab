-- Made by npm run generate; edit the code instead. Commits a page of poll.

-- commit_poll
with 
  fence as materialized (
    select null, ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
    where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share
  ),
  verified as materialized (
    select 1 from classroom.room r
    where r.app_id = :app and r.room_uuid = :series and r.incarnation = :incarnation::int
      and r.verified_at > ingest.clock() - :memory::interval
  ),
  told_otherwise as materialized (
    select d.position, :incarnation::text || '/' || d.position as key, s.data as kept, d.data as other
    from json_to_recordset(:rows_widget_event::json) as d(room_uuid text, widget text, position bigint, content_hash text, data jsonb, received_at timestamptz)
    -- "offset 0" makes one look-up of each item: a join would read all items of the app.
    cross join lateral (
      select s.data, s.content_hash from classroom.widget_event s
      where s.app_id = :app and s.room_uuid = d.room_uuid and s.incarnation = :incarnation::int
        and s.widget = d.widget and s.position = d.position
      offset 0
    ) s
    where s.content_hash <> d.content_hash and exists (select from fence) and exists (select from verified)
      and exists (select from ingest.progress p
                  where p.app_id = :app and p.stream = :stream and p.series = :series and p.version = :version)
  ),
  doubtful as materialized (
    select from told_otherwise t
    where not exists (
      select from ingest.divergence g
      where g.app_id = :app and g.stream = :stream and g.series = :series and g.key = t.key
        and g.seen_at > ingest.clock() - :memory::interval)
  ),
  log_again as (
    update ingest.progress p set version = p.version + 1
    where p.app_id = :app and p.series = :series and exists (select from doubtful)
      and p.stream = any (array(select unnest(s.needs) from ingest.stream s where s.stream = :stream))
    returning 1
  ),
  -- Whoever commits the log holds its progress first: so does this.
  doubted as (
    update classroom.room r set verified_at = ingest.clock() - :memory::interval
    where r.app_id = :app and r.room_uuid = :series and r.incarnation = :incarnation::int and exists (select from doubtful)
      and (select count(*) from log_again) >= 0
  ),
  moved as (
    update ingest.progress p
    set version = p.version + 1, cursor = :cursor, stream_state = :stream_state::jsonb, epoch = :epoch, updated_at = ingest.clock(),
        caught_up_at = case when :caught_up::boolean then ingest.clock() - :age::double precision * interval '1 millisecond' else p.caught_up_at end, closed_at = null, wanted = '{}'
    where p.app_id = :app and p.stream = :stream and p.series = :series and p.version = :version
      and exists (select from fence) and exists (select from verified) and not exists (select from doubtful)
    returning p.version
  ),
  stored_widget_event as (
    insert into classroom.widget_event as t (app_id, incarnation, room_uuid, widget, position, content_hash, data, received_at)
    select :app, :incarnation::int, d.room_uuid, d.widget, d.position, d.content_hash, d.data, d.received_at
    from json_to_recordset(:rows_widget_event::json) as d(room_uuid text, widget text, position bigint, content_hash text, data jsonb, received_at timestamptz) where exists (select from moved)
    on conflict (app_id, room_uuid, incarnation, widget, position) do nothing
    returning (xmax = 0) as fresh
  ),
  stored_poll as (
    insert into classroom.poll as t (app_id, incarnation, room_uuid, poll_id, mode, items, state, started_at, ended_at, started_by, extra)
    select :app, :incarnation::int, d.room_uuid, d.poll_id, d.mode, d.items, d.state, d.started_at, d.ended_at, d.started_by, d.extra
    from json_to_recordset(:rows_poll::json) as d(room_uuid text, poll_id text, mode int, items jsonb, state text, started_at timestamptz, ended_at timestamptz, started_by text, extra jsonb) where exists (select from moved)
    on conflict (app_id, room_uuid, incarnation, poll_id) do update set mode = coalesce(excluded.mode, t.mode),
        items = coalesce(excluded.items, t.items),
        state = coalesce(excluded.state, t.state),
        started_at = coalesce(excluded.started_at, t.started_at),
        ended_at = coalesce(excluded.ended_at, t.ended_at),
        started_by = coalesce(excluded.started_by, t.started_by),
        extra = coalesce(excluded.extra, t.extra)
      where (t.mode, t.items, t.state, t.started_at, t.ended_at, t.started_by, t.extra) is distinct from (
        coalesce(excluded.mode, t.mode),
        coalesce(excluded.items, t.items),
        coalesce(excluded.state, t.state),
        coalesce(excluded.started_at, t.started_at),
        coalesce(excluded.ended_at, t.ended_at),
        coalesce(excluded.started_by, t.started_by),
        coalesce(excluded.extra, t.extra))
    returning (xmax = 0) as fresh
  ),
  stored_poll_submission as (
    insert into classroom.poll_submission as t (app_id, incarnation, room_uuid, poll_id, user_uuid, ordinal, user_name, select_index, at, extra)
    select :app, :incarnation::int, d.room_uuid, d.poll_id, d.user_uuid, d.ordinal, d.user_name, d.select_index, d.at, d.extra
    from json_to_recordset(:rows_poll_submission::json) as d(room_uuid text, poll_id text, user_uuid text, ordinal bigint, user_name text, select_index int[], at timestamptz, extra jsonb) where exists (select from moved) and not exists (select from told_otherwise t where t.position = d.ordinal)
    on conflict (app_id, room_uuid, incarnation, poll_id, user_uuid, ordinal) do update set user_name = excluded.user_name,
        select_index = excluded.select_index,
        at = coalesce(excluded.at, t.at),
        extra = excluded.extra
      where (t.user_name, t.select_index, t.at, t.extra) is distinct from (
        excluded.user_name,
        excluded.select_index,
        coalesce(excluded.at, t.at),
        excluded.extra)
    returning (xmax = 0) as fresh
  ),
  stored_poll_tally as (
    insert into classroom.poll_tally as t (app_id, incarnation, room_uuid, poll_id, option_index, num, percentage)
    select :app, :incarnation::int, d.room_uuid, d.poll_id, d.option_index, d.num, d.percentage
    from json_to_recordset(:rows_poll_tally::json) as d(room_uuid text, poll_id text, option_index int, num int, percentage double precision) where exists (select from moved)
    on conflict (app_id, room_uuid, incarnation, poll_id, option_index) do update set num = excluded.num,
        percentage = excluded.percentage
      where (t.num, t.percentage) is distinct from (
        excluded.num,
        excluded.percentage)
    returning (xmax = 0) as fresh
  ),
  diverged as (
    insert into ingest.divergence as g (app_id, stream, series, key, kept, other)
    select :app, :stream, :series, t.key, t.kept, t.other from told_otherwise t
    on conflict (app_id, stream, series, key, md5(other::text)) do update set seen_at = ingest.clock()
      where g.seen_at <= ingest.clock() - :memory::interval
    returning (xmax = 0) as fresh
  ),
  regained as (
    update ingest.gap g set state = 'repaired', updated_at = ingest.clock()
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.incarnation = :incarnation::int
      and g.unit = 'time' and g.state = 'lost' and :caught_up::boolean and exists (select from moved)
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
         json_build_object('classroom.widget_event', (select count(*) from stored_widget_event where fresh), 'classroom.poll', (select count(*) from stored_poll where fresh), 'classroom.poll_submission', (select count(*) from stored_poll_submission where fresh), 'classroom.poll_tally', (select count(*) from stored_poll_tally where fresh)) as stored,
         (select coalesce(json_object_agg(r.reason, r.letters), '{}') from
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside, (select count(*) from diverged where fresh)::int as diverged, exists (select from verified) and not exists (select from doubtful) as verified;

-- Made by npm run generate; edit the code instead. Commits a page of recordings.

-- commit_recordings
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
  moved as (
    update ingest.progress p
    set version = p.version + 1, cursor = :cursor, stream_state = :stream_state::jsonb, epoch = :epoch, updated_at = ingest.clock(),
        caught_up_at = case when :caught_up::boolean then ingest.clock() - :age::double precision * interval '1 millisecond' else p.caught_up_at end, closed_at = null, wanted = '{}'
    where p.app_id = :app and p.stream = :stream and p.series = :series and p.version = :version
      and exists (select from fence) and exists (select from verified)
    returning p.version
  ),
  stored_recording as (
    insert into classroom.recording as t (app_id, incarnation, room_uuid, record_id, sid, resource_id, type, status, started_at, ended_at, url, extra)
    select :app, :incarnation::int, d.room_uuid, d.record_id, d.sid, d.resource_id, d.type, d.status, d.started_at, d.ended_at, d.url, d.extra
    from json_to_recordset(:rows_recording::json) as d(room_uuid text, record_id text, sid text, resource_id text, type int, status int, started_at timestamptz, ended_at timestamptz, url text, extra jsonb) where exists (select from moved)
    on conflict (app_id, room_uuid, incarnation, record_id) do update set sid = coalesce(excluded.sid, t.sid),
        resource_id = coalesce(excluded.resource_id, t.resource_id),
        type = coalesce(excluded.type, t.type),
        status = coalesce(excluded.status, t.status),
        started_at = coalesce(excluded.started_at, t.started_at),
        ended_at = coalesce(excluded.ended_at, t.ended_at),
        url = coalesce(excluded.url, t.url),
        extra = coalesce(excluded.extra, t.extra)
      where (t.sid, t.resource_id, t.type, t.status, t.started_at, t.ended_at, t.url, t.extra) is distinct from (
        coalesce(excluded.sid, t.sid),
        coalesce(excluded.resource_id, t.resource_id),
        coalesce(excluded.type, t.type),
        coalesce(excluded.status, t.status),
        coalesce(excluded.started_at, t.started_at),
        coalesce(excluded.ended_at, t.ended_at),
        coalesce(excluded.url, t.url),
        coalesce(excluded.extra, t.extra))
    returning (xmax = 0) as fresh
  ),
  stored_recording_file as (
    insert into classroom.recording_file as t (app_id, incarnation, room_uuid, record_id, ordinal, url, removed_at, extra)
    select :app, :incarnation::int, d.room_uuid, d.record_id, d.ordinal, d.url, d.removed_at, d.extra
    from json_to_recordset(:rows_recording_file::json) as d(room_uuid text, record_id text, ordinal int, url text, removed_at timestamptz, extra jsonb) where exists (select from moved)
    on conflict (app_id, room_uuid, incarnation, record_id, ordinal) do update set url = excluded.url,
        removed_at = excluded.removed_at,
        extra = coalesce(excluded.extra, t.extra)
      where (t.url, t.removed_at, t.extra) is distinct from (
        excluded.url,
        excluded.removed_at,
        coalesce(excluded.extra, t.extra))
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
         json_build_object('classroom.recording', (select count(*) from stored_recording where fresh), 'classroom.recording_file', (select count(*) from stored_recording_file where fresh)) as stored,
         (select coalesce(json_object_agg(r.reason, r.letters), '{}') from
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside, 0 as diverged, exists (select from verified) as verified;

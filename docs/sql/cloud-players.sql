-- Made by npm run generate; edit the code instead. Commits a page of cloud-players.

-- commit_cloud_players
with 
  fence as materialized (
    select null, ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
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
  stored_cloud_player as (
    insert into players.cloud_player as t (app_id, region, first_seen_at, player_id, name, uid, account, channel_name, stream_url, status, created_at, last_seen_at, destroyed_at, extra)
    select :app, (
  select i.region from ingest.intent i where i.app_id = :app and i.player_id = d.player_id
  order by i.updated_at desc limit 1), coalesce(d.last_seen_at, ingest.clock()), d.player_id, d.name, d.uid, d.account, d.channel_name, d.stream_url, d.status, d.created_at, d.last_seen_at, d.destroyed_at, d.extra
    from json_to_recordset(:rows_cloud_player::json) as d(player_id text, name text, uid text, account text, channel_name text, stream_url text, status text, created_at timestamptz, last_seen_at timestamptz, destroyed_at timestamptz, extra jsonb) where exists (select from moved)
    on conflict (app_id, player_id) do update set name = coalesce(excluded.name, t.name),
        uid = coalesce(excluded.uid, t.uid),
        account = coalesce(excluded.account, t.account),
        channel_name = coalesce(excluded.channel_name, t.channel_name),
        stream_url = coalesce(excluded.stream_url, t.stream_url),
        status = case when t.destroyed_at is not null and excluded.destroyed_at is null then excluded.status else coalesce(excluded.status, t.status) end,
        created_at = coalesce(excluded.created_at, t.created_at),
        last_seen_at = coalesce(excluded.last_seen_at, t.last_seen_at),
        destroyed_at = excluded.destroyed_at,
        extra = coalesce(excluded.extra, t.extra)
      where (t.name, t.uid, t.account, t.channel_name, t.stream_url, t.status, t.created_at, t.last_seen_at, t.destroyed_at, t.extra) is distinct from (
        coalesce(excluded.name, t.name),
        coalesce(excluded.uid, t.uid),
        coalesce(excluded.account, t.account),
        coalesce(excluded.channel_name, t.channel_name),
        coalesce(excluded.stream_url, t.stream_url),
        case when t.destroyed_at is not null and excluded.destroyed_at is null then excluded.status else coalesce(excluded.status, t.status) end,
        coalesce(excluded.created_at, t.created_at),
        coalesce(excluded.last_seen_at, t.last_seen_at),
        excluded.destroyed_at,
        coalesce(excluded.extra, t.extra))
    returning (xmax = 0) as fresh
  ),
  stored_cloud_player_change as (
    insert into players.cloud_player_change as t (app_id, player_id, changed_at, from_status, to_status, source)
    select :app, d.player_id, d.changed_at, coalesce(d.from_status, p.status), d.to_status, d.source
    from json_to_recordset(:rows_cloud_player_change::json) as d(player_id text, changed_at timestamptz, from_status text, to_status text, source text)
    left join players.cloud_player p on p.app_id = :app and p.player_id = d.player_id
    where exists (select from moved) and d.to_status is distinct from p.status
    on conflict (app_id, player_id, changed_at) do update set to_status = excluded.to_status
      where t.to_status <> excluded.to_status
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
         json_build_object('players.cloud_player', (select count(*) from stored_cloud_player where fresh), 'players.cloud_player_change', (select count(*) from stored_cloud_player_change where fresh)) as stored,
         (select coalesce(json_object_agg(r.reason, r.letters), '{}') from
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside, 0 as diverged, true as verified;

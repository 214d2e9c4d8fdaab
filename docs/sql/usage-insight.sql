-- Made by npm run generate; edit the code instead. Commits a page of usage-insight.

-- commit_usage_insight
with 
  fence as materialized (
    select null, ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
    where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share
  ),
  page as materialized (
    select 
      (select coalesce(range_agg(tstzrange(to_timestamp(r."from"), to_timestamp(r."to"))), '{}')
       from json_to_recordset(:covers::json) as r("from" double precision, "to" double precision)) as covers, 
      (select coalesce(range_agg(tstzrange(to_timestamp(r."from"), to_timestamp(r."to"))), '{}')
       from json_to_recordset(:sees::json) as r("from" double precision, "to" double precision)) as sees, 
      (select coalesce(range_agg(tstzrange(to_timestamp(r."from"), to_timestamp(r."to"))), '{}')
       from json_to_recordset(:loses::json) as r("from" double precision, "to" double precision)) as loses,
           
      (select coalesce(range_agg(tstzrange(to_timestamp(r."from"), to_timestamp(r."to"))), '{}')
       from json_to_recordset(:misses::json) as r("from" double precision, "to" double precision)) as misses
  ),
  moved as (
    update ingest.progress p
    set version = p.version + 1, epoch = :epoch, updated_at = ingest.clock(),
        covered = p.covered + g.covers, seen = p.seen + g.sees, lost = p.lost - g.covers + g.loses,
        wanted = p.wanted - g.sees, missing = p.missing - g.sees + g.misses - p.covered - g.covers,
        caught_up_at = case when isempty(g.covers) then p.caught_up_at else ingest.clock() end
    from page g
    where p.app_id = :app and p.stream = :stream and p.series = :series and p.version = :version
      and p.backlog_from is not null and exists (select from fence)
    returning p.version, p.covered
  ),
  stored_usage_insight as (
    insert into analytics.usage_insight as t (app_id, metric, granularity, at, value, extra, fetched_at)
    select :app, d.metric, d.granularity, d.at, d.value, d.extra, d.fetched_at
    from json_to_recordset(:rows_usage_insight::json) as d(metric text, granularity text, at timestamptz, value double precision, extra jsonb, fetched_at timestamptz) where exists (select from moved)
    on conflict (app_id, metric, granularity, at) do update set value = excluded.value, extra = excluded.extra, fetched_at = excluded.fetched_at,
        revision = t.revision + case when excluded.value is distinct from t.value then 1 else 0 end
      where excluded.fetched_at > t.fetched_at or t.fetched_at > ingest.clock() + interval '5 minutes'
        or excluded.fetched_at = t.fetched_at and excluded.value is distinct from t.value
    returning (xmax = 0) as fresh
  ),
  lost as (
    insert into ingest.gap as g (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
    select :app, :stream, :series, 'time', to_timestamp(l."from"), to_timestamp(l."to"), l.reason, 'lost',
           ingest.clock(), ingest.clock()
    from json_to_recordset(:loses::json) as l("from" double precision, "to" double precision, reason text)
    where exists (select from moved)
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set range_to = greatest(g.range_to, excluded.range_to), reason = excluded.reason, state = 'lost',
          updated_at = ingest.clock()
    returning 1
  ),
  healed as (
    select g.id, tstzmultirange(tstzrange(g.range_from, g.range_to)) - m.covered as rest
    from moved m, page, ingest.gap g
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.unit = 'time' and g.state in ('lost', 'absent')
      and tstzrange(g.range_from, g.range_to) && page.covers
      and (g.stands_for is null or m.covered @> tstzrange(g.range_from, g.range_to))
  ), repaired as (
    update ingest.gap g
    set state = case when lower(h.rest) = g.range_from then g.state else 'repaired' end,
        range_to = case when isempty(h.rest) then g.range_to
                        when lower(h.rest) > g.range_from then lower(h.rest)
                        else (select min(upper(piece)) from unnest(h.rest) piece) end,
        updated_at = case when lower(h.rest) = g.range_from then g.updated_at else ingest.clock() end
    from healed h where g.id = h.id
    returning 1
  ), rest as (
    insert into ingest.gap as g (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
    select o.app_id, o.stream, o.series, o.unit, lower(piece), upper(piece), o.reason, o.state, o.first_seen_at, o.updated_at
    from healed h join ingest.gap o using (id), unnest(h.rest) piece
    where lower(piece) > o.range_from
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set range_to = excluded.range_to, reason = excluded.reason, state = excluded.state, updated_at = excluded.updated_at
    returning 1
  ),
  worked as (
    insert into ingest.work_item as w (app_id, stream, item, part, range_from, range_to, ask, left_out, state, origin, falls_back_to,
                                       created_at, updated_at)
    select distinct on (r.stream, r.item, r.part) :app, r.stream, r.item, r.part,
           to_timestamp(r.first), to_timestamp(r.last), r.ask, r.left_out, case when r.left_out then 'done' else 'pending' end,
           'live', null, ingest.clock(), ingest.clock()
    from json_to_recordset(:work::json)
      as r(stream text, item text, part text, first double precision, last double precision, ask jsonb, left_out boolean)
    where exists (select from moved)
      -- What had expired before anyone asked for details is nobody's backlog.
      and not exists (select from ingest.progress p where p.app_id = :app and p.stream = r.stream and p.series = ''
                      and p.backlog_from > to_timestamp(r.first))
    order by r.stream, r.item, r.part, r.last desc
    on conflict (app_id, stream, item, part) do update
      set range_from = excluded.range_from, range_to = excluded.range_to, ask = excluded.ask, page = 1,
          left_out = (excluded.left_out and w.left_out and w.state = 'done'), state = case when (excluded.left_out and w.left_out and w.state = 'done') then 'done' else 'pending' end,
          stream_state = null, version = w.version + 1, failures = 0, not_before = null, falls_back_to = null,
          updated_at = ingest.clock()
      where excluded.ask is distinct from w.ask or w.left_out and not excluded.left_out
        -- Of a call whose end nobody tells the range ends when it was listed: a later listing asks for nothing more.
        or (excluded.range_to > w.range_to and excluded.ask->>'end' is distinct from 'unknown')
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
         json_build_object('analytics.usage_insight', (select count(*) from stored_usage_insight where fresh)) as stored,
         (select coalesce(json_object_agg(r.reason, r.letters), '{}') from
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside, 0 as diverged, true as verified;

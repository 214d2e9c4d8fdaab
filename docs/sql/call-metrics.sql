-- Made by npm run generate; edit the code instead. Commits a page of call-metrics.

-- commit_call_metrics
with 
  fence as materialized (
    select null, ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
    where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share
  ),
  moved as (
    update ingest.work_item w
    set version = w.version + 1, set_aside = (case when w.page > 1 then w.set_aside else 0 end + :set_aside::int), refused_as = null, updated_at = ingest.clock(),
        state = case when :next_page::int is null and (case when w.page > 1 then w.set_aside else 0 end + :set_aside::int) = 0 then 'done' else 'pending' end,
        left_out = w.left_out and (:next_page::int is not null or (case when w.page > 1 then w.set_aside else 0 end + :set_aside::int) > 0),
        falls_back_to = case when :next_page::int is not null or (case when w.page > 1 then w.set_aside else 0 end + :set_aside::int) > 0 then w.falls_back_to end,
        page = coalesce(:next_page::int, case when (case when w.page > 1 then w.set_aside else 0 end + :set_aside::int) > 0 then 1 else w.page end),
        stream_state = case when :next_page::int is not null then :stream_state::jsonb end,
        failures = case when :next_page::int is not null then w.failures when (case when w.page > 1 then w.set_aside else 0 end + :set_aside::int) > 0 then w.failures + 1 else 0 end,
        not_before = case when :next_page::int is null and (case when w.page > 1 then w.set_aside else 0 end + :set_aside::int) > 0 then ingest.clock() + :again::interval end
    where w.app_id = :app and w.stream = :stream and w.item = :series and w.part = :part and w.version = :version
      and w.state = 'pending' and exists (select from fence)
    returning w.version, w.range_from, w.state
  ),
  sample as materialized (
    select :app::text as app_id, d.call_id, d.sid, d.mid, d.peer_uid, to_timestamp(d.day) as at, d.gaps, d.value, d.extra
    from json_to_recordset(:rows_session_series::json)
      as d(call_id text, sid text, mid int, peer_uid text, day double precision, gaps int[], value double precision[], extra jsonb)
    where exists (select from moved)
  ), series as (
    insert into analytics.session_series as t (app_id, call_id, sid, mid, peer_uid, at, gaps, value, extra)
    select app_id, call_id, sid, mid, peer_uid, at, gaps, value, extra from sample
    on conflict (app_id, call_id, sid, mid, peer_uid, at) do update set (gaps, value, extra) = (
        select m.gaps, m.value, m.extra
        from analytics.merged_series(t.gaps, t.value, t.extra, excluded.gaps, excluded.value, excluded.extra) m)
      where (t.gaps, t.value, t.extra) is distinct from (excluded.gaps, excluded.value, excluded.extra)
  ), stored_session_series as (
    select true as fresh
    from sample s
    left join analytics.session_series t using (app_id, call_id, sid, mid, peer_uid, at)
    cross join lateral generate_series(1, case when t.gaps is null then cardinality(s.gaps) else (
      select count(*) from analytics.values_of(s.gaps, s.value, s.extra) n
      where not exists (select from analytics.values_of(t.gaps, t.value, t.extra) o
                        where o.second = n.second and o.value = n.value and o.extra is not distinct from n.extra))::int end)
  ),
  refilled as (
    update analytics.call c set emptied_at = null
    where c.app_id = :app and c.call_id = :series and c.emptied_at is not null and exists (select from moved)
    returning 1
  ),
  repaired as (
    update ingest.gap g set state = 'repaired', updated_at = ingest.clock()
    from moved m
    where m.state = 'done' and g.app_id = :app and g.stream = :stream and g.series = :series and g.unit = 'time'
      and g.state = 'lost' and (m.range_from = g.range_from or m.range_from > g.range_from and m.range_from < g.range_to and g.stands_for is null)
      and not exists (
        select from ingest.work_item w
        where w.app_id = :app and w.stream = :stream and w.item = :series and (w.range_from = g.range_from or w.range_from > g.range_from and w.range_from < g.range_to and g.stands_for is null)
          and (w.state = 'lost' or w.state = 'pending' and w.part <> :part))
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
         json_build_object('analytics.session_series', (select count(*) from stored_session_series where fresh)) as stored,
         (select coalesce(json_object_agg(r.reason, r.letters), '{}') from
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside, 0 as diverged, true as verified;

-- commit_call_metrics_slice
with 
  fence as materialized (
    select null, ingest.hold_forgotten(:app, :forgotten::bigint) from ingest.ownership o
    where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share
  ),
  moved as (
    select w.version from ingest.work_item w
    where w.app_id = :app and w.stream = :stream and w.item = :series and w.part = :part and w.version = :version
      and w.state = 'pending' and exists (select from fence)
  ),
  sample as materialized (
    select :app::text as app_id, d.call_id, d.sid, d.mid, d.peer_uid, to_timestamp(d.day) as at, d.gaps, d.value, d.extra
    from json_to_recordset(:rows_session_series::json)
      as d(call_id text, sid text, mid int, peer_uid text, day double precision, gaps int[], value double precision[], extra jsonb)
    where exists (select from moved)
  ), series as (
    insert into analytics.session_series as t (app_id, call_id, sid, mid, peer_uid, at, gaps, value, extra)
    select app_id, call_id, sid, mid, peer_uid, at, gaps, value, extra from sample
    on conflict (app_id, call_id, sid, mid, peer_uid, at) do update set (gaps, value, extra) = (
        select m.gaps, m.value, m.extra
        from analytics.merged_series(t.gaps, t.value, t.extra, excluded.gaps, excluded.value, excluded.extra) m)
      where (t.gaps, t.value, t.extra) is distinct from (excluded.gaps, excluded.value, excluded.extra)
  ), stored_session_series as (
    select true as fresh
    from sample s
    left join analytics.session_series t using (app_id, call_id, sid, mid, peer_uid, at)
    cross join lateral generate_series(1, case when t.gaps is null then cardinality(s.gaps) else (
      select count(*) from analytics.values_of(s.gaps, s.value, s.extra) n
      where not exists (select from analytics.values_of(t.gaps, t.value, t.extra) o
                        where o.second = n.second and o.value = n.value and o.extra is not distinct from n.extra))::int end)
  ),
  rejected as (select null::text as reason, false as fresh where false) 
  select (select version from moved)::int as version, exists (select from fence) as owned,
         json_build_object('analytics.session_series', (select count(*) from stored_session_series where fresh)) as stored,
         (select coalesce(json_object_agg(r.reason, r.letters), '{}') from
           (select reason, count(*) as letters from rejected where fresh group by reason) r) as set_aside, 0 as diverged, true as verified;

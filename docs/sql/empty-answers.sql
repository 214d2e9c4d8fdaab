-- Made by npm run generate; edit the code instead. Commits answers of feeds, lists and widget logs that told nothing, of all apps and rooms together.

-- commit_empty_answers
with
  page as materialized (
    select p.*, case
             when p.incarnation is null then true
             when not p.verifies then coalesce((
               select r.verified_at > ingest.clock() - :memory::interval from classroom.room r
               where r.app_id = p.app and r.room_uuid = p.series and r.incarnation = p.incarnation), false)
             else exists (
               select from classroom.room r
               where r.app_id = p.app and r.room_uuid = p.series and r.incarnation = p.incarnation
                 and r.region = p.region and r.forgotten_at is null)
               and not exists (
               select from ingest.divergence d
               where d.app_id = p.app and d.stream = 'app-events' and d.series = p.series and d.resolved_at is null)
               and not exists (
               select from ingest.gap g
               where g.app_id = p.app and g.stream = p.stream and g.series = p.series and g.state in ('open', 'lost', 'absent'))
               and pg_try_advisory_xact_lock_shared(hashtextextended('penstock rooms of ' || p.app, 0)) end as verified
    from json_to_recordset(:pages::json) as p(place int, app text, stream text, series text, region text, incarnation int,
      verifies boolean, version bigint, cursor text, stream_state jsonb, shard int, owner text, epoch bigint, debit_scope text,
      debit_group text, debit_n bigint, told_all boolean, age double precision, time_floor double precision, time_ceiling double precision)
  ),
  fence as materialized (
    select o.shard, o.owner, o.epoch from ingest.ownership o
    where exists (select from page p where p.shard = o.shard and p.owner = o.owner and p.epoch = o.epoch) for share
  ),
  stood as materialized (
    select p.*, t.at from page p join fence using (shard, owner, epoch)
    cross join lateral (
      select t.ctid as at from ingest.progress t
      where t.app_id = p.app and t.stream = p.stream and t.series = p.series and t.version = p.version
      offset 0
    ) t
    where p.verified
  ),
  moved as (
    update ingest.progress t
    set version = t.version + 1, cursor = s.cursor, stream_state = s.stream_state, epoch = s.epoch, updated_at = ingest.clock(),
        caught_up_at = case when s.told_all then ingest.clock() - s.age * interval '1 millisecond' else t.caught_up_at end, closed_at = null, wanted = '{}'
    from stood s
    where t.ctid = s.at and t.version = s.version
    returning s.place, t.version
  ),
  alive as (
    update classroom.room t set verified_at = case when s.told_all and coalesce(t.state, 0) < 2 then ingest.clock() else greatest(t.verified_at, ingest.clock() - :memory::interval * 0.75) end
    from moved join stood s using (place)
    cross join lateral (
      select r.ctid as room from classroom.room r
      where r.app_id = s.app and r.room_uuid = s.series and r.incarnation = s.incarnation
      offset 0
    ) r
    where s.verifies and t.ctid = r.room
    returning 1
  ),
  regained as (
    update ingest.gap t set state = 'repaired', updated_at = ingest.clock()
    from moved join stood s using (place)
    cross join lateral (
      select g.ctid as at from ingest.gap g
      where g.app_id = s.app and g.stream = s.stream and g.series = s.series and g.incarnation = s.incarnation
        and g.unit = 'time' and g.state = 'lost'
      offset 0
    ) g
    where t.ctid = g.at
    returning 1
  ),
  settled as (
    update ingest.debit t
    set settled_at = greatest(t.sent_at, d.settled_at), outcome = 'committed', told_all = s.told_all
    from moved join stood s using (place)
    cross join lateral (
      select d.ctid as at, ingest.settle_time(b, ingest.clock(), to_timestamp(s.time_floor / 1000),
                                              to_timestamp(s.time_ceiling / 1000)) as settled_at
      from ingest.debit d, ingest.budget b
      where d.scope = s.debit_scope and d.limit_group = s.debit_group and d.n = s.debit_n
        and b.scope = s.debit_scope and b.limit_group = s.debit_group
      offset 0
    ) d
    where t.ctid = d.at
    returning 1
  )
  select p.place, m.version::int as version, p.verified,
         exists (select from fence f where (f.shard, f.owner, f.epoch) = (p.shard, p.owner, p.epoch)) as owned
  from page p left join moved m using (place);

-- Made by npm run generate; edit the code instead. Commits answers of feeds, lists and widget logs that told nothing, of all apps and rooms together.

-- commit_empty_answers
with
  page as materialized (
    select p.*, p.incarnation is null or coalesce((
             select r.verified_at > ingest.clock() - :memory::interval from classroom.room r
             where r.app_id = p.app and r.room_uuid = p.series and r.incarnation = p.incarnation), false) as verified
    from json_to_recordset(:pages::json) as p(place int, app text, stream text, series text, incarnation int, version bigint,
      cursor text, stream_state jsonb, shard int, owner text, epoch bigint, debit_scope text, debit_group text, debit_n bigint,
      told_all boolean, time_floor double precision, time_ceiling double precision)
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
        caught_up_at = case when s.told_all then ingest.clock() else t.caught_up_at end, closed_at = null, wanted = '{}'
    from stood s
    where t.ctid = s.at and t.version = s.version
    returning s.place, t.version
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

set local role penstock_migrate;

-- Summaries of the BRIN index are made by housekeeping (ingest.summarize): made by the server itself, each is a request
-- to autovacuum, and every one that it has no room for is a line in the server's log.
do $$
declare
  v_index text;
begin
  for v_index in
    select i.indexrelid::regclass::text from pg_index i
    join pg_class c on c.oid = i.indexrelid
    join pg_class t on t.oid = i.indrelid
    where 'autosummarize=on' = any (c.reloptions) and t.relnamespace = 'analytics'::regnamespace
  loop
    begin
      execute format('alter index %s set (autosummarize = off)', v_index);
    exception when wrong_object_type or feature_not_supported then
      -- An index of a partitioned table has no settings that can be changed in every release; ingest.make_partition
      -- changes those that its partitions inherit.
      null;
    end;
  end loop;
end
$$;

-- What lies in a default partition is found by its time; normally nothing does.
create index session_metric_default_at on analytics.session_metric_default (at);
create index usage_realtime_default_at on analytics.usage_realtime_default (at);
create index quality_realtime_default_at on analytics.quality_realtime_default (at);

create function ingest.partition_ranges(p_table text) returns table (name text, range tstzrange)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select c.relname::text, tstzrange((b.ends)[1]::timestamptz, (b.ends)[2]::timestamptz)
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$FROM \('([^']+)'\) TO \('([^']+)'\)$re$) b(ends)
  where i.inhparent = format('analytics.%I', p_table)::regclass and b.ends is not null
$$;
comment on function ingest.partition_ranges is 'The partitions of a table of schema analytics and the time that each holds; without the default one';

-- Also the units that rows of the default one belong to, from a moment of their own on, so that a daemon which was away
-- for long catches up.
drop function ingest.partitions_due;
create function ingest.partitions_due(p_table text, p_from timestamptz, p_to timestamptz, p_rows_from timestamptz)
returns setof timestamptz
language plpgsql stable set timezone = 'UTC' as $$
declare
  v_unit text := ingest.partition_unit(p_table);
begin
  return query execute format($due$
    with recursive filled(at) as (
      select date_trunc(%1$L, min(d.at)) from analytics.%3$I d where d.at >= $3 and d.at < $2
      union all
      select (select date_trunc(%1$L, min(d.at)) from analytics.%3$I d where d.at >= f.at + '1 %2$s'::interval and d.at < $2)
      from filled f where f.at is not null
    ), taken as (
      select range_agg(r.range) as ranges from ingest.partition_ranges(%4$L) r
    )
    select due.at from (
      select s.at from generate_series(date_trunc(%1$L, $1), $2, '1 %2$s'::interval) s(at)
      union
      select f.at from filled f where f.at is not null
    ) due cross join taken t
    where not coalesce(t.ranges @> tstzrange(due.at, due.at + '1 %2$s'::interval), false)
    order by 1 $due$, v_unit, v_unit, p_table || '_default', p_table) using p_from, p_to, p_rows_from;
end
$$;
comment on function ingest.partitions_due is 'Begins of the weeks or months that a table lacks a partition for, in whole or in part';

-- Answers made; part where the rows of the default partition fill more than one such step, and the next one goes on; there;
-- or busy where the table is in use: its rows go to the default partition meanwhile.
-- A row must be seen exactly once at every moment, so the rows of a range move in the same transaction that attaches
-- it, while nobody else can touch the table: one who had only to wait for the default partition would go on without the
-- new one, and without its rows. Whoever reads or commits waits for that, no longer than his lock_timeout. Hence a
-- partition takes as much of its unit as has so many rows and no more; the rest of the unit gets others.
drop function ingest.make_partition;
create function ingest.make_partition(p_table text, p_at timestamptz, p_most int default 20000) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
declare
  v_unit text := ingest.partition_unit(p_table);
  v_default text := p_table || '_default';
  v_begin timestamptz := date_trunc(v_unit, p_at);
  v_range tstzrange;
  v_first timestamptz;
  v_cut timestamptz;
  v_name text;
  v_index text;
begin
  if v_unit is null or p_at not between '1970-01-01' and '9999-12-31' or p_most < 1 then
    raise exception 'there are no such partitions' using errcode = 'invalid_parameter_value';
  end if;
  -- One at a time, and what another one has just made is seen only after the lock.
  execute format('lock table analytics.%I in share update exclusive mode', p_table);
  select free.r into v_range
    from unnest(tstzmultirange(tstzrange(v_begin, v_begin + ('1 ' || v_unit)::interval))
                - coalesce((select range_agg(t.range) from ingest.partition_ranges(p_table) t), '{}'::tstzmultirange)) free(r)
    order by free.r limit 1;
  if v_range is null then
    return 'there';
  end if;
  execute format('select d.at from analytics.%I d where d.at >= $1 and d.at < $2 order by d.at offset $3 limit 1', v_default)
    into v_cut using lower(v_range), upper(v_range), p_most;
  execute format('select min(d.at) from analytics.%I d where d.at >= $1 and d.at < $2', v_default)
    into v_first using lower(v_range), upper(v_range);
  if v_cut = v_first then
    -- More rows at one moment than are moved at once cannot be parted.
    execute format('select min(d.at) from analytics.%I d where d.at > $1 and d.at < $2', v_default)
      into v_cut using v_first, upper(v_range);
  end if;
  v_range := tstzrange(lower(v_range), coalesce(v_cut, upper(v_range)));
  v_name := p_table || to_char(lower(v_range), case when lower(v_range) = v_begin then '_YYYYMMDD' else '_YYYYMMDD_HH24MISSUS' end);

  execute format('lock table only analytics.%I in access exclusive mode', p_table);
  execute format('lock table analytics.%I in access exclusive mode', v_default);
  execute format('create table analytics.%I (like analytics.%I including all)', v_name, p_table);
  for v_index in
    select i.indexrelid::regclass::text from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = format('analytics.%I', v_name)::regclass and 'autosummarize=on' = any (c.reloptions)
  loop
    execute format('alter index %s set (autosummarize = off)', v_index);
  end loop;
  execute format('with moved as (delete from analytics.%I where at >= %L and at < %L returning *) insert into analytics.%I select * from moved',
                 v_default, lower(v_range), upper(v_range), v_name);
  execute format('alter table analytics.%I attach partition analytics.%I for values from (%L) to (%L)',
                 p_table, v_name, lower(v_range), upper(v_range));
  return case when v_cut is null then 'made' else 'part' end;
exception when lock_not_available or deadlock_detected then
  return 'busy';
end
$$;
comment on function ingest.make_partition is 'Makes the next partition that the week or month of a moment lacks, and moves the rows there that it should hold, so many at most';

-- Answers how many partitions went, the oldest first and so many at most. What is left for want of a lock goes the next time.
drop function ingest.drop_partitions;
create function ingest.drop_partitions(p_table text, p_before timestamptz, p_most int default 4) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
declare
  v_child text;
  v_dropped int := 0;
begin
  if ingest.partition_unit(p_table) is null or p_before is null or p_before > ingest.clock() then
    raise exception 'only what is past of a partitioned table can be dropped' using errcode = 'invalid_parameter_value';
  end if;
  execute format('lock table analytics.%I in share update exclusive mode', p_table);
  for v_child in
    select r.name from ingest.partition_ranges(p_table) r where upper(r.range) <= p_before order by r.range limit p_most
  loop
    execute format('alter table analytics.%I detach partition analytics.%I', p_table, v_child);
    execute format('drop table analytics.%I', v_child);
    v_dropped := v_dropped + 1;
  end loop;
  return v_dropped;
exception when lock_not_available or deadlock_detected then
  return 0;
end
$$;
comment on function ingest.drop_partitions is 'Drops partitions of one of the partitioned tables that end before a moment';

-- One partition a call, so that none waits for the others. Walks over what is summarised already, which costs little.
create function ingest.summarize(p_table text, p_partition text) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  v_index regclass;
  v_made int := 0;
begin
  if ingest.partition_unit(p_table) is null then
    raise exception 'there are no such partitions' using errcode = 'invalid_parameter_value';
  end if;
  for v_index in
    select x.indexrelid from pg_inherits i
    join pg_class t on t.oid = i.inhrelid
    join pg_index x on x.indrelid = t.oid
    join pg_class c on c.oid = x.indexrelid
    join pg_am a on a.oid = c.relam
    where i.inhparent = format('analytics.%I', p_table)::regclass and t.relname = p_partition and a.amname = 'brin'
  loop
    v_made := v_made + brin_summarize_new_values(v_index);
  end loop;
  return v_made;
exception when lock_not_available or deadlock_detected then
  return 0;
end
$$;
comment on function ingest.summarize is 'Summarises what a partition has gained in its BRIN index; answers how many ranges of blocks';

revoke execute on function ingest.partition_ranges, ingest.partitions_due, ingest.make_partition, ingest.drop_partitions, ingest.summarize from public;
grant execute on function ingest.partition_ranges, ingest.partitions_due, ingest.make_partition, ingest.drop_partitions, ingest.summarize to penstock_runtime;
reset role;

set local role penstock_migrate;

-- Nobody but the owner of the tables can make and drop tables, and the daemon is not the owner. These functions act
-- as the owner, on these three tables only. A lock that is not had within two seconds is given up: commits queue
-- behind it meanwhile.

create function ingest.partition_unit(p_table text) returns text language plpgsql immutable as $$
begin
  return case p_table
    when 'session_metric' then 'week'
    when 'usage_realtime' then 'month'
    when 'quality_realtime' then 'month'
  end;
end
$$;
comment on function ingest.partition_unit is 'How much time one partition of a table of schema analytics holds; null for a table without partitions';

-- Also the partitions that rows of the default one belong to, so that a daemon which was away for long catches up.
create function ingest.partitions_due(p_table text, p_from timestamptz, p_to timestamptz) returns setof timestamptz
language plpgsql stable set timezone = 'UTC' as $$
declare
  v_unit text := ingest.partition_unit(p_table);
begin
  return query execute format($due$
    select due.at from (
      select s.at from generate_series(date_trunc(%1$L, $1), $2, '1 %2$s'::interval) s(at)
      union
      select date_trunc(%1$L, d.at) from analytics.%3$I d where d.at >= $1 and d.at < $2
    ) due
    where to_regclass('analytics.' || %4$L || to_char(due.at, '_YYYYMMDD')) is null
    order by 1 $due$, v_unit, v_unit, p_table || '_default', p_table) using p_from, p_to;
end
$$;
comment on function ingest.partitions_due is 'Begins of the partitions that a table lacks between two moments';

-- Answers made, there, or busy where the table is in use: its rows go to the default partition meanwhile.
create function ingest.make_partition(p_table text, p_at timestamptz) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
declare
  v_unit text := ingest.partition_unit(p_table);
  v_from timestamptz := date_trunc(v_unit, p_at);
  v_to timestamptz := v_from + ('1 ' || v_unit)::interval;
  v_name text := p_table || to_char(v_from, '_YYYYMMDD');
begin
  if v_unit is null or p_at not between '1970-01-01' and '9999-12-31' then
    raise exception 'there are no such partitions' using errcode = 'invalid_parameter_value';
  end if;
  -- One at a time, and what another one has just made is seen only after the lock.
  execute format('lock table analytics.%I in share update exclusive mode', p_table);
  if to_regclass(format('analytics.%I', v_name)) is not null then
    return 'there';
  end if;
  -- Nobody may add to the default partition what belongs to the new one while its rows move there.
  execute format('lock table analytics.%I in access exclusive mode', p_table || '_default');
  execute format('create table analytics.%I (like analytics.%I including all)', v_name, p_table);
  execute format('with moved as (delete from analytics.%I where at >= %L and at < %L returning *) insert into analytics.%I select * from moved',
                 p_table || '_default', v_from, v_to, v_name);
  execute format('alter table analytics.%I attach partition analytics.%I for values from (%L) to (%L)', p_table, v_name, v_from, v_to);
  return 'made';
exception when lock_not_available or deadlock_detected then
  return 'busy';
end
$$;
comment on function ingest.make_partition is 'Makes the partition of one of the partitioned tables that holds a moment, and moves the rows there that it should hold';

-- Answers how many partitions went. What is left for want of a lock goes the next time.
create function ingest.drop_partitions(p_table text, p_before timestamptz) returns int
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
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = format('analytics.%I', p_table)::regclass
      and (regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$TO \('([^']+)'\)$re$))[1]::timestamptz <= p_before
    order by c.relname
  loop
    execute format('alter table analytics.%I detach partition analytics.%I', p_table, v_child);
    execute format('drop table analytics.%I', v_child);
    v_dropped := v_dropped + 1;
  end loop;
  execute format('delete from analytics.%I where at < %L', p_table || '_default', p_before);
  return v_dropped;
exception when lock_not_available or deadlock_detected then
  return 0;
end
$$;
comment on function ingest.drop_partitions is 'Drops the partitions of one of the partitioned tables that end before a moment, and such rows of its default one';

select ingest.make_partition(t.name, d.at)
from unnest(array['session_metric', 'usage_realtime', 'quality_realtime']) t(name)
cross join lateral ingest.partitions_due(t.name, ingest.clock() - interval '14 days', ingest.clock() + interval '14 days') d(at);

revoke execute on function ingest.partition_unit, ingest.partitions_due, ingest.make_partition, ingest.drop_partitions from public;
grant execute on function ingest.partition_unit, ingest.partitions_due, ingest.make_partition, ingest.drop_partitions to penstock_runtime;
reset role;

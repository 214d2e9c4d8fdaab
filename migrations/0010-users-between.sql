-- Who was in the calls of a year is five million persons to be told apart. Day by day they fit into memory, and asked for by
-- a function the days go to several processes, which Postgres does with no subquery that depends on the row before it.
create function analytics.users_between(p_app text, p_from timestamptz, p_to timestamptz) returns bigint
language sql stable parallel safe cost 100000 as $$
  select count(*) from (
    select distinct unnest(s.persons)
    from analytics.call c join analytics.call_summary s using (app_id, call_id)
    where c.app_id = p_app and c.created_at >= p_from and c.created_at < p_to
  ) persons
$$;
comment on function analytics.users_between is 'How many different users were in the calls of an app that began from one moment until before another, each counted once; of calls that are summed up';

-- The calendar is small, and what is asked for each of its days is not.
alter table ingest.calendar set (parallel_workers = 2);

set local role penstock_migrate;

-- How many values each day should have and has, beside whether it is complete. The view stays as it is and gets two
-- columns more.
do $$
begin
  execute format($view$
    create or replace view ingest.complete_day as
      select d.*, v.expected, v.received
      from (%s) d
      left join lateral (
        select sum(86400 / p.step)::bigint as expected,
               sum((select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)
                    from unnest(p.covered * tstzmultirange(t.range)) r) / p.step)::bigint as received
        from ingest.progress p
        cross join lateral (
          select tstzrange(d.day::timestamp at time zone 'UTC', (d.day + 1)::timestamp at time zone 'UTC') as range
        ) t
        where p.app_id = d.app_id and p.stream = d.stream and p.step is not null and p.closed_at is null
          and p.owed_from <= lower(t.range)
      ) v on true
  $view$, rtrim(pg_get_viewdef('ingest.complete_day'), ';'));
end
$$;
comment on column ingest.complete_day.expected is
  'Values that the provider promises for the day, one for each step of each series; null where it promises no number, as for calls and for single users';
comment on column ingest.complete_day.received is
  'Those of them that are stored and can no longer change; fewer than expected on a complete day there are never: what was not served is absent in ingest.gap and makes no day complete';
comment on column ingest.complete_day.gaps is
  'Rows of the gap ledger that touch the day or its classes, open or lost; 0 and not complete: it is still being read, or not final yet, or fewer values were served than expected, or it is of rooms and app-events have gaps or the end of a class was not seen';

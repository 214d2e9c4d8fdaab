-- A snapshot of the volume that is put back goes on with the server's identifier and its timeline, so that nothing told that
-- debits are missing. Whoever had some of them, or has come by since the snapshot, says so: from then on the same server writes
-- another history, and the budgets count what may have been debited in between.
create function ingest.server_mark() returns text language plpgsql volatile as $$
begin
  return (select c.system_identifier from pg_control_system() c) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
exception when insufficient_privilege or feature_not_supported or undefined_function then
  return null;
end
$$;
comment on function ingest.server_mark is 'The system identifier and the timeline of the server; null where it does not tell';

create or replace function ingest.history_mark() returns text language plpgsql volatile as $$
declare
  v_server text := ingest.server_mark();
begin
  return coalesce((select v_server || '+' || max(split_part(h.mark, '+', 2)::int)
                   from ingest.history h where starts_with(h.mark, v_server || '+')), v_server);
end
$$;
comment on function ingest.history_mark is
  'The history that is written now: the server and its timeline, and how often it was set back on it; null where the server does not tell';
comment on column ingest.history.mark is
  'The system identifier and the timeline of the server; a number after + where an older state of it was put back without a timeline of its own';

create function ingest.begin_history(p_known interval) returns void language sql volatile as $$
  insert into ingest.history (mark, first_seen_at, last_seen_at)
    select split_part(h.mark, '+', 1) || '+' || coalesce(nullif(split_part(h.mark, '+', 2), ''), '0')::int + 1,
           ingest.clock(), ingest.clock()
    from ingest.history h
    where h.mark = ingest.history_mark() and h.first_seen_at <= ingest.clock() - p_known
    on conflict (mark) do nothing
$$;
comment on function ingest.begin_history is
  'Has budgets count what may be missing: something is that was there so long ago, unless a history that began since accounts for it';

revoke execute on function ingest.server_mark from public;
revoke execute on function ingest.begin_history from public;
grant execute on function ingest.server_mark, ingest.begin_history to penstock_runtime;

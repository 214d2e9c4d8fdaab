-- Details that are to be fetched once more are what they were before, where that can no longer be done.
set local role penstock_migrate;

alter table ingest.worklist add column falls_back_to text check (falls_back_to in ('done', 'lost'));
comment on column ingest.worklist.falls_back_to is 'What it was when someone asked for it once more, and is again where it cannot be had any more; null of what is owed by itself';

create or replace function ingest.mark_wanted(p_stream text, p_app text, p_series text, p_from timestamptz, p_to timestamptz) returns int
language plpgsql as $$
declare
  v_from timestamptz := date_trunc('second', p_from);
  v_to timestamptz := least(p_to, date_trunc('second', ingest.clock()));
  v_marked int := 0;
begin
  if p_from is null or p_to is null or p_from >= p_to then
    raise exception 'the range ends before it begins' using errcode = 'invalid_parameter_value';
  end if;
  case ingest.progress_kind(p_stream)
    when 'window' then
      if v_from < v_to then
        update ingest.progress p
          set wanted = p.wanted + tstzmultirange(tstzrange(v_from, v_to)), owed_from = least(p.owed_from, v_from)
          where p.app_id = p_app and p.stream = p_stream and p.owed_from is not null and p.closed_at is null
            and (p_series is null or p.series = p_series);
        get diagnostics v_marked = row_count;
      end if;
    when 'detail' then
      update ingest.worklist w
        set state = 'owed', falls_back_to = w.state, origin = 'backfill', page = 1, carry = null, version = w.version + 1,
            failures = 0, not_before = null, updated_at = ingest.clock()
        from analytics.call c
        where c.app_id = p_app and c.created_at >= v_from and c.created_at < p_to
          and w.app_id = c.app_id and w.stream = p_stream and w.item = c.call_id and w.state in ('done', 'lost')
          and (p_series is null or w.item = p_series);
      get diagnostics v_marked = row_count;
    else
      perform ingest.refuse_stream(p_stream);
  end case;
  return v_marked;
end
$$;
reset role;

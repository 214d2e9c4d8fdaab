-- What comes free of a budget comes as it was spent: in bursts, and not at all for the hours of an outage.
create function ingest.lasting_pace(p_scope text, p_group text, p_window interval, p_requests int)
returns double precision language plpgsql stable as $$
declare
  head ingest.budget;
  v_now timestamptz;
  v_first bigint;
  v_used bigint;
begin
  select * into head from ingest.budget b where b.scope = p_scope and b.limit_group = p_group;
  if not found then
    return null;
  end if;
  v_now := ingest.budget_time(head, ingest.clock(), to_timestamp(0), '9999-12-31Z');
  v_first := ingest.first_debit(p_scope, p_group, v_now - p_window, '-infinity');
  v_used := coalesce(head.last_n + 1 - v_first, 0);
  if v_used <= 0 then
    return null;
  end if;
  return (
    select min((greatest(0, p_requests - v_used) + i.nth)
               / greatest(1, extract(epoch from d.dead_at + p_window - v_now)::double precision * 1000))
    -- Each of the first eight, and of those after them every eighth part more.
    from (
      select distinct least(v_used, case when k <= 8 then k else floor(8 * power(1.12::double precision, k - 8)) end)::bigint as nth
      from generate_series(1, 8 + ceil(greatest(0, ln(v_used / 8.0) / ln(1.12)))::int) k
    ) i
    -- "offset 0" makes one look-up of each.
    cross join lateral (
      select d.dead_at from ingest.debit d
      where d.scope = p_scope and d.limit_group = p_group and d.n = v_first + i.nth - 1
      offset 0
    ) d
  );
end
$$;
comment on function ingest.lasting_pace is 'Requests a ms that can be kept up, of so many in a window, until each of those that count has come free; null when none does';
grant execute on function ingest.lasting_pace to penstock_runtime;

/**
 * Lets a test write analytics.session_metric value by value, though the values lie in series: SQL for whoever owns the
 * schema. Slow, and simple enough to be right.
 */
export const writableSamples = `
  create function analytics.write_sample() returns trigger language plpgsql as $$
  begin
    if tg_op <> 'INSERT' then
      delete from analytics.session_series s
      where (s.app_id, s.call_id, s.sid, s.mid, s.peer_uid, s.at) = (old.app_id, old.call_id, old.sid, old.mid, old.peer_uid, old.day)
        and cardinality(s.value) = 1;
      update analytics.session_series s
      set (gaps, value, extra) = (
        select array_agg(o.second - o.before order by o.second), array_agg(o.value order by o.second),
               jsonb_object_agg(o.second, o.extra) filter (where o.extra is not null)
        from (
          select k.*, coalesce(lag(k.second) over (order by k.second), 0) as before
          from analytics.values_of(s.gaps, s.value, s.extra) k
          where s.at + k.second * interval '1 second' <> old.at
        ) o)
      where (s.app_id, s.call_id, s.sid, s.mid, s.peer_uid, s.at) = (old.app_id, old.call_id, old.sid, old.mid, old.peer_uid, old.day);
    end if;
    if tg_op <> 'DELETE' then
      insert into analytics.session_series as t
      select new.app_id, new.call_id, new.sid, new.mid, new.peer_uid, d.day, array[d.second], array[new.value],
             case when new.extra is not null then jsonb_build_object(d.second, new.extra) end
      from (select b.day, extract(epoch from new.at - b.day)::int as second
            from (select date_trunc('day', new.at, 'UTC') as day) b) d
      on conflict (app_id, call_id, sid, mid, peer_uid, at) do update set (gaps, value, extra) = (
        select m.gaps, m.value, m.extra
        from analytics.merged_series(t.gaps, t.value, t.extra, excluded.gaps, excluded.value, excluded.extra) m);
      return new;
    end if;
    return old;
  end
  $$;
  create trigger write_sample instead of insert or update or delete on analytics.session_metric
    for each row execute function analytics.write_sample()`

set local role penstock_migrate;

-- Every commit holds the row of ingest.ownership that it was fenced by until it ends, and a large page takes long. So
-- that row changes only when the owner changes; what is renewed every few seconds lies beside it.
create table ingest.lease (
  shard int primary key,
  expires_at timestamptz not null
);
comment on table ingest.lease is 'Until when the owners in ingest.ownership own their shards without a renewal; one without a row here is owned by nobody';
comment on column ingest.lease.shard is 'The shard in ingest.ownership';
comment on column ingest.lease.expires_at is 'Renewed every few seconds while the owner lives';
insert into ingest.lease select o.shard, o.expires_at from ingest.ownership o;
alter table ingest.ownership drop column expires_at;
comment on table ingest.ownership is 'Who may write for a shard of apps; every commit and every debit checks the epoch. A row changes only with its owner';

-- Debits one request, or says how long to wait in milliseconds. The head row is locked first and the clock read
-- after it, so that two callers can neither share a slot nor be ordered against their debits. A slot frees one
-- window after the answer (or after the moment the request can no longer arrive), hence no window of the
-- provider's, sliding or calendar, ever holds more than its number.
create or replace function ingest.take(
  p_scope text, p_group text, p_app text, p_operation text, p_purpose text,
  p_shard int, p_owner text, p_epoch bigint,
  p_requests int[], p_windows double precision[], p_reach interval,
  p_floor timestamptz, p_ceiling timestamptz,
  out verdict text, out n bigint, out wait_ms double precision, out now_ms double precision, out ahead_ms double precision
) language plpgsql as $$
declare
  head ingest.budget;
  v_mark text;
  v_clock timestamptz;
  v_now timestamptz;
  v_window interval;
  v_free timestamptz;
  v_until timestamptz := '-infinity';
  v_dead timestamptz;
begin
  perform 1 from ingest.ownership o join ingest.lease l using (shard)
    where o.shard = p_shard and o.owner = p_owner and o.epoch = p_epoch and l.expires_at > ingest.clock()
    for share of o;
  if not found then
    verdict := 'fenced';
    return;
  end if;

  select * into head from ingest.budget b where b.scope = p_scope and b.limit_group = p_group for update;
  if not found then
    insert into ingest.budget (scope, limit_group) values (p_scope, p_group) on conflict do nothing;
    select * into head from ingest.budget b where b.scope = p_scope and b.limit_group = p_group for update;
  end if;
  v_clock := ingest.clock();
  -- What the caller saw pass ends with its question; the wait for the lock comes on top of it.
  v_now := ingest.budget_time(head, v_clock, p_floor,
                              p_ceiling + least(clock_timestamp() - statement_timestamp(), interval '10 s'));
  if head.last_n > 0 and v_now - head.last_sent_at <> v_clock - head.clock_at then
    -- It has jumped. From here on it counts again, also for those who have not seen it jump.
    head.clock_at := v_clock - (v_now - head.last_sent_at);
    update ingest.budget b set clock_at = head.clock_at where b.scope = p_scope and b.limit_group = p_group;
  end if;
  now_ms := extract(epoch from v_now) * 1000;
  ahead_ms := extract(epoch from v_clock - v_now) * 1000;
  v_mark := ingest.history_mark();
  if head.history is distinct from v_mark and v_mark is not null then
    head := ingest.assume_lost(head, v_mark, p_app, p_epoch, v_now, p_requests, p_windows, p_reach);
  end if;

  for i in 1 .. coalesce(array_length(p_requests, 1), 0) loop
    v_window := make_interval(secs => p_windows[i]);
    if p_windows[i] >= 3600 then
      -- Debits are numbered without gaps: one key lookup tells when the oldest of a full window frees its slot.
      select d.dead_at + v_window into v_free from ingest.debit d
        where d.scope = p_scope and d.limit_group = p_group and d.n = head.last_n - p_requests[i] + 1;
    else
      -- An answer that is under way may come at any moment: whoever waits for it asks again after one window.
      select least(least(d.settled_at, d.dead_at), case when d.settled_at is null and d.outcome is null then v_now end)
             + v_window into v_free from ingest.debit d
        where d.scope = p_scope and d.limit_group = p_group and least(d.settled_at, d.dead_at) > v_now - v_window
        order by least(d.settled_at, d.dead_at) desc offset p_requests[i] - 1 limit 1;
    end if;
    if found then
      v_until := greatest(v_until, v_free);
    end if;
  end loop;

  if v_until > v_now then
    verdict := 'wait';
    wait_ms := extract(epoch from v_until - v_now) * 1000;
    return;
  end if;

  -- Also when requests were allowed more time before: the key look-up above relies on the order.
  select d.dead_at into v_dead from ingest.debit d
    where d.scope = p_scope and d.limit_group = p_group and d.n = head.last_n;
  insert into ingest.debit (scope, limit_group, n, app_id, operation, purpose, epoch, sent_at, dead_at)
    values (p_scope, p_group, head.last_n + 1, p_app, p_operation, p_purpose, p_epoch, v_now,
            greatest(v_now + p_reach, v_dead));
  update ingest.budget b set last_n = head.last_n + 1, last_sent_at = v_now, clock_at = v_clock
    where b.scope = p_scope and b.limit_group = p_group;
  verdict := 'granted';
  n := head.last_n + 1;
end
$$;

-- Of the shards that are wanted, takes every one that is free, expired, or whose owner's session is gone, and raises its
-- epoch; renews those that are ours; answers all that are ours now. A live owner keeps a session-level advisory lock on
-- the hash of its name, which the database drops the moment the process dies.
-- A shard that a commit of its former owner still holds is left for the next claim: to wait for it here would keep
-- everybody from renewing.
drop function ingest.claim;
create function ingest.claim(p_owner text, p_wanted int[], p_ttl interval)
returns table (shard int, epoch bigint) language plpgsql as $$
#variable_conflict use_column
declare
  v_dead text[];
begin
  perform pg_advisory_xact_lock(hashtext('penstock.claim'));
  -- Every owner comes by every few seconds: no more than that can be lost unseen by a change of history.
  insert into ingest.history as known (mark, first_seen_at, last_seen_at)
    select m.mark, ingest.clock(), ingest.clock() from ingest.history_mark() as m(mark) where m.mark is not null
    on conflict (mark) do update set last_seen_at = excluded.last_seen_at;
  select coalesce(array_agg(o.owner), '{}') into v_dead
    from (select distinct s.owner from ingest.ownership s where s.owner <> p_owner) o
    where not exists (
      select from pg_locks l
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
        and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(o.owner, 0)
    );
  insert into ingest.ownership (shard, owner, epoch) select w, p_owner, 1 from unnest(p_wanted) w on conflict (shard) do nothing;
  update ingest.ownership o set owner = p_owner, epoch = o.epoch + 1
    from (select f.shard from ingest.ownership f left join ingest.lease l using (shard)
          where f.shard = any (p_wanted) and f.owner <> p_owner
            and (l.shard is null or l.expires_at <= ingest.clock() or f.owner = any (v_dead))
          for no key update of f skip locked) free
    where o.shard = free.shard;
  return query
    with held as (
      select o.shard, o.epoch from ingest.ownership o where o.owner = p_owner and o.shard = any (p_wanted)
    ), renewed as (
      insert into ingest.lease (shard, expires_at) select h.shard, ingest.clock() + p_ttl from held h
      on conflict (shard) do update set expires_at = excluded.expires_at
    )
    select h.shard, h.epoch from held h order by h.shard;
end
$$;
comment on function ingest.claim is 'Takes and renews shards; whoever takes one from another owner raises its epoch';

-- Takes its turn among the claims, so that nobody loses a shard that it has just taken. Waits for no commit.
create or replace function ingest.release(p_owner text) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('penstock.claim'));
  delete from ingest.lease l using ingest.ownership o where o.shard = l.shard and o.owner = p_owner;
end
$$;

revoke execute on function ingest.claim from public;
grant execute on function ingest.claim to penstock_runtime;
reset role;

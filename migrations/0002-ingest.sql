set local role penstock_migrate;

-- The one clock of everything that is decided in the database. Only a test replaces it.
create function ingest.clock() returns timestamptz language sql volatile parallel safe
  as 'select clock_timestamp()';
comment on function ingest.clock() is 'The time, UTC; used instead of now() so that a test can move it';

create table ingest.ownership (
  shard int primary key,
  owner text not null,
  epoch bigint not null,
  expires_at timestamptz not null
);
comment on table ingest.ownership is 'Who may write for a shard of apps; every commit and every debit checks the epoch';
comment on column ingest.ownership.owner is 'Process that owns it; it also holds an advisory lock on the hash of this name while it lives';
comment on column ingest.ownership.expires_at is 'Until when it is owned without a renewal';
comment on column ingest.ownership.epoch is 'Raised by whoever takes the shard; what a former owner still sends is refused';

create table ingest.progress (
  app_id text not null,
  stream text not null,
  series text not null,
  version bigint not null default 0,
  cursor text,
  carry jsonb,
  covered tstzmultirange not null default '{}',
  epoch bigint,
  updated_at timestamptz,
  caught_up_at timestamptz,
  closed_at timestamptz,
  primary key (app_id, stream, series)
);
comment on table ingest.progress is 'How far each stream has come; moves only together with the rows it stands for';
comment on column ingest.progress.series is 'The room of a stream that follows rooms; empty for a stream of the whole app';
comment on column ingest.progress.epoch is 'Epoch of the owner that committed last';
comment on column ingest.progress.updated_at is 'When the last page was committed; null before the first';
comment on column ingest.progress.version is 'Raised by every commit; a commit that read another version writes nothing';
comment on column ingest.progress.cursor is 'nextId with which the last page was asked; null is the beginning';
comment on column ingest.progress.carry is 'What the stream must remember from page to page';
comment on column ingest.progress.covered is 'Time ranges that are complete, for streams whose progress is time';
comment on column ingest.progress.caught_up_at is 'When the log was last read to its end';
comment on column ingest.progress.closed_at is 'When visits ended because the room is over; null while it is followed';

create table ingest.budget (
  scope text not null,
  limit_group text not null,
  last_n bigint not null default 0,
  last_sent_at timestamptz not null default '-infinity',
  primary key (scope, limit_group)
);
comment on table ingest.budget is 'Head of the debits of one limit group: the row that is locked before the clock is read';

create table ingest.debit (
  scope text not null,
  limit_group text not null,
  n bigint not null,
  app_id text not null,
  operation text not null,
  epoch bigint not null,
  sent_at timestamptz not null,
  dead_at timestamptz not null,
  settled_at timestamptz,
  outcome text check (outcome in ('committed', 'refused', 'unread')),
  gap_id bigint,
  primary key (scope, limit_group, n)
);
create index debit_by_end on ingest.debit (scope, limit_group, least(settled_at, dead_at));
create index debit_by_time on ingest.debit using brin (sent_at);
create index debit_unread on ingest.debit (app_id, limit_group, n) where gap_id is null and outcome is distinct from 'committed' and outcome is distinct from 'refused';
comment on table ingest.debit is 'Every request of a group that is counted durably, written before it is sent';
comment on column ingest.debit.n is 'Counts from 1 without gaps within (scope, limit_group)';
comment on column ingest.debit.scope is 'Whose counter it is at the provider: the app';
comment on column ingest.debit.epoch is 'Epoch of the owner that sent it; one of an earlier owner can no longer commit';
comment on column ingest.debit.dead_at is 'After this moment the request can no longer reach the provider; never before that of an earlier debit';
comment on column ingest.debit.settled_at is 'When the answer had arrived; null for a request whose end nobody saw';
comment on column ingest.debit.outcome is 'committed: its page is stored; refused: the provider did nothing; unread: it may have handed out events that were not stored';
comment on column ingest.debit.gap_id is 'Row of the gap ledger that stands for this unread answer';

create table ingest.gap (
  id bigint generated always as identity primary key,
  app_id text not null,
  stream text not null,
  series text not null,
  incarnation int,
  unit text not null check (unit in ('time', 'sequence')),
  range_from timestamptz,
  range_to timestamptz,
  sequence_from bigint,
  sequence_to bigint,
  reason text not null,
  first_seen_at timestamptz not null default ingest.clock(),
  recoverable_until timestamptz,
  state text not null default 'open' check (state in ('open', 'repaired', 'absent', 'lost')),
  detail text,
  updated_at timestamptz not null default ingest.clock()
);
create unique index gap_key on ingest.gap
  (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) nulls not distinct;
create index gap_expiry on ingest.gap (recoverable_until) where state = 'open';
comment on table ingest.gap is 'What could not be had, or not yet: which range, why, and until when it can still be had';
comment on column ingest.gap.series is 'The room of a stream that follows rooms; empty for a stream of the whole app';
comment on column ingest.gap.incarnation is 'Of the room, where the gap is in a room';
comment on column ingest.gap.detail is 'What the state does not cover, where there is something to say';
comment on column ingest.gap.unit is 'time: range_from to range_to; sequence: sequence_from to sequence_to, both included';
comment on column ingest.gap.reason is 'hole: skipped between neighbours of a log; room_forgotten, room_reused: the room was gone before its log was read; unread_answer: an answer was asked for and never stored; pause: nobody asked for longer than the provider remembers';
comment on column ingest.gap.state is 'open: may still be had; repaired: was had later; absent: the provider never served it; lost: cannot be had any more';
comment on column ingest.gap.recoverable_until is 'After this moment the provider no longer has it; null where that is not known';

create table ingest.dead_letter (
  id bigint generated always as identity primary key,
  app_id text not null,
  stream text not null,
  series text not null,
  reason text not null,
  detail text,
  body bytea not null,
  content_hash bytea not null generated always as (sha256(body)) stored,
  received_at timestamptz not null default ingest.clock(),
  last_seen_at timestamptz not null default ingest.clock(),
  occurrences bigint not null default 1
);
create unique index dead_letter_key on ingest.dead_letter (app_id, stream, series, reason, content_hash);
comment on table ingest.dead_letter is 'Bytes that arrived and could not be used, kept with the reason; nothing that came is thrown away';
comment on column ingest.dead_letter.reason is 'A word of a closed set, the label of the metric too';
comment on column ingest.dead_letter.detail is 'Which field broke which rule, or how the provider refused; no values';
comment on column ingest.dead_letter.content_hash is 'SHA-256 of the body: the same bytes again only raise occurrences';
comment on column ingest.dead_letter.body is 'The item or page as it came, secrets replaced; at most the first 64 KiB of a page';

create table ingest.divergence (
  id bigint generated always as identity primary key,
  app_id text not null,
  stream text not null,
  series text not null,
  key text not null,
  kept jsonb,
  other jsonb not null,
  seen_at timestamptz not null default ingest.clock(),
  resolved_at timestamptz
);
create unique index divergence_key on ingest.divergence (app_id, stream, series, key, md5(other::text));
create index divergence_pending on ingest.divergence (app_id, series) where resolved_at is null;
comment on table ingest.divergence is 'Two answers of the provider that contradict each other: the one that was kept and the other';
comment on column ingest.divergence.key is 'The event''s sequence, or incarnation/position of an item of a widget';
comment on column ingest.divergence.kept is 'What the tables hold; null while they hold nothing of that key';
comment on column ingest.divergence.other is 'What was also answered';
comment on column ingest.divergence.resolved_at is 'When the room''s log confirmed the other one; null while it waits';

-- A statement sees the moment at which it began, also when it waited for a lock first. One that finds fewer new
-- rows than it was certain of was overtaken meanwhile and must begin again.
create function ingest.not_overtaken(p_expected bigint, p_found bigint) returns boolean
language plpgsql volatile as $$
begin
  if p_expected <> p_found then
    raise exception 'another commit came first' using errcode = 'serialization_failure';
  end if;
  return true;
end
$$;
comment on function ingest.not_overtaken is 'Ends a commit with a serialization failure when another one came first';

-- Debits one request, or says how long to wait in milliseconds. The head row is locked first and the clock read
-- after it, so that two callers can neither share a slot nor be ordered against their debits. A slot frees one
-- window after the answer (or after the moment the request can no longer arrive), hence no window of the
-- provider's, sliding or calendar, ever holds more than its number.
create function ingest.take(
  p_scope text, p_group text, p_app text, p_operation text,
  p_shard int, p_owner text, p_epoch bigint,
  p_requests int[], p_windows double precision[], p_reach interval,
  out verdict text, out n bigint, out wait_ms double precision
) language plpgsql as $$
declare
  head ingest.budget;
  v_now timestamptz;
  v_window interval;
  v_free timestamptz;
  v_until timestamptz := '-infinity';
  v_dead timestamptz;
begin
  perform 1 from ingest.ownership o
    where o.shard = p_shard and o.owner = p_owner and o.epoch = p_epoch and o.expires_at > ingest.clock()
    for share;
  if not found then
    verdict := 'fenced';
    return;
  end if;

  insert into ingest.budget (scope, limit_group) values (p_scope, p_group) on conflict do nothing;
  select * into head from ingest.budget b where b.scope = p_scope and b.limit_group = p_group for update;
  v_now := greatest(ingest.clock(), head.last_sent_at);

  for i in 1 .. coalesce(array_length(p_requests, 1), 0) loop
    v_window := make_interval(secs => p_windows[i]);
    if p_windows[i] >= 3600 then
      -- Debits are numbered without gaps: one key lookup tells when the oldest of a full window frees its slot.
      select d.dead_at + v_window into v_free from ingest.debit d
        where d.scope = p_scope and d.limit_group = p_group and d.n = head.last_n - p_requests[i] + 1;
    else
      select least(d.settled_at, d.dead_at) + v_window into v_free from ingest.debit d
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
  insert into ingest.debit (scope, limit_group, n, app_id, operation, epoch, sent_at, dead_at)
    values (p_scope, p_group, head.last_n + 1, p_app, p_operation, p_epoch, v_now, greatest(v_now + p_reach, v_dead));
  update ingest.budget b set last_n = head.last_n + 1, last_sent_at = v_now
    where b.scope = p_scope and b.limit_group = p_group;
  verdict := 'granted';
  n := head.last_n + 1;
end
$$;
comment on function ingest.take is 'Debits one request before it is sent, or says how long to wait';

-- Takes every shard that is free, expired, ours already, or whose owner's session is gone, and raises its epoch
-- unless it was ours. A live owner keeps a session-level advisory lock on the hash of its name, which the
-- database drops the moment the process dies.
create function ingest.claim(p_owner text, p_shards int, p_ttl interval)
returns table (shard int, epoch bigint) language plpgsql as $$
declare
  v_dead text[];
begin
  perform pg_advisory_xact_lock(hashtext('penstock.claim'));
  select coalesce(array_agg(o.owner), '{}') into v_dead
    from (select distinct s.owner from ingest.ownership s where s.owner <> p_owner) o
    where not exists (
      select from pg_locks l
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1
        and l.database = (select d.oid from pg_database d where d.datname = current_database())
        and (l.classid::bigint << 32 | l.objid::bigint) = hashtextextended(o.owner, 0)
    );
  return query
    insert into ingest.ownership as held (shard, owner, epoch, expires_at)
    select s, p_owner, 1, ingest.clock() + p_ttl from generate_series(0, p_shards - 1) s
    left join ingest.ownership o on o.shard = s
    -- The others' rows are not even locked: commits check them all the time.
    where o.shard is null or o.owner = p_owner or o.expires_at <= ingest.clock() or o.owner = any (v_dead)
    order by s
    on conflict on constraint ownership_pkey do update
      set owner = excluded.owner,
          epoch = held.epoch + case when held.owner = excluded.owner then 0 else 1 end,
          expires_at = excluded.expires_at
      where held.owner = excluded.owner or held.expires_at <= ingest.clock() or held.owner = any (v_dead)
    returning held.shard, held.epoch;
end
$$;
comment on function ingest.claim is 'Takes and renews shards; whoever takes one from another owner raises its epoch';

-- Takes its turn among the claims, so that the two never wait for each other's rows.
create function ingest.release(p_owner text) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('penstock.claim'));
  update ingest.ownership set expires_at = '-infinity' where owner = p_owner;
end
$$;
comment on function ingest.release is 'Gives every shard of an owner back';

revoke execute on function ingest.not_overtaken, ingest.take, ingest.claim, ingest.release from public;
grant execute on function ingest.clock, ingest.not_overtaken, ingest.take, ingest.claim, ingest.release to penstock_runtime;
reset role;

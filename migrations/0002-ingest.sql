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
  owed_from timestamptz,
  covered tstzmultirange not null default '{}',
  seen tstzmultirange not null default '{}',
  lost tstzmultirange not null default '{}',
  wanted tstzmultirange not null default '{}',
  epoch bigint,
  updated_at timestamptz,
  caught_up_at timestamptz,
  closed_at timestamptz,
  primary key (app_id, stream, series)
);
comment on table ingest.progress is 'How far each stream has come; moves only together with the rows it stands for';
comment on column ingest.progress.series is 'The room of a stream that follows rooms, the question of one whose progress is time; empty for a stream of the whole app';
comment on column ingest.progress.epoch is 'Epoch of the owner that committed last';
comment on column ingest.progress.updated_at is 'When the last page was committed; null before the first';
comment on column ingest.progress.version is 'Raised by every commit; a commit that read another version writes nothing';
comment on column ingest.progress.cursor is 'nextId with which the last page was asked; null is the beginning';
comment on column ingest.progress.carry is 'What the stream must remember from page to page';
comment on column ingest.progress.owed_from is 'From here on everything is owed, for streams whose progress is time and for details of calls; null for others';
comment on column ingest.progress.covered is 'Time ranges that were read and can no longer change';
comment on column ingest.progress.seen is 'Time ranges that were read at least once; what is not covered of them may still change';
comment on column ingest.progress.lost is 'Time ranges that were given up; each stands in ingest.gap';
comment on column ingest.progress.wanted is 'Time ranges to be read once more because someone asked for it';
comment on column ingest.progress.caught_up_at is 'When the log was last read to its end, or a range of time became final';
comment on column ingest.progress.closed_at is 'When visits ended because the room is over; null while it is followed';

create table ingest.history (
  mark text primary key,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null
);
comment on table ingest.history is 'Histories of this database: a failover to a standby that lagged behind, or a restored backup, begins a new one';
comment on column ingest.history.mark is 'The system identifier and the timeline of the server';
comment on column ingest.history.first_seen_at is 'When it was first written in';
comment on column ingest.history.last_seen_at is 'What was written before this moment was not lost by the change to the next one';

create table ingest.budget (
  scope text not null,
  limit_group text not null,
  last_n bigint not null default 0,
  last_sent_at timestamptz not null default '-infinity',
  clock_at timestamptz not null default '-infinity',
  history text,
  primary key (scope, limit_group)
);
comment on table ingest.budget is 'Head of the debits of one limit group: the row that is locked before the clock is read';
comment on column ingest.budget.scope is 'Whose counter it is at the provider: an app, or a credential that several apps may share';
comment on column ingest.budget.last_sent_at is 'Budget time of the last debit';
comment on column ingest.budget.clock_at is 'The clock at the last debit, corrected when it was seen to jump. Budget time moves on by how far the clock has come since';
comment on column ingest.budget.history is 'Mark of the history in which it was last debited; in another one debits may be missing';

create table ingest.debit (
  scope text not null,
  limit_group text not null,
  n bigint not null,
  app_id text not null,
  operation text not null,
  purpose text check (purpose in ('live', 'repair', 'revisit', 'backfill')),
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
comment on column ingest.debit.scope is 'Whose counter it is at the provider: an app, or a credential that several apps may share';
comment on column ingest.debit.app_id is 'The app that asked, whoever it shares the counter with';
comment on column ingest.debit.operation is 'Operation of the provider; the words lost history for a request that may have been debited where this history does not reach';
comment on column ingest.debit.purpose is 'What it was for: new data, what went wrong before, what may have changed, what is long past; null of what is only assumed';
comment on column ingest.debit.epoch is 'Epoch of the owner that sent it; one of an earlier owner can no longer commit';
comment on column ingest.debit.sent_at is 'Budget time before it was sent: the clock, unless that was seen to jump; never before that of an earlier debit';
comment on column ingest.debit.dead_at is 'After this moment the request can no longer reach the provider; never before that of an earlier debit';
comment on column ingest.debit.settled_at is 'When the answer had arrived, in budget time; null for a request whose end nobody saw';
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
comment on column ingest.gap.series is 'The room of a stream that follows rooms, the call of one that reads details, the question of one whose progress is time; empty for a stream of the whole app';
comment on column ingest.gap.incarnation is 'Of the room, where the gap is in a room';
comment on column ingest.gap.detail is 'What the state does not cover, where there is something to say';
comment on column ingest.gap.unit is 'time: from range_from up to range_to; sequence: sequence_from to sequence_to, both included';
comment on column ingest.gap.reason is 'hole: skipped between neighbours of a log; room_forgotten, room_reused: the room was gone before its log was read; unread_answer: an answer was asked for and never stored; pause: nobody asked for longer than the provider remembers; expired: left the provider''s reach before it was read; unconfirmed: was read, but left the reach before it could no longer change; overflow: more in one second than the provider lists; refused: it rejects the question; too_large: its answer is too large in every size; vanished: it does not know the call';
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

-- Names the history that is written now. A standby that is promoted begins another timeline at once; a backup that
-- is restored elsewhere has another system identifier. Null where the server does not tell.
create function ingest.history_mark() returns text language plpgsql volatile as $$
begin
  return (select c.system_identifier from pg_control_system() c) || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8);
exception when insufficient_privilege or feature_not_supported or undefined_function then
  return null;
end
$$;
comment on function ingest.history_mark() is 'The system identifier and the timeline of the server; null where it does not tell';

-- Budget time is the clock where the caller saw as much time pass. Else it goes on from the last debit of the group by
-- how far the clock has come since, whatever the clock said before it was set. Where even that is not between what the
-- caller saw pass, the clock has just jumped, and the earliest moment that it may be counts: nothing is freed early,
-- and nothing stands still. A caller whose evidence ends before the last debit knows less than the ledger does, and is
-- not asked; one that saw nothing yet has no say against a jump that others saw.
create function ingest.budget_time(
  head ingest.budget, p_clock timestamptz, p_floor timestamptz, p_ceiling timestamptz
) returns timestamptz language sql stable parallel safe as $$
  select case
    when head.last_n = 0 then case when p_clock between p_floor and p_ceiling then p_clock else p_floor end
    when p_ceiling < head.last_sent_at then head.last_sent_at + greatest(p_clock - head.clock_at, interval '0')
    when p_clock between p_floor and p_ceiling and p_ceiling - p_floor < interval '1 minute'
      then greatest(head.last_sent_at, p_clock)
    when head.last_sent_at + (p_clock - head.clock_at) between p_floor and p_ceiling
      then greatest(head.last_sent_at, head.last_sent_at + (p_clock - head.clock_at))
    else greatest(head.last_sent_at, p_floor)
  end
$$;
comment on function ingest.budget_time is 'The time that budgets are counted by, given the clock and the bounds between which it is believed; rather early than late';

-- When an answer had arrived. After a jump of the clock it is the latest moment that it may have been: an answer that
-- is dated too early would free its slot too early.
create function ingest.settle_time(
  head ingest.budget, p_clock timestamptz, p_floor timestamptz, p_ceiling timestamptz
) returns timestamptz language sql stable parallel safe as $$
  select case
    when p_ceiling >= head.last_sent_at
      and head.last_sent_at + (p_clock - head.clock_at) not between p_floor and p_ceiling then p_ceiling
    else ingest.budget_time(head, p_clock, p_floor, p_ceiling)
  end
$$;
comment on function ingest.settle_time is 'The same for the arrival of an answer; rather late than early';

-- Number of the first debit that dies after one moment and was sent after another; one more than the last number
-- when there is none. Both times rise with the number, so that halving finds it by a few look-ups of the key.
create function ingest.first_debit(
  p_scope text, p_group text, p_dead_after timestamptz, p_sent_after timestamptz
) returns bigint language plpgsql stable as $$
declare
  v_low bigint;
  v_high bigint;
  v_middle bigint;
begin
  select d.n into v_low from ingest.debit d where d.scope = p_scope and d.limit_group = p_group order by d.n limit 1;
  select d.n + 1 into v_high from ingest.debit d where d.scope = p_scope and d.limit_group = p_group
    order by d.n desc limit 1;
  while v_low < v_high loop
    v_middle := (v_low + v_high) / 2;
    perform from ingest.debit d where d.scope = p_scope and d.limit_group = p_group and d.n = v_middle
      and d.dead_at > p_dead_after and d.sent_at > p_sent_after;
    if found then
      v_high := v_middle;
    else
      v_low := v_middle + 1;
    end if;
  end loop;
  return v_high;
end
$$;
comment on function ingest.first_debit is 'Number of the first debit after two moments, found by the key';

-- In a history that the head was not written in, debits may be missing: the interval that nobody can vouch for
-- counts as fully spent. As many debits as the rates may have let through in it take their numbers, dated to its
-- end, never settled; what the longest window had left bounds them. A group that is new after a change of history
-- may have been used before it too.
create function ingest.assume_lost(
  head ingest.budget, p_mark text, p_app text, p_epoch bigint, p_now timestamptz,
  p_requests int[], p_windows double precision[], p_reach interval
) returns ingest.budget language plpgsql as $$
declare
  v_since timestamptz;
  v_until timestamptz;
  v_at timestamptz;
  v_dead timestamptz;
  v_seconds double precision;
  v_longest int := (select w.i from unnest(p_requests, p_windows) with ordinality w(requests, seconds, i)
                    order by w.seconds desc, w.requests limit 1);
  v_count bigint := p_requests[v_longest];
begin
  insert into ingest.history as known (mark, first_seen_at, last_seen_at) values (p_mark, p_now, p_now)
    on conflict (mark) do update set last_seen_at = known.last_seen_at
    returning least(known.first_seen_at, p_now) into v_until;
  if head.history is null then
    select max(h.last_seen_at) into v_since from ingest.history h where h.mark <> p_mark;
  else
    v_since := greatest(head.last_sent_at, (select h.last_seen_at from ingest.history h where h.mark = head.history));
  end if;
  head.history := p_mark;

  -- By a clock that tells of less than nothing, nobody knows how long the interval was.
  v_at := case when v_since <= v_until then greatest(v_until, head.last_sent_at) else p_now end;
  if p_windows[v_longest] >= 3600 then
    v_count := v_count - (head.last_n + 1 - coalesce(ingest.first_debit(
      head.scope, head.limit_group, v_at - make_interval(secs => p_windows[v_longest]), '-infinity'), head.last_n + 1));
  end if;
  if v_since <= v_until then
    -- The clocks of two servers may differ; as much again as a request may take is more than that.
    v_seconds := extract(epoch from v_until - v_since + p_reach);
    select least(v_count, min(w.requests * (floor(v_seconds / w.seconds) + 1))) into v_count
      from unnest(p_requests, p_windows) w(requests, seconds);
  end if;

  if v_since is not null and v_at + p_reach + make_interval(secs => p_windows[v_longest]) > p_now and v_count > 0 then
    select d.dead_at into v_dead from ingest.debit d
      where d.scope = head.scope and d.limit_group = head.limit_group and d.n = head.last_n;
    insert into ingest.debit (scope, limit_group, n, app_id, operation, epoch, sent_at, dead_at)
      select head.scope, head.limit_group, head.last_n + i, p_app, 'lost history', p_epoch, v_at,
             greatest(v_at + p_reach, v_dead)
      from generate_series(1, v_count) i;
    head.last_n := head.last_n + v_count;
    head.last_sent_at := v_at;
    head.clock_at := ingest.clock() - (p_now - v_at);
  end if;
  update ingest.budget b
    set history = head.history, last_n = head.last_n, last_sent_at = head.last_sent_at, clock_at = head.clock_at
    where b.scope = head.scope and b.limit_group = head.limit_group;
  return head;
end
$$;
comment on function ingest.assume_lost is 'Debits what may have been debited before a failover and is missing since';

-- Debits one request, or says how long to wait in milliseconds. The head row is locked first and the clock read
-- after it, so that two callers can neither share a slot nor be ordered against their debits. A slot frees one
-- window after the answer (or after the moment the request can no longer arrive), hence no window of the
-- provider's, sliding or calendar, ever holds more than its number.
create function ingest.take(
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
  perform 1 from ingest.ownership o
    where o.shard = p_shard and o.owner = p_owner and o.epoch = p_epoch and o.expires_at > ingest.clock()
    for share;
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
comment on function ingest.take is 'Debits one request before it is sent, or says how long to wait';

-- How much of a window is used. Locks nothing and so may be a moment behind.
create function ingest.spent(
  p_scope text, p_group text, p_window interval, p_recent interval,
  out used bigint, out frees_in_ms double precision, out recent bigint, out total bigint
) language plpgsql stable as $$
declare
  head ingest.budget;
  v_now timestamptz;
  v_first bigint;
begin
  used := 0;
  recent := 0;
  total := 0;
  select * into head from ingest.budget b where b.scope = p_scope and b.limit_group = p_group;
  if not found or head.last_n = 0 then
    return;
  end if;
  v_now := ingest.budget_time(head, ingest.clock(), to_timestamp(0), '9999-12-31Z');
  total := head.last_n;
  v_first := ingest.first_debit(p_scope, p_group, v_now - p_window, '-infinity');
  used := coalesce(head.last_n + 1 - v_first, 0);
  recent := coalesce(head.last_n + 1 - ingest.first_debit(p_scope, p_group, '-infinity', v_now - p_recent), 0);
  select extract(epoch from d.dead_at + p_window - v_now) * 1000 into frees_in_ms from ingest.debit d
    where d.scope = p_scope and d.limit_group = p_group and d.n = v_first;
end
$$;
comment on function ingest.spent is 'How many requests count in a window that ends now, when the oldest of them stops counting, how many are recent, and how many there ever were';

-- Takes every shard that is free, expired, ours already, or whose owner's session is gone, and raises its epoch
-- unless it was ours. A live owner keeps a session-level advisory lock on the hash of its name, which the
-- database drops the moment the process dies.
create function ingest.claim(p_owner text, p_shards int, p_ttl interval)
returns table (shard int, epoch bigint) language plpgsql as $$
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

revoke execute on function ingest.not_overtaken, ingest.history_mark, ingest.budget_time, ingest.settle_time, ingest.first_debit, ingest.assume_lost, ingest.spent, ingest.take, ingest.claim, ingest.release from public;
grant execute on function ingest.clock, ingest.not_overtaken, ingest.history_mark, ingest.budget_time, ingest.settle_time, ingest.first_debit, ingest.assume_lost, ingest.spent, ingest.take, ingest.claim, ingest.release to penstock_runtime;
reset role;

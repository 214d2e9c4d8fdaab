-- The daemon's own bookkeeping: who owns the work, how far each stream has come, which requests were spent, what is
-- missing, what could not be read, and what is still to be fetched.

set local role penstock_migrate;

-- The one clock of everything that is decided in the database. Only a test replaces it.
create function ingest.clock() returns timestamptz language sql volatile parallel safe
  as 'select clock_timestamp()';
comment on function ingest.clock() is 'The time, UTC; used instead of now() so that a test can move it';

-- === Streams ===

-- What is drained, as the program has it registered: views and functions ask here and name no stream, but for the two
-- on which all others lean, app-events (the feed) and room-events (each room's own log).
create table ingest.stream (
  stream text primary key,
  place int not null,
  kind text not null check (kind in ('feed', 'log', 'snapshot', 'window', 'substream')),
  scope text not null check (scope in ('app', 'room')),
  needs text[] not null,
  writes text[] not null
);
comment on table ingest.stream is 'Every stream that the program knows; filled by penstock migrate up';
comment on column ingest.stream.stream is 'Its name in the configuration, in ingest.progress and in the metrics';
comment on column ingest.stream.place is 'Order in which documents name them';
comment on column ingest.stream.kind is 'feed, log of a room, snapshot (a whole list), window (ranges of time), substream (a work queue that another stream fills)';
comment on column ingest.stream.scope is 'room: it has a series for each room; app: others';
comment on column ingest.stream.needs is 'Streams without which it cannot be complete, or has nothing to do';
comment on column ingest.stream.writes is 'Tables that its rows go to';

create function ingest.stream_kind(p_stream text) returns text language sql stable parallel safe as $$
  select s.kind from ingest.stream s where s.stream = p_stream
$$;
comment on function ingest.stream_kind is 'How the progress of a stream is told; null of one that the program does not know';

create function ingest.room_streams() returns setof text language sql stable parallel safe as $$
  select s.stream from ingest.stream s where s.scope = 'room' order by s.place
$$;
comment on function ingest.room_streams is 'Streams that have a series for each room';

-- === Ownership ===

create table ingest.ownership (
  shard int primary key,
  owner text not null,
  epoch bigint not null
);

-- Every commit holds the row of ingest.ownership that it was fenced by until it ends, and a large page takes long. So
-- that row changes only when the owner changes; what is renewed every second lies here and in the queue of shards.
create table ingest.replica (
  owner text primary key,
  since timestamptz not null,
  seen_at timestamptz not null,
  knows int[] not null
);

-- A replica comes by: it says of how many apps of each shard it knows, and is told who else is there, what it is fenced
-- by, and which shards belong to processes that are gone. A living process keeps a session-level advisory lock on the
-- hash of its name, which the database drops the moment it dies. Whoever only looks knows nothing and is no replica.
create function ingest.attend(p_owner text, p_knows int[], p_silence interval,
  out replicas jsonb, out mine jsonb, out orphans jsonb)
language plpgsql as $$
declare
  v_now timestamptz := ingest.clock();
  v_gone text[];
begin
  -- Every owner comes by every few seconds: no more than that can be lost unseen by a change of history.
  insert into ingest.history as known (mark, first_seen_at, last_seen_at)
    select m.mark, v_now, v_now from ingest.history_mark() as m(mark) where m.mark is not null
    on conflict (mark) do update set last_seen_at = excluded.last_seen_at;
  if p_knows is not null then
    insert into ingest.replica as r (owner, since, seen_at, knows) values (p_owner, v_now, v_now, p_knows)
      on conflict (owner) do update set seen_at = excluded.seen_at, knows = excluded.knows;
  end if;
  select coalesce(array_agg(o.owner), '{}') into v_gone
    from (select s.owner from ingest.ownership s union select r.owner from ingest.replica r) o
    where o.owner <> p_owner and pg_try_advisory_xact_lock(hashtextextended(o.owner, 0));
  delete from ingest.replica r
    using (select g.owner from ingest.replica g where g.owner = any (v_gone) for update skip locked) gone
    where r.owner = gone.owner;
  replicas := coalesce((
    select jsonb_agg(jsonb_build_object('owner', r.owner, 'knows', r.knows) order by r.since, r.owner)
    from ingest.replica r where r.seen_at > v_now - p_silence and r.owner <> all (v_gone)), '[]');
  mine := coalesce((
    select jsonb_agg(jsonb_build_object('shard', o.shard, 'epoch', o.epoch) order by o.shard)
    from ingest.ownership o where o.owner = p_owner), '[]');
  orphans := coalesce((
    select jsonb_agg(jsonb_build_object('shard', o.shard, 'epoch', o.epoch) order by o.shard)
    from ingest.ownership o where o.owner = any (v_gone)), '[]');
end
$$;
comment on function ingest.attend is 'Notes that a replica is there, and tells of the others and of shards whose owners are gone';

-- Makes a process the owner of shards, each under the epoch that the queue gave it with the shard. A later epoch stays:
-- whoever was held up on the way here comes too late. A shard that a commit of its former owner still holds is left for
-- the next time: to wait for it here would keep everybody from renewing.
create function ingest.own(p_owner text, p_shards int[], p_epochs bigint[])
returns table (shard int, owner text, epoch bigint) language plpgsql as $$
#variable_conflict use_column
begin
  insert into ingest.ownership (shard, owner, epoch)
    select t.shard, p_owner, t.epoch from unnest(p_shards, p_epochs) as t(shard, epoch) on conflict (shard) do nothing;
  update ingest.ownership o set owner = p_owner, epoch = free.epoch
    from (select f.shard, t.epoch from unnest(p_shards, p_epochs) as t(shard, epoch)
          join ingest.ownership f on f.shard = t.shard
          where f.epoch < t.epoch
          for no key update of f skip locked) free
    where o.shard = free.shard;
  return query select o.shard, o.owner, o.epoch from ingest.ownership o where o.shard = any (p_shards) order by o.shard;
end
$$;
comment on function ingest.own is 'Raises the epochs of shards and names their owner; never lowers one';

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

-- === Counts ===

-- What is over only ever grows: series of rooms that are closed, items that are done, rooms that are forgotten. It is
-- counted where it changes, so that whoever asks how many there are does not read five years of rows.
create table ingest.tally (
  about text not null check (about in ('series', 'item', 'room')),
  app_id text not null,
  stream text not null,
  state text not null,
  slot int not null,
  things bigint not null default 0,
  seconds bigint not null default 0,
  last_at timestamptz,
  primary key (about, app_id, stream, state, slot)
) with (fillfactor = 50);

-- A slot that no other transaction counts in: two that waited for each other's counts could wait for ever. With more
-- transactions at one time than slots, each beyond has the one of its session.
create function ingest.tally_slot() returns int language plpgsql volatile as $$
begin
  for v_slot in 0..31 loop
    if pg_try_advisory_xact_lock(hashtextextended('penstock tally', 0) # v_slot) then
      return v_slot;
    end if;
  end loop;
  return -pg_backend_pid();
end
$$;
comment on function ingest.tally_slot is 'The slot of ingest.tally in which this transaction counts alone';

create function ingest.tally_add(p_about text, p_app text, p_stream text, p_state text, p_things bigint, p_seconds bigint,
                                 p_last timestamptz) returns void language sql volatile as $$
  insert into ingest.tally as t (about, app_id, stream, state, slot, things, seconds, last_at)
  values (p_about, p_app, p_stream, p_state, ingest.tally_slot(), p_things, p_seconds, p_last)
  on conflict (about, app_id, stream, state, slot) do update
    set things = t.things + excluded.things, seconds = t.seconds + excluded.seconds,
        last_at = greatest(t.last_at, excluded.last_at)
$$;
comment on function ingest.tally_add is 'Adds to a count of ingest.tally';

create function ingest.tally_series() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' and old.closed_at is not null then
    perform ingest.tally_add('series', old.app_id, old.stream, 'closed', -1, 0, null);
  end if;
  if tg_op <> 'DELETE' and new.closed_at is not null then
    perform ingest.tally_add('series', new.app_id, new.stream, 'closed', 1, 0, new.updated_at);
  end if;
  return null;
end
$$;
comment on function ingest.tally_series is 'Counts series that are closed and opened again';

-- Thousands go together: they are counted together.
create function ingest.tally_gone_series() returns trigger language plpgsql as $$
begin
  perform ingest.tally_add('series', s.app_id, s.stream, 'closed', -s.things, 0, null)
  from (select app_id, stream, count(*) as things from went where closed_at is not null group by 1, 2) s;
  return null;
end
$$;
comment on function ingest.tally_gone_series is 'Counts closed series that are gone';

create function ingest.tally_rooms() returns trigger language plpgsql as $$
declare
  v_before text := case when tg_op <> 'INSERT' then classroom.room_standing(old.state, old.valid_to, old.forgotten_at) end;
  v_now text := case when tg_op <> 'DELETE' then classroom.room_standing(new.state, new.valid_to, new.forgotten_at) end;
begin
  if v_before is not null then
    perform ingest.tally_add('room', old.app_id, '', v_before, -1, 0, null);
  end if;
  if v_now is not null then
    perform ingest.tally_add('room', new.app_id, '', v_now, 1, 0, null);
  end if;
  return null;
end
$$;
comment on function ingest.tally_rooms is 'Counts rooms whose state changes';

-- A page may bring thousands of rooms: they are counted together.
create function ingest.tally_new_rooms() returns trigger language plpgsql as $$
begin
  perform ingest.tally_add('room', r.app_id, '', r.standing, r.things, 0, null)
  from (select app_id, classroom.room_standing(state, valid_to, forgotten_at) as standing, count(*) as things from came group by 1, 2) r
  where r.standing is not null;
  return null;
end
$$;
comment on function ingest.tally_new_rooms is 'Counts rooms that are new';

create function ingest.item_seconds(p_from timestamptz, p_to timestamptz) returns bigint language sql immutable parallel safe as $$
  select extract(epoch from p_to - p_from)::bigint + 1
$$;
comment on function ingest.item_seconds is 'Seconds that an item of the work queue asks for: both ends are included';

create function ingest.tally_items() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform ingest.tally_add('item', i.app_id, i.stream, i.state, i.things, i.seconds, i.last_at)
    from (select app_id, stream, state, count(*) as things, sum(ingest.item_seconds(range_from, range_to))::bigint as seconds,
                 max(updated_at) as last_at from came group by 1, 2, 3) i;
  elsif tg_op = 'DELETE' then
    perform ingest.tally_add('item', i.app_id, i.stream, i.state, -i.things, -i.seconds, null)
    from (select app_id, stream, state, count(*) as things, sum(ingest.item_seconds(range_from, range_to))::bigint as seconds
          from went group by 1, 2, 3) i;
  else
    perform ingest.tally_add('item', i.app_id, i.stream, i.state, i.things, i.seconds, i.last_at)
    from (select app_id, stream, state, sum(n)::bigint as things, sum(n * ingest.item_seconds(range_from, range_to))::bigint as seconds,
                 max(last_at) as last_at
          from (select app_id, stream, state, range_from, range_to, 1 as n, updated_at as last_at from came
                union all select app_id, stream, state, range_from, range_to, -1, null from went) x
          group by 1, 2, 3) i
    where i.things <> 0 or i.seconds <> 0;
  end if;
  return null;
end
$$;
comment on function ingest.tally_items is 'Counts items of the work queue that are new or change their state';

create function ingest.tally_none() returns trigger language plpgsql as $$
begin
  delete from ingest.tally where about = tg_argv[0];
  return null;
end
$$;
comment on function ingest.tally_none is 'Counts nothing any more of what was truncated';

create function ingest.recount() returns void language plpgsql as $$
begin
  lock table ingest.progress, ingest.work_item, classroom.room in share row exclusive mode;
  delete from ingest.tally;
  insert into ingest.tally (about, app_id, stream, state, slot, things, seconds, last_at)
  select 'series', app_id, stream, 'closed', 0, count(*), 0, max(updated_at)
  from (
    select app_id, stream, updated_at from ingest.progress where closed_at is not null
    union all
    select p.app_id, f.stream, null from ingest.progress p cross join lateral jsonb_object_keys(p.folded) f(stream)
    where p.folded is not null
  ) p group by app_id, stream
  union all
  select 'item', app_id, stream, state, 0, count(*), sum(ingest.item_seconds(range_from, range_to)), max(updated_at)
  from ingest.work_item group by app_id, stream, state
  union all
  select 'room', app_id, '', classroom.room_standing(state, valid_to, forgotten_at), 0, count(*), 0, null
  from classroom.room where valid_to is null group by 2, 4;
end
$$;
comment on function ingest.recount is 'Makes ingest.tally anew from what is there: after rows were loaded with the triggers off';
revoke execute on function ingest.recount from public;

-- === Progress ===

create table ingest.progress (
  app_id text not null,
  stream text not null,
  series text not null,
  version bigint not null default 0,
  cursor text,
  stream_state jsonb,
  backlog_from timestamptz,
  covered tstzmultirange not null default '{}',
  seen tstzmultirange not null default '{}',
  lost tstzmultirange not null default '{}',
  wanted tstzmultirange not null default '{}',
  epoch bigint,
  updated_at timestamptz,
  caught_up_at timestamptz,
  closed_at timestamptz,
  -- One value is promised for each step of a series: what an answer lacks is not complete.
  step int check (step > 0),
  missing tstzmultirange not null default '{}',
  unasked tstzmultirange not null default '{}',
  -- Of a room that is long over one row is left, that of its log.
  folded jsonb,
  primary key (app_id, stream, series)
-- A row is made with those of many rooms and moved soon after: where its page has room, no index is written again.
) with (fillfactor = 50);
-- What is looked for among what is open.
create index progress_open on ingest.progress (stream, app_id) where closed_at is null;
create index progress_by_time on ingest.progress (app_id, stream) where backlog_from is not null;
-- Rooms that someone wants read again from their beginning, of all apps: the daemon looks for them now and then.
create index progress_room_wanted on ingest.progress (app_id, series) where wanted <> '{}' and backlog_from is null;
create index progress_passing on ingest.progress (closed_at) where unasked <> '{}';
create index progress_over on ingest.progress (app_id, closed_at)
  where stream = 'room-events' and closed_at is not null and folded is null;

-- A room that is met again has all of its rows again, those that the same statement made included. Another room of the
-- same name has none of them, and one of which a page was read has all of them read.
create function ingest.unfold(p_app text, p_room text, p_folded jsonb, p_incarnation jsonb, p_is_other boolean, p_is_read boolean)
returns void language plpgsql as $$
begin
  update ingest.progress p set folded = null
    where p.app_id = p_app and p.stream = 'room-events' and p.series = p_room;
  insert into ingest.progress as p (app_id, stream, series, stream_state, caught_up_at, closed_at)
    select p_app, f.stream, p_room,
           case when p_is_other or f.kept -> 2 = 'null' then '{}' else f.kept -> 2 end || jsonb_build_object('incarnation', p_incarnation),
           case when not p_is_other then to_timestamp((f.kept ->> 0)::double precision) end,
           case when not p_is_read then to_timestamp((f.kept ->> 1)::double precision) end
    from jsonb_each(p_folded) f(stream, kept)
    on conflict (app_id, stream, series) do update set stream_state = excluded.stream_state, caught_up_at = excluded.caught_up_at
      where p.version = 0 and p.caught_up_at is null;
  -- They were counted all the time.
  perform ingest.tally_add('series', p_app, f.stream, 'closed', -1, 0, null) from jsonb_object_keys(p_folded) f(stream);
end
$$;
comment on function ingest.unfold is 'Gives a room the rows that were folded into that of its log';

create function ingest.unfold_room() returns trigger language plpgsql as $$
declare
  v_incarnation jsonb := coalesce(new.stream_state -> 'incarnation', '1');
begin
  perform ingest.unfold(new.app_id, new.series, old.folded, v_incarnation,
                        v_incarnation <> coalesce(old.stream_state -> 'incarnation', '1'), new.version > old.version);
  return null;
end
$$;
comment on function ingest.unfold_room is 'Gives a room whose log is met again the rows that were folded into that of its log';

-- A statement makes the rows of many rooms: those that were folded are looked for once, each by a look-up ("offset 0"),
-- since a join would read all progress.
create function ingest.unfold_rooms() returns trigger language plpgsql as $$
declare
  v_room record;
begin
  for v_room in
    select c.app_id, c.series
    from (select distinct n.app_id, n.series from came n
          where n.stream <> 'room-events' and n.backlog_from is null and n.series <> '') c
    cross join lateral (
      select from ingest.progress p
      where p.app_id = c.app_id and p.stream = 'room-events' and p.series = c.series and p.folded is not null
      offset 0
    ) p
    order by 1, 2
  loop
    perform ingest.unfold(p.app_id, p.series, p.folded, coalesce(p.stream_state -> 'incarnation', '1'), false, false)
    from (select p.* from ingest.progress p
          where p.app_id = v_room.app_id and p.stream = 'room-events' and p.series = v_room.series and p.folded is not null
          for update) p;
  end loop;
  return null;
end
$$;
comment on function ingest.unfold_rooms is 'The same of rooms of which a new series is made';

create trigger tally_new after insert on ingest.progress for each row
  when (new.closed_at is not null) execute function ingest.tally_series();
create trigger tally_change after update of closed_at on ingest.progress for each row
  when ((old.closed_at is null) is distinct from (new.closed_at is null)) execute function ingest.tally_series();
create trigger tally_gone after delete on ingest.progress referencing old table as went
  for each statement execute function ingest.tally_gone_series();
create trigger tally_none after truncate on ingest.progress for each statement execute function ingest.tally_none('series');
create trigger unfold after update on ingest.progress for each row
  when (old.folded is not null and new.folded is not null) execute function ingest.unfold_room();
create trigger unfold_for after insert on ingest.progress referencing new table as came
  for each statement execute function ingest.unfold_rooms();

-- Says what to use for a stream whose progress is not time.
create function ingest.refuse_stream(p_stream text) returns void language plpgsql stable as $$
declare
  v_stream ingest.stream;
begin
  select * into v_stream from ingest.stream s where s.stream = p_stream;
  if found then
    raise exception 'the progress of stream % is not a range of time', p_stream
      using errcode = 'invalid_parameter_value',
        hint = case when v_stream.scope = 'room' then 'Per room, ingest.room_complete says whether it is whole.'
                    when v_stream.kind = 'feed' then 'What it missed stands in ingest.gap.'
                    else 'The whole list is read again and again; ingest.progress.caught_up_at tells when it was read to its end last.' end;
  end if;
  raise exception 'there is no stream %', p_stream using errcode = 'invalid_parameter_value',
    hint = (select 'Streams that answer: ' || string_agg(s.stream, ', ' order by s.place) || '.' from ingest.stream s
            where s.kind in ('window', 'substream'));
end
$$;
comment on function ingest.refuse_stream is 'Ends with an error that names what to use instead';

-- === Apps and their days ===

-- Every app of which there is a class or a call, and every one that is drained: views join it for its days.
create table ingest.app (
  app_id text primary key,
  time_zone text not null default 'UTC',
  unknown_zone text,
  user_link text not null default 'stream',
  updated_at timestamptz not null default ingest.clock()
);

create function ingest.know_apps() returns trigger language plpgsql as $$
begin
  insert into ingest.app (app_id)
  select distinct c.app_id from came c where not exists (select from ingest.app a where a.app_id = c.app_id) order by 1
  on conflict do nothing;
  return null;
end
$$;
comment on function ingest.know_apps is 'Gives an app whose first class or call is stored its row, with days of UTC until a daemon says otherwise';

-- Days of a time zone: of 23 and 25 hours where clocks are changed. A day that reaches into two days of UTC has a row for
-- each, so that a moment finds its day by an equality, and by the indexes on days of UTC.
create table ingest.calendar (
  time_zone text not null,
  utc_day date not null,
  day date not null,
  begins_at timestamptz not null,
  ends_at timestamptz not null,
  primary key (utc_day, time_zone, day)
);
comment on table ingest.calendar is 'Days of the time zones that apps are in, from 2020 to twenty years ahead; a moment is of the day with its UTC date that begins at or before it and ends after it';
comment on column ingest.calendar.time_zone is 'Name in the IANA database';
comment on column ingest.calendar.utc_day is 'A day of UTC that has a part of the day in it: one or two rows a day';
comment on column ingest.calendar.day is 'The day, as people in the zone say it';
comment on column ingest.calendar.begins_at is 'Its first moment, at midnight there unless clocks are changed then';
comment on column ingest.calendar.ends_at is 'First moment of the next day';
create index calendar_by_day on ingest.calendar (time_zone, day);

-- Postgres takes a midnight that comes twice for the second, and one that never comes for the moment of the change.
create function ingest.begin_of_day(p_day date, p_zone text) returns timestamptz language sql stable parallel safe as $$
  select min(b.at - e.earlier) from (select p_day::timestamp at time zone p_zone as at) b
  cross join (values (interval '0'), (interval '30 minutes'), (interval '1 hour')) e(earlier)
  where ((b.at - e.earlier) at time zone p_zone)::date >= p_day
$$;
comment on function ingest.begin_of_day is 'First moment of a day in a time zone';

create function ingest.keep_calendar(p_zone text) returns void language sql volatile as $$
  with day as materialized (
    select n.day::date, ingest.begin_of_day(n.day::date, p_zone) as begins_at
    from generate_series(timestamp '2020-01-01', (ingest.clock() + interval '20 years') at time zone 'UTC', interval '1 day') n(day)
  ), whole as (
    select d.day, d.begins_at, lead(d.begins_at) over (order by d.day) as ends_at from day d
  ), part as materialized (
    select u.day::date as utc_day, w.day, w.begins_at, w.ends_at
    from whole w
    cross join lateral generate_series(date_trunc('day', w.begins_at at time zone 'UTC'),
                                       (w.ends_at - interval '1 microsecond') at time zone 'UTC', interval '1 day') u(day)
    where w.begins_at < w.ends_at
  ), gone as (
    delete from ingest.calendar c
    where c.time_zone = p_zone and not exists (select from part p where p.utc_day = c.utc_day and p.day = c.day)
  )
  insert into ingest.calendar as c (time_zone, utc_day, day, begins_at, ends_at)
  select p_zone, p.utc_day, p.day, p.begins_at, p.ends_at from part p order by 2, 3
  on conflict (time_zone, utc_day, day) do update set begins_at = excluded.begins_at, ends_at = excluded.ends_at
    where (c.begins_at, c.ends_at) is distinct from (excluded.begins_at, excluded.ends_at)
$$;
comment on function ingest.keep_calendar is
  'Writes the days of a time zone, as the database now knows its rules; penstock migrate up does it again for all zones';
select ingest.keep_calendar('UTC');

create function ingest.knows_zone(p_zone text) returns boolean language plpgsql stable as $$
begin
  perform ingest.clock() at time zone p_zone;
  return true;
exception when invalid_parameter_value then
  return false;
end
$$;
comment on function ingest.knows_zone is 'Whether this Postgres knows the rules of a time zone: Node, which read its name, may know newer ones';

create function ingest.know_zone() returns trigger language plpgsql as $$
begin
  if not exists (select from ingest.calendar c where c.time_zone = new.time_zone) then
    perform ingest.keep_calendar(new.time_zone);
  end if;
  return null;
end
$$;
comment on function ingest.know_zone is 'Makes the days of a time zone that no app was in before';
create trigger know_zone after insert or update of time_zone on ingest.app for each row execute function ingest.know_zone();

-- The clock is asked once, and only then are days looked up.
create function ingest.whole_days(p_app text, p_from timestamptz)
returns table (day date, begins_at timestamptz, ends_at timestamptz, days_ago int, told_until timestamptz) language sql stable parallel safe as $$
  select d.day, d.begins_at, d.ends_at, now.today - d.day, least(d.ends_at, now.at)
  from (select c.at, c.zone, (c.at at time zone c.zone)::date as today
        from (select ingest.clock() as at, coalesce((select a.time_zone from ingest.app a where a.app_id = p_app), 'UTC') as zone offset 0) c
        offset 0) now
  join ingest.calendar d on d.time_zone = now.zone and d.day between now.today - 90 and now.today
    and d.utc_day = (d.begins_at at time zone 'UTC')::date
  where d.begins_at >= greatest(p_from, now.at - interval '90 days')
$$;
comment on function ingest.whole_days is 'Days of an app, in its time zone, that do not begin before a moment, to today; at most ninety';

create table ingest.stream_off (
  app_id text not null, stream text not null, off_at timestamptz not null, on_at timestamptz,
  primary key (app_id, stream, off_at)
);
comment on table ingest.stream_off is 'When which streams of an app were switched off in the configuration: what is complete is not judged by them meanwhile';
comment on column ingest.stream_off.off_at is 'When a daemon first drained the app without the stream';
comment on column ingest.stream_off.on_at is 'When one first drained it with the stream again; null while it is off';

create view ingest.stream_off_time as
  select o.app_id, o.stream, range_agg(tstzrange(o.off_at, o.on_at)) as off, max(o.off_at) filter (where o.on_at is null) as off_since
  from ingest.stream_off o
  group by o.app_id, o.stream;
comment on view ingest.stream_off_time is 'All times during which a stream of an app was off';
comment on column ingest.stream_off_time.off_since is 'Null of a stream that is on';

-- === The ledger of requests ===

create table ingest.history (
  mark text primary key,
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null
);
comment on table ingest.history is 'Histories of this database: a failover to a standby that lagged behind, or a restored backup, begins a new one';
comment on column ingest.history.mark is 'The system identifier and the timeline of the server';
comment on column ingest.history.first_seen_at is 'When it was first written in';
comment on column ingest.history.last_seen_at is 'What was written before this moment was not lost by the change to the next one';

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

create table ingest.budget (
  scope text not null,
  limit_group text not null,
  last_n bigint not null default 0,
  last_sent_at timestamptz not null default '-infinity',
  clock_at timestamptz not null default '-infinity',
  history text,
  primary key (scope, limit_group)
);

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
  told_all boolean,
  primary key (scope, limit_group, n)
);
create index debit_by_end on ingest.debit (scope, limit_group, least(settled_at, dead_at));
create index debit_by_time on ingest.debit using brin (sent_at);
create index debit_unread on ingest.debit (app_id, limit_group, n) where gap_id is null and outcome is distinct from 'committed' and outcome is distinct from 'refused';

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
  select * into head from ingest.budget b where b.scope = p_scope and b.limit_group = p_group for update;
  if not found then
    insert into ingest.budget (scope, limit_group) values (p_scope, p_group) on conflict do nothing;
    select * into head from ingest.budget b where b.scope = p_scope and b.limit_group = p_group for update;
  end if;
  -- After the head: whoever waits for it must not keep the shard from passing on.
  perform 1 from ingest.ownership o
    where o.shard = p_shard and o.owner = p_owner and o.epoch = p_epoch
    for share;
  if not found then
    verdict := 'fenced';
    return;
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

-- Debits many requests, each by itself. Heads are locked in a fixed order, and one that somebody else holds is not waited
-- for: it is answered with `busy`, so that it keeps nobody but its own from being debited.
create function ingest.take_together(p_debits json)
returns table (place int, verdict text, n bigint, wait_ms double precision, now_ms double precision, ahead_ms double precision)
language plpgsql as $$
declare
  d record;
begin
  for d in
    select r.* from json_to_recordset(p_debits)
      as r(place int, scope text, "group" text, app text, operation text, purpose text, shard int, owner text, epoch bigint,
           requests int[], windows double precision[], arrives_within interval, time_floor double precision, time_ceiling double precision)
    order by r.scope, r."group", r.place
  loop
    place := d.place;
    perform from ingest.budget b where b.scope = d.scope and b.limit_group = d."group" for update skip locked;
    if not found then
      insert into ingest.budget (scope, limit_group) values (d.scope, d."group") on conflict do nothing;
    end if;
    if found then
      select t.verdict, t.n, t.wait_ms, t.now_ms, t.ahead_ms into verdict, n, wait_ms, now_ms, ahead_ms
        from ingest.take(d.scope, d."group", d.app, d.operation, d.purpose, d.shard, d.owner, d.epoch, d.requests, d.windows,
                         d.arrives_within, to_timestamp(d.time_floor / 1000), to_timestamp(d.time_ceiling / 1000)) t;
    else
      verdict := 'busy';
    end if;
    return next;
  end loop;
end
$$;
comment on function ingest.take_together is 'The same for many requests at once; busy where somebody else is debiting just now';

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

-- === Gaps ===

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
  updated_at timestamptz not null default ingest.clock(),
  -- By what was lost days and rooms are judged for ever: long after, one row is left of what is alike.
  stands_for int,
  extent double precision
);
create unique index gap_key on ingest.gap
  (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) nulls not distinct;
create index gap_expiry on ingest.gap (recoverable_until) where state = 'open';
create index gap_open on ingest.gap (app_id, stream, reason) include (recoverable_until) where state = 'open';
create index gap_lost on ingest.gap (updated_at) where state = 'lost';
create index gap_repaired on ingest.gap (updated_at) where state = 'repaired';
-- What was never served makes nothing incomplete, and goes when no answer can change it any more.
create index gap_absent on ingest.gap (updated_at) where state = 'absent';
create index gap_over on ingest.gap (updated_at) where state = 'lost' and stands_for is null;
create index gap_folded on ingest.gap (app_id, stream, reason, range_from) where stands_for is not null;
create index gap_count on ingest.gap (app_id, stream, state, reason) include (stands_for);

create view ingest.loss as
  select g.app_id, g.stream, g.series, g.state, g.reason,
         case g.reason
           when 'hole' then 'numbers are missing between two events of a log'
           when 'room_forgotten' then 'the provider had forgotten the room before its log was read'
           when 'room_reused' then 'the room was used again before its log was read'
           when 'unread_answer' then 'an answer of the feed was asked for and never stored'
           when 'pause' then 'for longer than the provider remembers nobody asked, or the feed never told all'
           when 'expired' then 'left the reach of the plan before it was read'
           when 'unconfirmed' then 'was read, but left the reach before it was final'
           when 'overflow' then 'more in one second than the provider lists'
           when 'refused' then 'the provider rejects the question'
           when 'too_large' then 'the answer is too large in every size'
           when 'vanished' then 'the provider does not know the call'
           when 'unreadable' then 'was served to the end in no shape that can be read'
         end as why,
         g.range_from, g.range_to,
         case when g.unit = 'time' then coalesce(g.extent, extract(epoch from g.range_to - g.range_from)::double precision) end / 60 as minutes,
         g.incarnation, g.sequence_from, g.sequence_to,
         case when g.unit = 'sequence' then coalesce(g.extent::bigint, g.sequence_to - g.sequence_from + 1) end as events,
         g.first_seen_at, g.recoverable_until, g.detail, coalesce(g.stands_for, 1) as stands_for
  from ingest.gap g
  where g.state in ('open', 'lost');
comment on view ingest.loss is 'What was lost, or may still be, and why';
comment on column ingest.loss.state is 'lost: cannot be had any more; open: may still be had';
comment on column ingest.loss.minutes is 'Of time: all minutes that are lost';
comment on column ingest.loss.events is 'Of sequences: how many are lost';
comment on column ingest.loss.first_seen_at is 'Since when it is known';
comment on column ingest.loss.recoverable_until is 'After this moment the provider no longer has it; null where that is not known';
comment on column ingest.loss.detail is 'What the state does not cover, where there is something to say';
comment on column ingest.loss.stands_for is 'How many losses the row stands for; more than one only when they are 400 days old';

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
create index divergence_open on ingest.divergence (seen_at) where resolved_at is null;
create index divergence_resolved on ingest.divergence (resolved_at) where resolved_at is not null;

-- === Dead letters ===

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
-- Counted without their bytes.
create index dead_letter_by_reason on ingest.dead_letter (app_id, stream, reason) include (occurrences, last_seen_at);
create index dead_letter_by_day on ingest.dead_letter (app_id, stream, reason, received_at);
create index dead_letter_by_age on ingest.dead_letter (last_seen_at);
-- What could not be read was not understood either: secrets are taken out of it by their names alone, as far as it goes.
-- So its bytes are for those who look after the daemon, and their digest too, by which a guess could be tried.
revoke select on ingest.dead_letter from penstock_read;
grant select (id, app_id, stream, series, reason, detail, received_at, last_seen_at, occurrences)
  on ingest.dead_letter to penstock_read;

create view ingest.dead_letter_count as
  select d.app_id, d.stream, d.reason, count(*)::int as items, sum(d.occurrences)::bigint as occurrences,
         min(d.received_at) as first_at, max(d.last_seen_at) as last_at, min(d.detail) as example
  from ingest.dead_letter d
  group by d.app_id, d.stream, d.reason;
comment on view ingest.dead_letter_count is 'What arrived and could not be used, by stream and reason';
comment on column ingest.dead_letter_count.items is 'Different items; occurrences counts how often they came';
comment on column ingest.dead_letter_count.example is 'Detail of one of them: which field broke which rule, or how the provider refused';

-- Dead letters have a cap a day and an end; what is complete must know of those that are not kept all the same.
create table ingest.unkept_letter (
  app_id text not null, stream text not null, series text not null, reason text not null,
  letters bigint not null, last_seen_at timestamptz not null,
  primary key (app_id, stream, series, reason)
);
comment on table ingest.unkept_letter is 'Dead letters that are not in ingest.dead_letter: beyond the thousand that are kept of a stream and reason a day, or older than letters are kept; of the latter those alone by which rooms are judged';
comment on column ingest.unkept_letter.letters is 'How many; what came again and was not kept again counts again';
comment on column ingest.unkept_letter.last_seen_at is 'When the last of them came';

create function ingest.letters_left(p_app text, p_stream text, p_reason text) returns bigint
language sql stable parallel safe as $$
  select 1000 - count(*) from (
    select from ingest.dead_letter d
    where d.app_id = p_app and d.stream = p_stream and d.reason = p_reason
      and d.received_at >= date_trunc('day', ingest.clock(), 'UTC') limit 1000
  ) kept
$$;
comment on function ingest.letters_left is 'How many more dead letters of a stream and reason are kept today';

-- An item of a page that could not be read is a dead letter, and its page goes on. What it would have told is missing all
-- the same, so nothing that it belongs to is complete. A log does not come back to its items: such a letter counts for as
-- long as the room does. A list is read whole each time: a letter counts while the last reading still met it. Of a log that
-- is read again from its beginning, the letters of the room's former life are older than what is asked for.
create function ingest.unreadable_items(p_app text, p_stream text, p_series text, p_since timestamptz, p_read_at timestamptz)
returns bigint language sql stable parallel safe as $$
  select coalesce(sum(d.letters), 0)::bigint from (
    select 1 as letters, reason, last_seen_at from ingest.dead_letter
    where app_id = p_app and stream = p_stream and series = p_series
    union all
    select letters, reason, last_seen_at from ingest.unkept_letter
    where app_id = p_app and stream = p_stream and series = p_series
  ) d
  where d.reason in ('not_an_object', 'missing_key', 'wrong_type', 'out_of_range', 'store_refused')
    and d.last_seen_at >= p_since - interval '1 minute'
    and (ingest.stream_kind(p_stream) is distinct from 'snapshot' or d.last_seen_at >= p_read_at - interval '1 minute')
$$;
comment on function ingest.unreadable_items is
  'Items of a room''s log or list that came and could not be read since the room was first seen; of a list, those that its last reading met';
revoke execute on function ingest.unreadable_items from public;
grant execute on function ingest.unreadable_items to penstock_runtime, penstock_read;

-- === People who are forgotten ===

-- The key of the hashes below: whoever lacks it cannot try who it was. For the daemon alone.
create table ingest.forget_key (key bytea not null);
insert into ingest.forget_key select sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8'));
comment on table ingest.forget_key is 'Key of the hashes in ingest.forgotten, made by the migration; whoever has it can try who was forgotten';
comment on column ingest.forget_key.key is 'A secret of this database';
revoke select on ingest.forget_key from penstock_read;

create table ingest.forgotten (
  app_id text not null,
  kind text not null check (kind in ('user', 'uid', 'room')),
  mark bytea not null,
  forgotten_at timestamptz not null default ingest.clock(),
  forgotten_by text not null default session_user,
  rows jsonb not null default '{}',
  primary key (app_id, kind, mark)
);
comment on table ingest.forgotten is 'Whom penstock forget took out, without saying who: what comes later of them is masked before it is written';
comment on column ingest.forgotten.app_id is 'App ID of the project';
comment on column ingest.forgotten.kind is 'By what: user (user_uuid of classrooms), uid (of calls), or room: everyone who was in it';
comment on column ingest.forgotten.mark is 'Keyed hash of the ID; ingest.forget_key holds the key';
comment on column ingest.forgotten.forgotten_at is 'When it was asked for first, our clock';
comment on column ingest.forgotten.forgotten_by is 'Login role of whoever asked';
comment on column ingest.forgotten.rows is 'How many rows of each table were masked, all times together';

-- Every commit says how many it knew to be forgotten, and holds that until it ends. Whoever forgets someone waits for those
-- that are under way; those that come too early fail and begin again with one mask more.
create function ingest.hold_forgotten(p_app text, p_known bigint) returns boolean language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('penstock forgotten of ' || p_app, 0));
  if p_known <> (select count(*) from ingest.forgotten f where f.app_id = p_app) then
    raise exception 'someone was forgotten meanwhile' using errcode = 'PF001';
  end if;
  return true;
end
$$;
comment on function ingest.hold_forgotten is 'Ends a commit with PF001 that did not know of everyone who is forgotten';
revoke execute on function ingest.hold_forgotten from public;
grant execute on function ingest.hold_forgotten to penstock_runtime;

create function ingest.remember_forgotten(p_app text, p_kind text, p_mark bytea) returns boolean language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('penstock forgotten of ' || p_app, 0));
  insert into ingest.forgotten (app_id, kind, mark) values (p_app, p_kind, p_mark) on conflict do nothing;
  return found;
end
$$;
comment on function ingest.remember_forgotten is 'Has everything that is committed from now on masked; waits for the commits that are under way';
revoke execute on function ingest.remember_forgotten from public;
grant execute on function ingest.remember_forgotten to penstock_runtime;

-- === Work list ===

create table ingest.work_item (
  app_id text not null,
  stream text not null,
  item text not null,
  part text not null,
  range_from timestamptz not null,
  range_to timestamptz not null,
  ask jsonb,
  state text not null default 'pending' check (state in ('pending', 'done', 'lost', 'split')),
  origin text not null default 'live' check (origin in ('live', 'backfill')),
  page int not null default 1,
  stream_state jsonb,
  version bigint not null default 0,
  failures int not null default 0,
  not_before timestamptz,
  created_at timestamptz not null default ingest.clock(),
  updated_at timestamptz not null default ingest.clock(),
  -- A large answer may be more than a process can hold. Who is about to read one says so here, so that the next owner
  -- asks for less where this one did not live to store it. Whatever else becomes of the item raises its version.
  in_hand_of text,
  in_hand_version int,
  -- Details that are to be fetched once more are what they were before, where that can no longer be done.
  falls_back_to text check (falls_back_to in ('done', 'lost')),
  set_aside int not null default 0,
  refused_as text,
  -- Of a call whose work is long over one item is left, by which it is known to be done, or not to be whole.
  folded boolean not null default false,
  primary key (app_id, stream, item, part)
);
comment on table ingest.work_item is 'What one stream has found and another fetches once: sessions of a call, metrics of sessions';
comment on column ingest.work_item.item is 'call_id';
comment on column ingest.work_item.part is 'Tells the items of one call apart';
comment on column ingest.work_item.range_from is 'What is asked for begins here ...';
comment on column ingest.work_item.range_to is '... and ends here, both included';
comment on column ingest.work_item.ask is 'What else the question needs';
comment on column ingest.work_item.state is 'pending: to be fetched; done: stored; lost: given up, in ingest.gap; split: smaller items stand for it';
comment on column ingest.work_item.origin is 'backfill: someone asked for it once more';
comment on column ingest.work_item.page is 'Page to ask for next, from 1';
comment on column ingest.work_item.stream_state is 'What must be remembered from page to page; null when it is done';
comment on column ingest.work_item.version is 'Raised by every change; a page that was read for another version writes nothing';
comment on column ingest.work_item.failures is 'Failures in a row';
comment on column ingest.work_item.not_before is 'Not tried again before this; null: at once';
comment on column ingest.work_item.in_hand_of is 'Owner that was last about to read a large answer to it';
comment on column ingest.work_item.in_hand_version is 'Version of the item then: while it is still that, the answer was neither stored nor refused';
comment on column ingest.work_item.falls_back_to is 'What it was when someone asked for it once more, and is again where it cannot be had any more; null of an item that nobody asked for once more';
comment on column ingest.work_item.set_aside is 'What the last reading could not read and set aside as dead letters; until there is none the item is pending';
comment on column ingest.work_item.refused_as is 'With failures: what the last of them makes of the item should it leave the reach before it is had, a reason as in ingest.gap; null: expired';
comment on column ingest.work_item.folded is 'The one item that is left of a call whose work is long over';
-- What is done grows without end and is in neither of the first two.
create index work_item_pending on ingest.work_item (app_id, stream, range_from) where state = 'pending';
create index work_item_lost on ingest.work_item (app_id, stream, item) where state = 'lost';
create index work_item_over on ingest.work_item (range_to) where state in ('done', 'split', 'lost') and not folded;
create trigger tally_new after insert on ingest.work_item referencing new table as came
  for each statement execute function ingest.tally_items();
create trigger tally_change after update on ingest.work_item referencing old table as went new table as came
  for each statement execute function ingest.tally_items();
create trigger tally_gone after delete on ingest.work_item referencing old table as went
  for each statement execute function ingest.tally_items();
create trigger tally_none after truncate on ingest.work_item for each statement execute function ingest.tally_none('item');

-- The backlog is told up to this moment, so it includes what is still too young to be asked for.
create view ingest.backlog as
  select p.app_id, p.stream, p.series, o.seconds, u.seconds as unread_seconds, o.oldest, null::bigint as items,
         l.seconds as lost_seconds, null::bigint as lost_items
  from ingest.progress p
  cross join lateral (
    select tstzmultirange(tstzrange(p.backlog_from, greatest(p.backlog_from, ingest.clock()))) - p.covered - p.lost - p.unasked + p.wanted as ranges
  ) x
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds, min(lower(r)) as oldest
                      from unnest(x.ranges) r) o
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds
                      from unnest(x.ranges - p.seen + p.wanted) r) u
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds from unnest(p.lost) r) l
  where p.backlog_from is not null and p.closed_at is null and p.stream in (select k.stream from ingest.stream k where k.kind = 'window')
  union all
  select w.app_id, w.stream, '', w.seconds, w.seconds,
         (select min(i.range_from) from ingest.work_item i where i.app_id = w.app_id and i.stream = w.stream and i.state = 'pending'),
         w.items, w.lost_seconds, w.lost_items
  from (select t.app_id, t.stream, coalesce(sum(t.things) filter (where t.state = 'pending'), 0)::bigint as items,
               coalesce(sum(t.seconds) filter (where t.state = 'pending'), 0)::bigint as seconds,
               coalesce(sum(t.things) filter (where t.state = 'lost'), 0)::bigint as lost_items,
               coalesce(sum(t.seconds) filter (where t.state = 'lost'), 0)::bigint as lost_seconds
        from ingest.tally t where t.about = 'item' group by 1, 2) w
  where w.items > 0 or w.lost_items > 0;
comment on view ingest.backlog is 'What of each series is still to be read, and what of it is lost; of details of calls, the work queue as a whole';
comment on column ingest.backlog.seconds is 'Seconds up to now that are not final; of details, the sum of what the items ask for';
comment on column ingest.backlog.unread_seconds is 'Those of them that were never read, or that someone asked for once more';
comment on column ingest.backlog.oldest is 'Begin of the oldest of it: what can no longer be had first';
comment on column ingest.backlog.items is 'Items of the work queue that are pending; null for a stream whose progress is time';
comment on column ingest.backlog.lost_seconds is 'Seconds that were given up; ingest.gap says why';
comment on column ingest.backlog.lost_items is 'Items of the work queue that were given up';

-- Marks what is to be fetched once more; the running daemon does the work. Answers how many series or items.
create function ingest.mark_wanted(p_stream text, p_app text, p_series text, p_from timestamptz, p_to timestamptz) returns int
language plpgsql as $$
declare
  v_from timestamptz := date_trunc('second', p_from);
  v_to timestamptz := least(p_to, date_trunc('second', ingest.clock()));
  v_marked int := 0;
begin
  if p_from is null or p_to is null or p_from >= p_to then
    raise exception 'the range ends before it begins' using errcode = 'invalid_parameter_value';
  end if;
  case ingest.stream_kind(p_stream)
    when 'window' then
      if v_from < v_to then
        update ingest.progress p
          set wanted = p.wanted + tstzmultirange(tstzrange(v_from, v_to)), backlog_from = least(p.backlog_from, v_from)
          where p.app_id = p_app and p.stream = p_stream and p.backlog_from is not null and p.closed_at is null
            and (p_series is null or p.series = p_series);
        get diagnostics v_marked = row_count;
      end if;
    when 'substream' then
      update ingest.work_item w
        set state = 'pending', falls_back_to = w.state, origin = 'backfill', page = 1, stream_state = null, version = w.version + 1,
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
comment on function ingest.mark_wanted is
  'Marks a range of time, or the details of the calls that start in it, to be fetched once more; of one series (of details: of one call) where it is given';

-- === Players that are wanted ===

-- Players are made by hand, once each, whatever becomes of the answers: what is wanted is written here before it is
-- asked for. A name is unique in a project, so it finds the player of an intent whose answer nobody got.
create table ingest.intent (
  app_id text not null,
  name text not null,
  channel_name text not null,
  request_hash text not null,
  created_at timestamptz not null default ingest.clock(),
  attempts int not null default 1,
  state text not null default 'open' check (state in ('open', 'done', 'failed')),
  player_id text,
  updated_at timestamptz not null default ingest.clock(),
  -- A list does not tell the region of a player; whoever made it here knows.
  region text,
  primary key (app_id, name)
);
comment on table ingest.intent is 'Players that somebody wanted, written down before they were asked for; kept 30 days';
comment on column ingest.intent.name is 'Name of the player; made up where none was given';
comment on column ingest.intent.request_hash is 'Digest of what the player is to be like, secrets left out: another one under the same name is another intent';
comment on column ingest.intent.attempts is 'Requests that were sent, or were about to be';
comment on column ingest.intent.state is 'open: nobody knows how the last attempt ended; done: the player was made; failed: it was refused';
comment on column ingest.intent.player_id is 'The player that was made';
comment on column ingest.intent.updated_at is 'When the last attempt was about to be sent, or when it was known how it ended';
comment on column ingest.intent.region is 'Region in which the player was asked for; null of what was asked for before this was kept';
create index intent_by_age on ingest.intent (updated_at);
create index intent_by_player on ingest.intent (app_id, player_id) where player_id is not null;

-- === Fields of the quiz and poll logs ===

-- The fields of an item may stand in it or under its data.
create function ingest.widget_field(p_item jsonb, p_name text) returns jsonb language sql immutable parallel safe as $$
  select case when coalesce(p_item -> 'changeProperties', 'null') <> 'null' or jsonb_typeof(p_item -> 'data') is distinct from 'object'
              then p_item -> p_name
              else coalesce(p_item -> 'data' -> p_name, p_item -> p_name) end
$$;
comment on function ingest.widget_field is 'A field of an item of the quiz or poll logs, wherever it stands';

create function ingest.whole_number(p_value jsonb) returns int language sql immutable parallel safe as $$
  select case when jsonb_typeof(p_value) = 'number' and p_value::text ~ '^-?[0-9]{1,9}$' then (p_value #>> '{}')::int end
$$;
comment on function ingest.whole_number is 'A JSON value as an integer of at most nine digits; null where it is none';

-- === Partitions ===

-- Nobody but the owner of the tables can make and drop tables, and the daemon is not the owner. Some of these functions act
-- as the owner, on three tables of schema analytics only. A lock that is not had within two seconds is given up: commits
-- queue behind it meanwhile.
create function ingest.partition_unit(p_table text) returns text language plpgsql immutable as $$
begin
  return case p_table
    when 'session_series' then 'week'
    when 'usage_realtime' then 'month'
    when 'quality_realtime' then 'month'
  end;
end
$$;
comment on function ingest.partition_unit is 'How much time one partition of a table of schema analytics holds; null for a table without partitions';

create function ingest.partition_ranges(p_table text) returns table (name text, range tstzrange)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select c.relname::text, tstzrange((b.ends)[1]::timestamptz, (b.ends)[2]::timestamptz)
  from pg_inherits i
  join pg_class c on c.oid = i.inhrelid
  cross join lateral regexp_match(pg_get_expr(c.relpartbound, c.oid), $re$FROM \('([^']+)'\) TO \('([^']+)'\)$re$) b(ends)
  where i.inhparent = format('analytics.%I', p_table)::regclass and b.ends is not null
$$;
comment on function ingest.partition_ranges is 'The partitions of a table of schema analytics and the time that each holds; without the default one';

-- Also the units that rows of the default one belong to, from a moment of their own on, so that a daemon which was away
-- for long catches up.
create function ingest.partitions_due(p_table text, p_from timestamptz, p_to timestamptz, p_rows_from timestamptz)
returns setof timestamptz
language plpgsql stable set timezone = 'UTC' as $$
declare
  v_unit text := ingest.partition_unit(p_table);
begin
  return query execute format($due$
    with recursive filled(at) as (
      select date_trunc(%1$L, min(d.at)) from analytics.%3$I d where d.at >= $3 and d.at < $2
      union all
      select (select date_trunc(%1$L, min(d.at)) from analytics.%3$I d where d.at >= f.at + '1 %2$s'::interval and d.at < $2)
      from filled f where f.at is not null
    ), taken as (
      select range_agg(r.range) as ranges from ingest.partition_ranges(%4$L) r
    )
    select due.at from (
      select s.at from generate_series(date_trunc(%1$L, $1), $2, '1 %2$s'::interval) s(at)
      union
      select f.at from filled f where f.at is not null
    ) due cross join taken t
    where not coalesce(t.ranges @> tstzrange(due.at, due.at + '1 %2$s'::interval), false)
    order by 1 $due$, v_unit, v_unit, p_table || '_default', p_table) using p_from, p_to, p_rows_from;
end
$$;
comment on function ingest.partitions_due is 'Begins of the weeks or months that a table lacks a partition for, in whole or in part';

-- Answers made; part where the rows of the default partition fill more than one such step, and the next one goes on; there;
-- or busy where the table is in use: its rows go to the default partition meanwhile.
-- A row must be seen exactly once at every moment, so the rows of a range move in the same transaction that attaches
-- it, while nobody else can touch the table: one who had only to wait for the default partition would go on without the
-- new one, and without its rows. Whoever reads or commits waits for that, no longer than his lock_timeout. Hence a
-- partition takes as much of its unit as has so many rows and no more; the rest of the unit gets others.
create function ingest.make_partition(p_table text, p_at timestamptz, p_most int default 20000) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
declare
  v_unit text := ingest.partition_unit(p_table);
  v_default text := p_table || '_default';
  v_begin timestamptz := date_trunc(v_unit, p_at);
  v_range tstzrange;
  v_first timestamptz;
  v_cut timestamptz;
  v_name text;
begin
  if v_unit is null or p_at not between '1970-01-01' and '9999-12-31' or p_most < 1 then
    raise exception 'there are no such partitions' using errcode = 'invalid_parameter_value';
  end if;
  -- One at a time, and what another one has just made is seen only after the lock.
  execute format('lock table analytics.%I in share update exclusive mode', p_table);
  select free.r into v_range
    from unnest(tstzmultirange(tstzrange(v_begin, v_begin + ('1 ' || v_unit)::interval))
                - coalesce((select range_agg(t.range) from ingest.partition_ranges(p_table) t), '{}'::tstzmultirange)) free(r)
    order by free.r limit 1;
  if v_range is null then
    return 'there';
  end if;
  execute format('select d.at from analytics.%I d where d.at >= $1 and d.at < $2 order by d.at offset $3 limit 1', v_default)
    into v_cut using lower(v_range), upper(v_range), p_most;
  execute format('select min(d.at) from analytics.%I d where d.at >= $1 and d.at < $2', v_default)
    into v_first using lower(v_range), upper(v_range);
  if v_cut = v_first then
    -- More rows at one moment than are moved at once cannot be parted.
    execute format('select min(d.at) from analytics.%I d where d.at > $1 and d.at < $2', v_default)
      into v_cut using v_first, upper(v_range);
  end if;
  v_range := tstzrange(lower(v_range), coalesce(v_cut, upper(v_range)));
  v_name := p_table || to_char(lower(v_range), case when lower(v_range) = v_begin then '_YYYYMMDD' else '_YYYYMMDD_HH24MISSUS' end);

  execute format('lock table only analytics.%I in access exclusive mode', p_table);
  execute format('lock table analytics.%I in access exclusive mode', v_default);
  execute format('create table analytics.%I (like analytics.%I including all)', v_name, p_table);
  execute format('with moved as (delete from analytics.%I where at >= %L and at < %L returning *) insert into analytics.%I select * from moved',
                 v_default, lower(v_range), upper(v_range), v_name);
  execute format('alter table analytics.%I attach partition analytics.%I for values from (%L) to (%L)',
                 p_table, v_name, lower(v_range), upper(v_range));
  return case when v_cut is null then 'made' else 'part' end;
exception when lock_not_available or deadlock_detected then
  return 'busy';
end
$$;
comment on function ingest.make_partition is 'Makes the next partition that the week or month of a moment lacks, and moves the rows there that it should hold, so many at most';

-- Answers how many partitions went, the oldest first and so many at most. What is left for want of a lock goes the next time.
create function ingest.drop_partitions(p_table text, p_before timestamptz, p_most int default 4) returns int
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
    select r.name from ingest.partition_ranges(p_table) r where upper(r.range) <= p_before order by r.range limit p_most
  loop
    execute format('alter table analytics.%I detach partition analytics.%I', p_table, v_child);
    execute format('drop table analytics.%I', v_child);
    v_dropped := v_dropped + 1;
  end loop;
  return v_dropped;
exception when lock_not_available or deadlock_detected then
  return 0;
end
$$;
comment on function ingest.drop_partitions is 'Drops partitions of one of the partitioned tables that end before a moment';

-- === Rights on functions ===

-- What only the daemon calls. Triggers call their functions with the rights of whoever writes; readers write nothing.
revoke execute on function
  ingest.attend, ingest.own, ingest.not_overtaken, ingest.tally_slot, ingest.tally_add, ingest.tally_series,
  ingest.tally_gone_series, ingest.tally_rooms, ingest.tally_new_rooms, ingest.tally_items, ingest.tally_none,
  ingest.unfold, ingest.unfold_room, ingest.unfold_rooms, ingest.history_mark, ingest.budget_time, ingest.settle_time, ingest.first_debit,
  ingest.assume_lost, ingest.take, ingest.take_together, ingest.spent, ingest.letters_left, ingest.mark_wanted, ingest.partition_unit,
  ingest.partition_ranges, ingest.partitions_due, ingest.make_partition, ingest.drop_partitions, ingest.know_apps,
  ingest.know_zone, ingest.knows_zone, ingest.keep_calendar
from public;
grant execute on function
  ingest.attend, ingest.own, ingest.not_overtaken, ingest.tally_slot, ingest.tally_add, ingest.tally_series,
  ingest.tally_gone_series, ingest.tally_rooms, ingest.tally_new_rooms, ingest.tally_items, ingest.tally_none,
  ingest.unfold, ingest.unfold_room, ingest.unfold_rooms, ingest.history_mark, ingest.budget_time, ingest.settle_time, ingest.first_debit,
  ingest.assume_lost, ingest.take, ingest.take_together, ingest.spent, ingest.letters_left, ingest.mark_wanted, ingest.partition_unit,
  ingest.partition_ranges, ingest.partitions_due, ingest.make_partition, ingest.drop_partitions, ingest.know_apps,
  ingest.know_zone, ingest.knows_zone, ingest.keep_calendar
to penstock_runtime;
grant execute on function ingest.clock, ingest.widget_field, ingest.whole_number to penstock_runtime;

reset role;

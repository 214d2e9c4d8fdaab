-- What is over only ever grows: series of rooms that are closed, items that are done, rooms that are forgotten. It is
-- counted where it changes, so that whoever asks how many there are does not read five years of rows.
set local role penstock_migrate;

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
comment on table ingest.tally is 'How many series, items of the worklist and rooms there are, by state; kept in the statements that change them';
comment on column ingest.tally.about is 'series: those of ingest.progress that are closed; item: those of ingest.worklist; room: those of classroom.room that their room_uuid means now';
comment on column ingest.tally.stream is 'Empty of rooms';
comment on column ingest.tally.slot is 'Which of the transactions that counted at one time this is the share of: the count is the sum over all slots';
comment on column ingest.tally.things is 'How many; may be negative in one slot';
comment on column ingest.tally.seconds is 'Of items, the sum of what they ask for';
comment on column ingest.tally.last_at is 'When the last one came to this state';

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

create function classroom.room_standing(p_state int, p_valid_to timestamptz, p_forgotten_at timestamptz) returns text
language sql immutable parallel safe as $$
  select case when p_valid_to is not null then null
              when p_forgotten_at is not null then 'forgotten'
              else coalesce((array['not_started', 'started', 'ended', 'closed'])[p_state + 1], 'unknown') end
$$;
comment on function classroom.room_standing is 'How a room is counted: by its state, or as forgotten; null of one whose room_uuid means another by now';

create function ingest.item_seconds(p_from timestamptz, p_to timestamptz) returns bigint language sql immutable parallel safe as $$
  select extract(epoch from p_to - p_from)::bigint + 1
$$;
comment on function ingest.item_seconds is 'Seconds that an item of the worklist asks for: both ends are included';

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
comment on function ingest.tally_items is 'Counts items of the worklist that are new or change their state';

create trigger tally_change after update of closed_at on ingest.progress for each row
  when ((old.closed_at is null) is distinct from (new.closed_at is null)) execute function ingest.tally_series();
create trigger tally_new after insert on ingest.progress for each row
  when (new.closed_at is not null) execute function ingest.tally_series();
create trigger tally_gone after delete on ingest.progress for each row
  when (old.closed_at is not null) execute function ingest.tally_series();
create trigger tally_change after update of state, valid_to, forgotten_at on classroom.room for each row
  when (classroom.room_standing(old.state, old.valid_to, old.forgotten_at)
        is distinct from classroom.room_standing(new.state, new.valid_to, new.forgotten_at)) execute function ingest.tally_rooms();
create trigger tally_gone after delete on classroom.room for each row execute function ingest.tally_rooms();
create trigger tally_new after insert on classroom.room referencing new table as came
  for each statement execute function ingest.tally_new_rooms();
create trigger tally_new after insert on ingest.worklist referencing new table as came
  for each statement execute function ingest.tally_items();
create trigger tally_change after update on ingest.worklist referencing old table as went new table as came
  for each statement execute function ingest.tally_items();
create trigger tally_gone after delete on ingest.worklist referencing old table as went
  for each statement execute function ingest.tally_items();

create function ingest.tally_none() returns trigger language plpgsql as $$
begin
  delete from ingest.tally where about = tg_argv[0];
  return null;
end
$$;
comment on function ingest.tally_none is 'Counts nothing any more of what was truncated';
create trigger tally_none after truncate on ingest.progress for each statement execute function ingest.tally_none('series');
create trigger tally_none after truncate on ingest.worklist for each statement execute function ingest.tally_none('item');
create trigger tally_none after truncate on classroom.room for each statement execute function ingest.tally_none('room');

create function ingest.recount() returns void language plpgsql as $$
begin
  lock table ingest.progress, ingest.worklist, classroom.room in share row exclusive mode;
  delete from ingest.tally;
  insert into ingest.tally (about, app_id, stream, state, slot, things, seconds, last_at)
  select 'series', app_id, stream, 'closed', 0, count(*), 0, max(updated_at)
  from ingest.progress where closed_at is not null group by app_id, stream
  union all
  select 'item', app_id, stream, state, 0, count(*), sum(ingest.item_seconds(range_from, range_to)), max(updated_at)
  from ingest.worklist group by app_id, stream, state
  union all
  select 'room', app_id, '', classroom.room_standing(state, valid_to, forgotten_at), 0, count(*), 0, null
  from classroom.room where valid_to is null group by 2, 4;
end
$$;
comment on function ingest.recount is 'Makes ingest.tally anew from what is there: after rows were loaded with the triggers off';
revoke execute on function ingest.recount from public;
select ingest.recount();

-- Triggers call them with the rights of whoever writes; readers write nothing.
revoke execute on function
  ingest.tally_slot, ingest.tally_add, ingest.tally_series, ingest.tally_rooms, ingest.tally_new_rooms, ingest.tally_items,
  ingest.tally_none
from public;
grant execute on function
  ingest.tally_slot, ingest.tally_add, ingest.tally_series, ingest.tally_rooms, ingest.tally_new_rooms, ingest.tally_items,
  ingest.tally_none
to penstock_runtime;

-- What is looked for among what is open, and among gaps and dead letters without their bytes.
create index progress_open on ingest.progress (stream, app_id) where closed_at is null;
create index progress_by_time on ingest.progress (app_id, stream) where owed_from is not null;
create index gap_count on ingest.gap (app_id, stream, state, reason);
create index gap_open on ingest.gap (app_id, stream, reason) include (recoverable_until) where state = 'open';
create index gap_lost on ingest.gap (updated_at) where state = 'lost';
create index dead_letter_by_reason on ingest.dead_letter (app_id, stream, reason) include (occurrences, last_seen_at);
create index divergence_open on ingest.divergence (seen_at) where resolved_at is null;

create or replace view ingest.owed as
  select p.app_id, p.stream, p.series, o.seconds, u.seconds as unread_seconds, o.oldest, null::bigint as items,
         l.seconds as lost_seconds, null::bigint as lost_items
  from ingest.progress p
  cross join lateral (
    select tstzmultirange(tstzrange(p.owed_from, greatest(p.owed_from, ingest.clock()))) - p.covered - p.lost + p.wanted as ranges
  ) x
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds, min(lower(r)) as oldest
                      from unnest(x.ranges) r) o
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds
                      from unnest(x.ranges - p.seen + p.wanted) r) u
  cross join lateral (select coalesce(sum(extract(epoch from upper(r) - lower(r))), 0)::bigint as seconds from unnest(p.lost) r) l
  where p.owed_from is not null and p.closed_at is null and ingest.progress_kind(p.stream) = 'window'
  union all
  select w.app_id, w.stream, '', w.seconds, w.seconds,
         (select min(i.range_from) from ingest.worklist i where i.app_id = w.app_id and i.stream = w.stream and i.state = 'owed'),
         w.items, w.lost_seconds, w.lost_items
  from (select t.app_id, t.stream, coalesce(sum(t.things) filter (where t.state = 'owed'), 0)::bigint as items,
               coalesce(sum(t.seconds) filter (where t.state = 'owed'), 0)::bigint as seconds,
               coalesce(sum(t.things) filter (where t.state = 'lost'), 0)::bigint as lost_items,
               coalesce(sum(t.seconds) filter (where t.state = 'lost'), 0)::bigint as lost_seconds
        from ingest.tally t where t.about = 'item' group by 1, 2) w
  where w.items > 0 or w.lost_items > 0;
reset role;

import { unstorable } from '../../sandbox/src/index.ts'

/**
 * A sequence stands outside of all transactions, so every snapshot sees the same time. The server's clock may be ahead of it.
 * Statements ask for the time many times: a body that reads no table is taken into the statement, as that of the true clock
 * is, and is not run as a query of its own each time.
 */
export const replaceClock = `
  create sequence ingest.virtual_time;
  create sequence ingest.clock_ahead minvalue 0 start 0;
  grant select, update on ingest.virtual_time to penstock_runtime;
  grant select on ingest.clock_ahead to penstock_runtime;
  -- What drops partitions reads the clock with the rights of their owner.
  grant select on ingest.virtual_time, ingest.clock_ahead to penstock_migrate;
  create or replace function ingest.clock() returns timestamptz language sql volatile parallel safe
    as $$ select timestamptz 'epoch' + (pg_sequence_last_value('ingest.virtual_time'::regclass)
            + pg_sequence_last_value('ingest.clock_ahead'::regclass)) * interval '1 millisecond' $$;
  -- Before it is set the first time, a sequence has no last value.
  select setval('ingest.virtual_time', 1), setval('ingest.clock_ahead', 0);`

/** Whoever waits for a lock waits in no time of the simulation, so that it must not tell how fast the machine is. */
export const waitForLocks = `
  do $$
  declare f regprocedure;
  begin
    for f in select oid from pg_proc where array_to_string(proconfig, ' ') like '%lock_timeout=%' loop
      execute format('alter function %s set lock_timeout = 0', f);
    end loop;
  end $$;`

/** A value that Postgres refuses and nobody else: whatever holds it is found, and set aside. */
export const refuseMarked = `
  alter table classroom.room_event add constraint is_storable check (data ->> 'message' is distinct from '${unstorable}');`

/**
 * Whoever moves a place must own its app at that moment, under the epoch that it names, and moves it by one version;
 * whoever takes an app over raises its epoch. Debits, gaps and work are written down by the owner alone. What a room became
 * goes by the newest that was told of it, in whatever order, and a hole of its log is repaired by what fills it. What is
 * committed against that is set down. Debits are dated a second time, by the world's clock, and settled as stored in the
 * transaction that moves what they were made for.
 */
export const watchWriters = `
  create schema simulated;
  create function simulated.now() returns timestamptz language sql volatile
    as $$ select timestamptz 'epoch' + pg_sequence_last_value('ingest.virtual_time'::regclass) * interval '1 millisecond' $$;
  create table simulated.breach (said text not null);
  -- FNV-1a over the characters of its name.
  create function simulated.shard(app text) returns int language plpgsql immutable as $$
  declare sum bigint := 2166136261;
  begin
    for n in 1..length(app) loop
      sum := ((sum # ascii(substr(app, n, 1))) * 16777619) & 4294967295;
    end loop;
    return sum % 64;
  end $$;
  create function simulated.watch_rows() returns trigger language plpgsql security definer as $$
  declare me text := current_setting('application_name');
  begin
    if me like 'slot%' then
      insert into simulated.breach
        select distinct me || ' wrote ' || tg_table_name || ' of ' || w.app_id || ', which it does not own' from written w
        where not exists (select from ingest.ownership o where o.owner = me and o.shard = simulated.shard(w.app_id));
    end if;
    return null;
  end $$;
  create trigger watch_debit after insert on ingest.debit
    referencing new table as written for each statement execute function simulated.watch_rows();
  create table simulated.debited (scope text, limit_group text, n bigint, at timestamptz not null, primary key (scope, limit_group, n));
  create function simulated.date_debits() returns trigger language plpgsql security definer as $$
  begin
    insert into simulated.debited select w.scope, w.limit_group, w.n, simulated.now() from written w;
    return null;
  end $$;
  create trigger date_debits after insert on ingest.debit
    referencing new table as written for each statement execute function simulated.date_debits();
  create function simulated.watch_settled() returns trigger language plpgsql security definer as $$
  declare me text := current_setting('application_name');
  begin
    -- Whoever only hears the answer settles nothing as stored: a place moves with it, or an item of the work queue.
    if me like 'slot%'
      and not exists (select from ingest.progress p where p.app_id = new.app_id and p.xmin = pg_current_xact_id()::xid)
      and not exists (select from ingest.work_item w where w.app_id = new.app_id and w.xmin = pg_current_xact_id()::xid) then
      insert into simulated.breach values (me || ' settled ' || new.operation || ' of ' || new.app_id
        || ' as stored, and stored nothing');
    end if;
    return null;
  end $$;
  create trigger watch_settled after update on ingest.debit for each row
    when (new.outcome = 'committed' and old.outcome is distinct from 'committed') execute function simulated.watch_settled();
  create trigger watch_gap after insert on ingest.gap
    referencing new table as written for each statement execute function simulated.watch_rows();
  create function simulated.watch_repair() returns trigger language plpgsql security definer as $$
  begin
    -- What of it cannot be read is set aside.
    if not exists (select from classroom.room_event e
                   where (e.app_id, e.room_uuid, e.incarnation) = (new.app_id, new.series, new.incarnation)
                     and e.sequence between new.sequence_from and new.sequence_to)
      and not exists (select from ingest.dead_letter d where (d.app_id, d.stream, d.series) = (new.app_id, new.stream, new.series))
      and not exists (select from ingest.unkept_letter u where (u.app_id, u.stream, u.series) = (new.app_id, new.stream, new.series)) then
      insert into simulated.breach values ('gap ' || new.sequence_from || ' to ' || new.sequence_to || ' of ' || new.series
        || ' of ' || new.app_id || ' was said to be repaired when nothing of it was stored');
    end if;
    return null;
  end $$;
  create trigger watch_repair after update on ingest.gap for each row
    when (new.state = 'repaired' and old.state <> 'repaired' and new.unit = 'sequence' and new.incarnation is not null)
    execute function simulated.watch_repair();
  create trigger watch_work after insert on ingest.work_item
    referencing new table as written for each statement execute function simulated.watch_rows();
  create trigger watch_worker after update on ingest.work_item
    referencing new table as written for each statement execute function simulated.watch_rows();
  create function simulated.watch_place() returns trigger language plpgsql security definer as $$
  declare me text := current_setting('application_name');
  begin
    -- What another stream's page begins anew keeps the epoch of its own last page.
    if new.version > old.version and new.updated_at is distinct from old.updated_at and me like 'slot%' then
      if not exists (select from ingest.ownership o
                     where o.owner = me and o.epoch = new.epoch and o.shard = simulated.shard(new.app_id)) then
        insert into simulated.breach values (me || ' moved ' || new.stream || ' of ' || new.app_id || ' under epoch '
          || coalesce(new.epoch::text, 'none') || ', which it does not hold');
      end if;
      if new.version <> old.version + 1 or new.epoch < old.epoch then
        insert into simulated.breach values (me || ' moved ' || new.stream || ' of ' || new.app_id || ' from version '
          || old.version || ' to ' || new.version || ', epoch ' || old.epoch || ' to ' || new.epoch);
      end if;
    end if;
    return null;
  end $$;
  create trigger watch_place after update on ingest.progress for each row execute function simulated.watch_place();
  create function simulated.watch_room() returns trigger language plpgsql security definer as $$
  begin
    if exists (select from classroom.room_state_change c
               where (c.app_id, c.room_uuid, c.incarnation) = (new.app_id, new.room_uuid, new.incarnation)
                 and c.sequence > new.state_sequence) then
      insert into simulated.breach values ('room ' || new.room_uuid || ' of ' || new.app_id || ' went from the state of '
        || old.state_sequence || ' to that of ' || new.state_sequence || ', and a later one is stored');
    end if;
    return null;
  end $$;
  create trigger watch_room after update on classroom.room for each row
    when (new.state_sequence is distinct from old.state_sequence) execute function simulated.watch_room();
  create table simulated.owned (shard int not null, owner text not null, since timestamptz not null);
  create function simulated.watch_owner() returns trigger language plpgsql security definer as $$
  begin
    insert into simulated.owned values (new.shard, new.owner, simulated.now());
    if tg_op = 'UPDATE'
      and ((new.owner <> old.owner and new.epoch <= old.epoch) or new.epoch < old.epoch) then
      insert into simulated.breach values ('shard ' || new.shard || ' went from ' || old.owner || ' to ' || new.owner
        || ', epoch ' || old.epoch || ' to ' || new.epoch);
    end if;
    return null;
  end $$;
  create trigger watch_owner after insert or update on ingest.ownership for each row execute function simulated.watch_owner();
  create table simulated.written (process text not null, name text not null, inserted int not null, updated int not null);
  create function simulated.count_rows() returns trigger language plpgsql security definer as $$
  begin
    -- A page has no rows for most tables that its statement names, and an insert that may update fires both triggers.
    if exists (select from written) then
      insert into simulated.written
        select current_setting('application_name'), tg_table_schema || '.' || tg_table_name,
               case tg_op when 'INSERT' then count(*) else 0 end, case tg_op when 'UPDATE' then count(*) else 0 end
        from written;
    end if;
    return null;
  end $$;
  do $$
  declare t regclass;
  begin
    for t in select c.oid from pg_class c where c.relkind in ('r', 'p') and not c.relispartition
      and c.relnamespace in ('classroom'::regnamespace, 'analytics'::regnamespace, 'players'::regnamespace) loop
      execute format('create trigger count_inserted after insert on %s referencing new table as written
                      for each statement execute function simulated.count_rows()', t);
      execute format('create trigger count_updated after update on %s referencing new table as written
                      for each statement execute function simulated.count_rows()', t);
    end loop;
  end $$;`

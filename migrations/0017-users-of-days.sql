-- Who was in the calls of a year is five million persons to be told apart. How many they were on a day of UTC is kept once the
-- day is over, as long as its calls stay what they are. What is kept is never touched by those who write calls, who would wait
-- for each other: they note beside it which calls changed, and a day that has such a note is counted.
create table ingest.day_users (
  app_id text not null, begins_at timestamptz not null, users bigint not null,
  primary key (app_id, begins_at)
);
comment on table ingest.day_users is 'How many different users were in the calls of days of UTC that are over; counted again where one of them changed';
comment on column ingest.day_users.app_id is 'App ID of the project';
comment on column ingest.day_users.begins_at is 'First moment of the day';
comment on column ingest.day_users.users is 'Different users of the calls that began on it, as far as they are summed up';

create table ingest.changed_users (
  app_id text not null, began_at timestamptz not null, call_id text not null,
  primary key (app_id, began_at, call_id)
);
comment on table ingest.changed_users is 'Calls whose users changed since ingest.day_users was told of their day';
comment on column ingest.changed_users.app_id is 'App ID of the project';
comment on column ingest.changed_users.began_at is 'When the call began, before or after the change';
comment on column ingest.changed_users.call_id is 'The provider''s ID of the call';

-- Whoever changes calls of an app holds its lock until that is there, and nothing is kept meanwhile.
create function ingest.note_users(p_app text, p_call text, p_began timestamptz) returns void language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('penstock users of ' || p_app, 0));
  insert into ingest.changed_users (app_id, began_at, call_id)
    select p_app, p_began, p_call
    where exists (select from ingest.day_users k
                  where k.app_id = p_app and k.begins_at > p_began - interval '24 hours' and k.begins_at <= p_began)
    on conflict do nothing;
end
$$;
comment on function ingest.note_users is 'Notes that the users of a call changed, where its day is kept';

create function ingest.users_changed() returns trigger language plpgsql as $$
begin
  perform ingest.note_users(c.app_id, c.call_id, c.created_at)
    from analytics.call c where c.app_id = coalesce(new.app_id, old.app_id) and c.call_id = coalesce(new.call_id, old.call_id);
  return null;
end
$$;
comment on function ingest.users_changed is 'Notes a call that is summed up otherwise than before';
create trigger users_by_insert after insert on analytics.call_summary for each row
  when (new.persons <> '{}') execute function ingest.users_changed();
create trigger users_by_update after update on analytics.call_summary for each row
  when (old.persons <> new.persons) execute function ingest.users_changed();
create trigger users_by_delete after delete on analytics.call_summary for each row
  when (old.persons <> '{}') execute function ingest.users_changed();

create function ingest.call_moved() returns trigger language plpgsql as $$
begin
  perform ingest.note_users(old.app_id, old.call_id, old.created_at), ingest.note_users(new.app_id, new.call_id, new.created_at);
  return null;
end
$$;
comment on function ingest.call_moved is 'Notes a call that began at another moment than was told before';
create trigger users_by_update after update on analytics.call for each row
  when (old.created_at <> new.created_at) execute function ingest.call_moved();

create or replace function analytics.users_between(p_app text, p_from timestamptz, p_to timestamptz) returns bigint
language sql stable parallel safe cost 100000 as $$
  select coalesce(
    (select k.users from ingest.day_users k
     where k.app_id = p_app and k.begins_at = p_from and p_to = p_from + interval '24 hours' and not exists (
       select from ingest.changed_users c where c.app_id = p_app and c.began_at >= p_from and c.began_at < p_to)),
    (select count(*) from (
       select distinct unnest(s.persons)
       from analytics.call c join analytics.call_summary s using (app_id, call_id)
       where c.app_id = p_app and c.created_at >= p_from and c.created_at < p_to
     ) persons))
$$;

-- What is kept of an app has no day missing in between: days after the last one are kept in their order, and those before the
-- first one, of calls that came later, backwards; of the others those with a note. A day of a large app takes long, and its
-- calls wait meanwhile to be summed up: what is left after a second is done the next time.
create function ingest.keep_users(p_before timestamptz, p_most int) returns int language plpgsql volatile as $$
declare
  v_day record;
  v_left text;
  v_kept int := 0;
begin
  for v_day in
    select z.app_id, d.begins_at, d.ends_at from ingest.app z
    cross join lateral (
      select (select c.created_at from analytics.call c where c.app_id = z.app_id order by c.created_at limit 1) as first,
             (select c.created_at from analytics.call c where c.app_id = z.app_id order by c.created_at desc limit 1) as last,
             (select k.begins_at from ingest.day_users k where k.app_id = z.app_id order by k.begins_at limit 1) as kept_from,
             (select k.begins_at from ingest.day_users k where k.app_id = z.app_id order by k.begins_at desc limit 1) as kept_to
      offset 0
    ) c
    cross join lateral (
      select d.begins_at, d.ends_at from ingest.calendar d
      where d.time_zone = 'UTC' and d.utc_day between (c.first at time zone 'UTC')::date and (coalesce(c.kept_from, c.last) at time zone 'UTC')::date
        and d.begins_at is distinct from c.kept_from
      union
      select d.begins_at, d.ends_at from ingest.calendar d
      where d.time_zone = 'UTC' and d.utc_day between (c.kept_to at time zone 'UTC')::date and (c.last at time zone 'UTC')::date
        and d.begins_at > c.kept_to
      union
      select d.begins_at, d.ends_at from ingest.changed_users x
      join ingest.calendar d on d.time_zone = 'UTC' and d.utc_day = (x.began_at at time zone 'UTC')::date
      where x.app_id = z.app_id
    ) d
    where d.ends_at <= p_before
    order by z.app_id, case when d.begins_at < c.kept_from then -extract(epoch from d.begins_at) else extract(epoch from d.begins_at) end
  loop
    exit when v_kept >= p_most or v_kept > 0 and clock_timestamp() - statement_timestamp() > interval '1 second';
    continue when v_day.app_id = v_left;
    if not pg_try_advisory_xact_lock(hashtextextended('penstock users of ' || v_day.app_id, 0)) then
      v_left := v_day.app_id;
      continue;
    end if;
    delete from ingest.day_users k where k.app_id = v_day.app_id and k.begins_at = v_day.begins_at;
    delete from ingest.changed_users x where x.app_id = v_day.app_id and x.began_at >= v_day.begins_at and x.began_at < v_day.ends_at;
    insert into ingest.day_users values (v_day.app_id, v_day.begins_at, analytics.users_between(v_day.app_id, v_day.begins_at, v_day.ends_at));
    v_kept := v_kept + 1;
  end loop;
  return v_kept;
end
$$;
comment on function ingest.keep_users is
  'Keeps how many users days had that ended before a moment, so many days at most, and for about a second; answers of how many. An app that somebody writes to is left for the next time';
-- Before everybody else loses it: calls are stored meanwhile.
grant execute on function ingest.note_users, ingest.users_changed, ingest.call_moved, ingest.keep_users to penstock_runtime;
revoke execute on function ingest.note_users from public;
revoke execute on function ingest.users_changed from public;
revoke execute on function ingest.call_moved from public;
revoke execute on function ingest.keep_users from public;

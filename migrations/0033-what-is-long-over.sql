-- By what was lost days and rooms are judged for ever: long after, one row is left of what is alike.
set local role penstock_migrate;

alter table ingest.gap add column stands_for int, add column extent double precision;
comment on column ingest.gap.stands_for is
  'How many losses it stands for: of those of a room or, of time, those that touch the same days, one row is left a reason when they are 400 days old; its ranges reach from the first to the last of them, and series is that of the first. Null of one that is younger';
comment on column ingest.gap.extent is 'What the losses hold together that it stands for, seconds or sequences; null where it stands for itself alone';
create index gap_over on ingest.gap (updated_at) where state = 'lost' and stands_for is null;
create index gap_folded on ingest.gap (app_id, stream, reason, range_from) where stands_for is not null;
drop index ingest.gap_count;
create index gap_count on ingest.gap (app_id, stream, state, reason) include (stands_for);

-- Of a room that is long over one row is left, that of its log.
alter table ingest.progress add column folded jsonb;
comment on column ingest.progress.folded is
  'Of the log of a room that is 400 days over: its other series, which have no rows of their own until the room is met again: by stream, when each was read to its end, when its visits ended (Unix seconds), and its carry. Null of others';
create index progress_over on ingest.progress (app_id, closed_at)
  where stream = 'room-events' and closed_at is not null and folded is null;

-- A room that is met again has all of its rows again, those that the same statement made included. Another room of the
-- same name has none of them, and one of which a page was read has all of them read.
create function ingest.unfold_room() returns trigger language plpgsql as $$
declare
  v_folded jsonb;
  v_incarnation jsonb;
  v_is_other boolean := false;
  v_is_read boolean := false;
begin
  if tg_op = 'UPDATE' then
    v_folded := old.folded;
    v_incarnation := coalesce(new.carry -> 'incarnation', '1');
    v_is_other := v_incarnation <> coalesce(old.carry -> 'incarnation', '1');
    v_is_read := new.version > old.version;
  else
    select p.folded, coalesce(p.carry -> 'incarnation', '1') into v_folded, v_incarnation from ingest.progress p
      where p.app_id = new.app_id and p.stream = 'room-events' and p.series = new.series and p.folded is not null
      for update;
    if not found then
      return null;
    end if;
  end if;
  update ingest.progress p set folded = null
    where p.app_id = new.app_id and p.stream = 'room-events' and p.series = new.series;
  insert into ingest.progress as p (app_id, stream, series, carry, caught_up_at, closed_at)
    select new.app_id, f.stream, new.series,
           case when v_is_other or f.kept -> 2 = 'null' then '{}' else f.kept -> 2 end || jsonb_build_object('incarnation', v_incarnation),
           case when not v_is_other then to_timestamp((f.kept ->> 0)::double precision) end,
           case when not v_is_read then to_timestamp((f.kept ->> 1)::double precision) end
    from jsonb_each(v_folded) f(stream, kept)
    on conflict (app_id, stream, series) do update set carry = excluded.carry, caught_up_at = excluded.caught_up_at
      where p.version = 0 and p.caught_up_at is null;
  -- They were counted all the time.
  perform ingest.tally_add('series', new.app_id, f.stream, 'closed', -1, 0, null) from jsonb_object_keys(v_folded) f(stream);
  return null;
end
$$;
comment on function ingest.unfold_room is 'Gives a room that is met again the rows that were folded into that of its log';
revoke execute on function ingest.unfold_room from public;
grant execute on function ingest.unfold_room to penstock_runtime;
create trigger unfold after update on ingest.progress for each row
  when (old.folded is not null and new.folded is not null) execute function ingest.unfold_room();
create trigger unfold_for after insert on ingest.progress for each row
  when (new.stream in ('popup-quiz', 'poll', 'recordings', 'resources')) execute function ingest.unfold_room();

-- Thousands go together: they are counted together.
create function ingest.tally_gone_series() returns trigger language plpgsql as $$
begin
  perform ingest.tally_add('series', s.app_id, s.stream, 'closed', -s.things, 0, null)
  from (select app_id, stream, count(*) as things from went where closed_at is not null group by 1, 2) s;
  return null;
end
$$;
comment on function ingest.tally_gone_series is 'Counts closed series that are gone';
revoke execute on function ingest.tally_gone_series from public;
grant execute on function ingest.tally_gone_series to penstock_runtime;
drop trigger tally_gone on ingest.progress;
create trigger tally_gone after delete on ingest.progress referencing old table as went
  for each statement execute function ingest.tally_gone_series();

create or replace view ingest.room_log as
  select p.app_id, p.series as room_uuid, r.incarnation, r.state, p.caught_up_at, p.closed_at, e.events, e.unconfirmed, g.holes,
         p.caught_up_at is not null and e.unconfirmed = 0 and g.holes = 0 as whole
  from ingest.progress p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  cross join lateral (select count(*) as events, count(*) filter (where e.source = 'feed') as unconfirmed
                      from classroom.room_event e
                      where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation) e
  cross join lateral (select coalesce(sum(coalesce(g.stands_for, 1)), 0)::bigint as holes from ingest.gap g
                      where g.app_id = p.app_id and g.stream = p.stream and g.series = p.series
                        and g.incarnation = r.incarnation and g.state in ('open', 'lost')) g
  where p.stream = 'room-events';

create or replace view ingest.room_complete as
  select p.app_id, p.series as room_uuid, r.incarnation, p.stream, r.state, p.caught_up_at, p.closed_at, g.gaps,
         x.reason is null as complete, x.reason
  from (
    select p.app_id, p.stream, p.series, p.caught_up_at, p.closed_at from ingest.progress p
    where p.stream in ('room-events', 'popup-quiz', 'poll', 'recordings', 'resources')
    union all
    select p.app_id, f.stream, p.series, to_timestamp((f.kept ->> 0)::double precision), to_timestamp((f.kept ->> 1)::double precision)
    from ingest.progress p cross join lateral jsonb_each(p.folded) f(stream, kept)
    where p.stream = 'room-events' and p.folded is not null
  ) p
  join lateral (select * from classroom.room r where r.app_id = p.app_id and r.room_uuid = p.series
                order by r.incarnation desc limit 1) r on true
  cross join lateral (select coalesce(sum(coalesce(g.stands_for, 1)), 0)::bigint as gaps from ingest.gap g
                      where g.app_id = p.app_id and g.stream = p.stream and g.series = p.series
                        and coalesce(g.incarnation, r.incarnation) = r.incarnation and g.state in ('open', 'lost')) g
  left join lateral (select l.whole from ingest.room_log l
                     where p.stream = 'room-events' and l.app_id = p.app_id and l.room_uuid = p.series) l on true
  left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
  cross join lateral (
    select case when not coalesce(p.caught_up_at > coalesce(r.ended_at, r.last_event_at, r.first_seen_at), false) then 'unread'
                when g.gaps > 0 then 'gap'
                when ingest.unreadable_items(p.app_id, p.stream, p.series, r.first_seen_at, p.caught_up_at) > 0 then 'unreadable'
                when p.stream = 'room-events' then case when not coalesce(l.whole, false) then 'unconfirmed' end
                when p.stream = 'recordings' then ingest.unfinished_recordings(r.app_id, r.room_uuid, r.incarnation) end as reason
  ) x
  where not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false);

create or replace view ingest.loss as
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
comment on column ingest.loss.stands_for is 'How many losses the row stands for; more than one only when they are 400 days old';
comment on column ingest.loss.minutes is 'Of time: all minutes that are lost';
comment on column ingest.loss.events is 'Of sequences: how many are lost';

create or replace function ingest.recount() returns void language plpgsql as $$
begin
  lock table ingest.progress, ingest.worklist, classroom.room in share row exclusive mode;
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
  from ingest.worklist group by app_id, stream, state
  union all
  select 'room', app_id, '', classroom.room_standing(state, valid_to, forgotten_at), 0, count(*), 0, null
  from classroom.room where valid_to is null group by 2, 4;
end
$$;

reset role;

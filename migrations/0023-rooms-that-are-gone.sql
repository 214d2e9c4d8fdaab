-- A room that is forgotten, or used again, takes with it also what nobody had read of its lists and widget logs.
create or replace view ingest.loss as
  select g.app_id, g.stream, g.series, g.state, g.reason,
         case g.reason
           when 'hole' then 'numbers are missing between two events of a log'
           when 'room_forgotten' then 'the provider had forgotten the room before all of it was read'
           when 'room_reused' then 'the room was used again before all of it was read'
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
comment on column ingest.room_log.holes is 'What is missing of it, rows of the gap ledger that are open or lost';

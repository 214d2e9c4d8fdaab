set local role penstock_migrate;

alter table ingest.debit add column told_all boolean;
comment on column ingest.debit.told_all is 'Of the feed of an app: whether its answer held all that waited there; false where it may have held back more. Null of others';

comment on column ingest.progress.caught_up_at is 'When the log was last read to its end, the feed last told all that waited there, or a range of time became final';
comment on column ingest.gap.reason is 'hole: skipped between neighbours of a log; room_forgotten, room_reused: the room was gone before its log was read; unread_answer: an answer was asked for and never stored; pause: for longer than the provider remembers nobody asked, or the feed never told all; expired: left the provider''s reach before it was read; unconfirmed: was read, but left the reach before it could no longer change; overflow: more in one second than the provider lists; refused: it rejects the question; too_large: its answer is too large in every size; vanished: it does not know the call; unreadable: was served to the end in no shape that can be read; not_served: values that are promised for each time and came in no answer';
comment on column ingest.gap.incarnation is 'Of the room, where the gap is in a room; null where no log can tell whose the events were';
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
         g.range_from, g.range_to, extract(epoch from g.range_to - g.range_from)::double precision / 60 as minutes,
         g.incarnation, g.sequence_from, g.sequence_to, g.sequence_to - g.sequence_from + 1 as events,
         g.first_seen_at, g.recoverable_until, g.detail
  from ingest.gap g
  where g.state in ('open', 'lost');

reset role;

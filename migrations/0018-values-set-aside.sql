set local role penstock_migrate;

alter table analytics.session_metric add column extra jsonb;
comment on column analytics.session_metric.extra is 'What else came with the value, as it came: elements behind the pair, or members beside it; null with most';

alter table ingest.worklist add column set_aside int not null default 0;
comment on column ingest.worklist.set_aside is 'What the last reading could not read and set aside as dead letters; until there is none the item is owed';

comment on column ingest.gap.reason is 'hole: skipped between neighbours of a log; room_forgotten, room_reused: the room was gone before its log was read; unread_answer: an answer was asked for and never stored; pause: nobody asked for longer than the provider remembers; expired: left the provider''s reach before it was read; unconfirmed: was read, but left the reach before it could no longer change; overflow: more in one second than the provider lists; refused: it rejects the question; too_large: its answer is too large in every size; vanished: it does not know the call; unreadable: was served to the end in no shape that can be read; not_served: values that are promised for each time and came in no answer';

create or replace view ingest.loss as
  select g.app_id, g.stream, g.series, g.state, g.reason,
         case g.reason
           when 'hole' then 'numbers are missing between two events of a log'
           when 'room_forgotten' then 'the provider had forgotten the room before its log was read'
           when 'room_reused' then 'the room was used again before its log was read'
           when 'unread_answer' then 'an answer of the feed was asked for and never stored'
           when 'pause' then 'nobody asked for longer than the provider remembers'
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

set local role penstock_migrate;

alter table analytics.session_metric add column extra jsonb;
comment on column analytics.session_metric.extra is 'What else came with the value, as it came: elements behind the pair, or members beside it; null with most';

alter table ingest.worklist add column set_aside int not null default 0;
comment on column ingest.worklist.set_aside is 'What the last reading could not read and set aside as dead letters; until there is none the item is owed';

comment on column ingest.gap.reason is 'hole: skipped between neighbours of a log; room_forgotten, room_reused: the room was gone before its log was read; unread_answer: an answer was asked for and never stored; pause: nobody asked for longer than the provider remembers; expired: left the provider''s reach before it was read; unconfirmed: was read, but left the reach before it could no longer change; overflow: more in one second than the provider lists; refused: it rejects the question; too_large: its answer is too large in every size; vanished: it does not know the call; unreadable: was served to the end in no shape that can be read';

reset role;

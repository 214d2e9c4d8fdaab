set local role penstock_migrate;

-- A large answer may be more than a process can hold. Who is about to read one says so here, so that the next owner asks
-- for less where this one did not live to store it. Whatever else becomes of the item raises its version.
alter table ingest.worklist add column in_hand_of text, add column in_hand_version int;
comment on column ingest.worklist.in_hand_of is 'Owner that was last about to read a large answer to it';
comment on column ingest.worklist.in_hand_version is 'Version of the item then: while it is still that, the answer was neither stored nor refused';

reset role;

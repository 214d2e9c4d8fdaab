set local role penstock_migrate;

alter table ingest.worklist add column refused_as text;
comment on column ingest.worklist.refused_as is 'With failures: what the last of them makes of the item should it leave the reach before it is had, a reason as in ingest.gap; null: expired';

reset role;

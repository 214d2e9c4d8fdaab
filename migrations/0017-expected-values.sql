set local role penstock_migrate;

-- The contract promises one value for each step of a series: what an answer lacks is not complete.

alter table ingest.progress
  add column step int check (step > 0),
  add column missing tstzmultirange not null default '{}';
comment on column ingest.progress.step is 'Seconds that one value stands for, where the provider promises one for each; null where what it serves is all there is';
comment on column ingest.progress.missing is 'Time ranges whose values should have been in the last answer about them and were not; asked for again while they can be had, then absent in ingest.gap';

comment on column ingest.gap.state is 'open: may still be had; repaired: was had later; absent: the provider never served it, be it a hole of a log or, with the reason not_served, values that it promises; lost: cannot be had any more';

reset role;

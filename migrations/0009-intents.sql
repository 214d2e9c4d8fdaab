set local role penstock_migrate;

-- Players are made by hand, once each, whatever becomes of the answers: what is wanted is written here before it is
-- asked for. A name is unique in a project, so it finds the player of an intent whose answer nobody got.
create table ingest.intent (
  app_id text not null,
  name text not null,
  channel_name text not null,
  request_hash text not null,
  created_at timestamptz not null default ingest.clock(),
  attempts int not null default 1,
  state text not null default 'open' check (state in ('open', 'done', 'failed')),
  player_id text,
  updated_at timestamptz not null default ingest.clock(),
  primary key (app_id, name)
);
create index intent_by_age on ingest.intent (updated_at);
comment on table ingest.intent is 'Players that somebody wanted, written down before they were asked for; kept 30 days';
comment on column ingest.intent.name is 'Name of the player; made up where none was given';
comment on column ingest.intent.request_hash is 'Digest of what the player is to be like, secrets left out: another one under the same name is another intent';
comment on column ingest.intent.attempts is 'Requests that were sent, or were about to be';
comment on column ingest.intent.state is 'open: nobody knows how the last attempt ended; done: the player was made; failed: it was refused';
comment on column ingest.intent.player_id is 'The player that was made';
comment on column ingest.intent.updated_at is 'When the last attempt was about to be sent, or when it was known how it ended';

reset role;

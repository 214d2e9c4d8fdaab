-- Apps that share a budget take turns, in whichever process each of them is drained. What a crash of the server takes of it is
-- said again at the next request.
create unlogged table ingest.stand (
  scope text not null,
  limit_group text not null,
  app_id text not null,
  as_app double precision not null,
  as_series double precision not null,
  is_urgent boolean not null,
  said_at timestamptz not null,
  awaited interval not null,
  primary key (scope, limit_group, app_id)
);
comment on table ingest.stand is 'Where each app stands among those that share a budget: whose turn it is next';
comment on column ingest.stand.scope is 'Whose counter it is at the provider: an app, or a credential that several apps may share';
comment on column ingest.stand.limit_group is 'Operations that share a counter';
comment on column ingest.stand.app_id is 'App ID of the project';
comment on column ingest.stand.as_app is 'Requests that it had, as one of the apps; who has been away does not catch up';
comment on column ingest.stand.as_series is 'The same, divided by its series';
comment on column ingest.stand.is_urgent is 'Whether some of what it wants is about to expire';
comment on column ingest.stand.said_at is 'When it said so last';
comment on column ingest.stand.awaited is 'For how long from then on others wait for it';

set local role penstock_migrate;

-- A list does not tell the region of a player; whoever made it here knows.
alter table ingest.intent add column region text;
comment on column ingest.intent.region is 'Region in which the player was asked for; null of what was asked for before this was kept';
create index intent_by_player on ingest.intent (app_id, player_id) where player_id is not null;

-- What stood there was the region of the app.
update players.cloud_player set region = null where region is not null;
comment on column players.cloud_player.region is 'Region in which it was made, of one that was made with this program; null of others, as lists do not tell it';

reset role;

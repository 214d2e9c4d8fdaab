-- Cloud players: what the provider lists, what it tells by itself, and who plays where.

set local role penstock_migrate;

create table players.cloud_player (
  app_id text not null,
  player_id text not null,
  region text,
  name text,
  uid text,
  account text,
  channel_name text,
  stream_url text,
  status text,
  created_at timestamptz,
  first_seen_at timestamptz not null default ingest.clock(),
  last_seen_at timestamptz,
  destroyed_at timestamptz,
  extra jsonb,
  primary key (app_id, player_id)
);
create index cloud_player_alive on players.cloud_player (app_id, channel_name) where destroyed_at is null;
create index cloud_player_by_channel on players.cloud_player (app_id, channel_name, created_at);

create table players.cloud_player_change (
  app_id text not null,
  player_id text not null,
  changed_at timestamptz not null,
  from_status text,
  to_status text not null,
  source text not null,
  primary key (app_id, player_id, changed_at)
);
create index cloud_player_change_at on players.cloud_player_change using brin (changed_at);

create table players.notification (
  app_id text not null,
  notice_id text not null,
  event_type int not null,
  player_id text,
  notified_at timestamptz,
  received_at timestamptz not null,
  payload jsonb,
  primary key (app_id, notice_id)
);
comment on table players.notification is 'What the provider told of players by itself: hints that may be lost, late or out of order, never the truth';
comment on column players.notification.notice_id is 'The provider''s ID of the notification; what comes again under the same ID is kept once';
comment on column players.notification.event_type is '1 created, 3 destroyed, 4 status changed; others are kept too';
comment on column players.notification.player_id is 'The player that it is about; null where it does not say';
comment on column players.notification.notified_at is 'When the provider sent it, by its clock';
comment on column players.notification.received_at is 'When it arrived, our clock';
comment on column players.notification.payload is 'What it holds besides; secrets, those in addresses too, are replaced by a mark';
create index notification_by_player on players.notification (app_id, player_id, received_at);
create index notification_at on players.notification using brin (received_at);

create view players.channel as
  select p.app_id, p.channel_name, count(*)::int as players, (count(*) filter (where p.status = 'running'))::int as running,
         array_agg(p.player_id order by p.created_at, p.player_id) as player_ids,
         array_agg(coalesce(p.uid, p.account) order by p.created_at, p.player_id) as users,
         min(p.created_at) as first_created_at, max(p.last_seen_at) as last_seen_at
  from players.cloud_player p
  where p.destroyed_at is null and p.channel_name is not null
  group by 1, 2;
comment on view players.channel is 'Who plays where now: every channel with players that live';
comment on column players.channel.players is 'Players that live; running counts those of them that play';
comment on column players.channel.player_ids is 'The oldest first';
comment on column players.channel.users is 'Their user IDs or accounts in the channel, in the same order; null where the list never told';
comment on column players.channel.first_created_at is 'When the oldest of them was created';

-- A call that was never seen to end, and of which nothing was heard for a day, is not going on.
create view players.orphan_player as
  select p.app_id, p.player_id, p.name, p.channel_name, p.status, p.created_at, p.last_seen_at, r.state as room_state
  from players.cloud_player p
  left join lateral (
    select r.state, r.forgotten_at from classroom.room r
    where r.app_id = p.app_id and r.room_uuid = p.channel_name order by r.incarnation desc limit 1
  ) r on true
  where p.destroyed_at is null and p.status in ('connecting', 'running') and p.channel_name is not null
    and (r.state is distinct from 1 or r.forgotten_at is not null)
    and not exists (
      select from analytics.call c
      where c.app_id = p.app_id and c.cname = p.channel_name and c.finished is not true
        and greatest(c.created_at, c.destroyed_at, c.updated_at) > ingest.clock() - interval '1 day'
    );
comment on view players.orphan_player is 'Players that play, or are about to, in a channel without a class or a call that goes on: nobody may be watching';
comment on column players.orphan_player.room_state is 'Of the room of that name: 0 not started, 2 ended, 3 closed; null where there is none, or its state is not known';

reset role;

-- An end has no time of its own. Of a log that is read late it has that of the last event before it which has one, though the class may have
-- gone on until the answer that told the end (ended_by): what began more than an hour after that event, in a class that was on, was of none.
create or replace view analytics.class_call as
  select c.app_id, r.room_uuid, r.incarnation, c.call_id, c.created_at, c.destroyed_at, c.finished,
         r.started_at as class_started_at, case when r.ended_at <= r.started_at then null else r.ended_at end as class_ended_at,
         coalesce(r.started_at, r.valid_from) as class_began_at, c.emptied_at
  from analytics.call c
  join classroom.room r on r.app_id = c.app_id and r.room_uuid = c.cname
    and c.created_at >= r.valid_from - interval '15 minutes'
    and c.created_at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    and c.created_at < coalesce(greatest(r.ended_at, r.ended_by), case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end,
                                'infinity') + interval '1 hour'
  where not exists (select from classroom.room b
                    where b.app_id = r.app_id and b.room_uuid = r.room_uuid and b.incarnation < r.incarnation
                      and c.created_at < coalesce(b.valid_to, 'infinity') - interval '1 minute');

create or replace view players.class_player as
  select p.app_id, p.channel_name as room_uuid, r.incarnation, p.player_id, p.name, p.stream_url, p.status,
         p.created_at, p.destroyed_at
  from players.cloud_player p
  cross join lateral (
    select r.incarnation, r.valid_from - interval '15 minutes' as since,
           coalesce(greatest(r.ended_at, r.ended_by), case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end, 'infinity')
             + interval '1 hour' as until
    from classroom.room r
    where r.app_id = p.app_id and r.room_uuid = p.channel_name
      and coalesce(p.created_at, p.first_seen_at) < coalesce(r.valid_to, 'infinity') - interval '1 minute'
    order by r.incarnation limit 1
  ) r
  where coalesce(p.created_at, p.first_seen_at) >= r.since and coalesce(p.created_at, p.first_seen_at) < r.until;

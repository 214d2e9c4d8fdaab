-- A call or player of a room that is used again, which began within the quarter of an hour before the room showed its first event, was of no
-- class: the class before it hid it, though that was over for hours. What is over for an hour hides nothing.
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
                      and c.created_at < coalesce(b.valid_to, 'infinity') - interval '1 minute'
                      and c.created_at < coalesce(greatest(b.ended_at, b.ended_by), b.last_event_at, 'infinity') + interval '1 hour');

create or replace view players.class_player as
  select p.app_id, p.channel_name as room_uuid, r.incarnation, p.player_id, p.name, p.stream_url, p.status,
         p.created_at, p.destroyed_at
  from players.cloud_player p
  cross join lateral (
    select r.incarnation
    from classroom.room r cross join (select coalesce(p.created_at, p.first_seen_at) as at) c
    where r.app_id = p.app_id and r.room_uuid = p.channel_name
      and c.at >= r.valid_from - interval '15 minutes'
      and c.at < coalesce(r.valid_to, 'infinity') - interval '1 minute'
      and c.at < coalesce(greatest(r.ended_at, r.ended_by), case when coalesce(r.forgotten_at, r.valid_to) is not null then r.last_event_at end,
                          'infinity') + interval '1 hour'
    order by r.incarnation limit 1
  ) r;

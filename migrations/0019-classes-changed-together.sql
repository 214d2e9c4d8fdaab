-- What a group of pages changes of its classes is noted at once; and each class is looked up, where a join read all of the app.
create function ingest.note_classes(p_app text, p_rooms text[], p_incarnations int[], p_began timestamptz[]) returns void
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('penstock attendance of ' || p_app, 0));
  insert into ingest.changed_attendance (app_id, began_at, room_uuid, incarnation)
    select p_app, c.began, c.room, c.incarnation from unnest(p_rooms, p_incarnations, p_began) c(room, incarnation, began)
    where exists (select from ingest.day_attendance k
                  where k.app_id = p_app and k.begins_at > c.began - interval '2 days' and k.begins_at <= c.began and k.ends_at > c.began
                    and not exists (
                      select from classroom.room r
                      where r.app_id = p_app and r.emptied_at is not null
                        and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
                          between (k.begins_at at time zone 'UTC')::date and ((k.ends_at - interval '1 microsecond') at time zone 'UTC')::date
                        and coalesce(r.started_at, r.valid_from) >= k.begins_at and coalesce(r.started_at, r.valid_from) < k.ends_at))
    order by c.room, c.incarnation
    on conflict do nothing;
end
$$;
comment on function ingest.note_classes is 'Notes which classes changed of days that are kept';
revoke execute on function ingest.note_classes from public;
grant execute on function ingest.note_classes to penstock_runtime;

create or replace function ingest.note_attendance(p_app text, p_room text, p_incarnation int, p_began timestamptz) returns void
language sql volatile as $$
  select ingest.note_classes(p_app, array[p_room], array[p_incarnation], array[p_began])
$$;

create or replace function ingest.attendance_changed() returns trigger language plpgsql as $$
begin
  perform ingest.note_classes(c.app_id, array_agg(c.room_uuid), array_agg(c.incarnation), array_agg(r.began))
    from (select distinct app_id, room_uuid, incarnation from came) c
    cross join lateral (
      select coalesce(r.started_at, r.valid_from) as began from classroom.room r
      where r.app_id = c.app_id and r.room_uuid = c.room_uuid and r.incarnation = c.incarnation
      offset 0
    ) r
    group by c.app_id order by c.app_id;
  return null;
end
$$;

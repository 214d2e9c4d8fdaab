-- What came of a day stays as it was kept once one of its classes was emptied: it could be reckoned of the others alone.
create or replace function ingest.note_attendance(p_app text, p_room text, p_incarnation int, p_began timestamptz) returns void
language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(hashtextextended('penstock attendance of ' || p_app, 0));
  insert into ingest.changed_attendance (app_id, began_at, room_uuid, incarnation)
    select p_app, p_began, p_room, p_incarnation
    where exists (select from ingest.day_attendance k
                  where k.app_id = p_app and k.begins_at > p_began - interval '2 days' and k.begins_at <= p_began and k.ends_at > p_began
                    and not exists (
                      select from classroom.room r
                      where r.app_id = p_app and r.emptied_at is not null
                        and (coalesce(r.started_at, r.valid_from) at time zone 'UTC')::date
                          between (k.begins_at at time zone 'UTC')::date and ((k.ends_at - interval '1 microsecond') at time zone 'UTC')::date
                        and coalesce(r.started_at, r.valid_from) >= k.begins_at and coalesce(r.started_at, r.valid_from) < k.ends_at))
    on conflict do nothing;
end
$$;

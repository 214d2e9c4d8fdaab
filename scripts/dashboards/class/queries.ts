/** The app whose room was chosen. Of several that have a room of this name it is the first, so that no two are mixed. */
export const chosenApp = `(
  select min(k.app_id) from classroom.room k where k.app_id in ($app) and k.room_uuid = '$room')`

/** The chosen use of the chosen room, of a table or view by its name or alias. */
export function chosen(alias = ''): string {
  const at = alias && `${alias}.`
  return `${at}app_id = ${chosenApp} and ${at}room_uuid = '$room' and ${at}incarnation = nullif('$incarnation', '')::int`
}

/** What people are called, by their IDs; of those who are called alike, with the ID. Whoever has no name is told by it alone. */
export const names = `
  select user_uuid, case when count(*) over (partition by name) > 1 then name || ' (' || user_uuid || ')' else name end as name
  from (
    select user_uuid, max(coalesce(user_name, user_uuid)) as name from classroom.attendance
    where ${chosen()} and user_uuid is not null group by 1
  ) people`

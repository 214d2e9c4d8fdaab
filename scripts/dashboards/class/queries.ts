/** The app whose room was chosen. Of several that have a room of this name it is the first, so that no two are mixed. */
export const chosenApp = `(
  select min(k.app_id) from classroom.room k where k.app_id in ($app) and k.room_uuid = '$room')`

/** The chosen use of the chosen room, of a table or view by its name or alias. */
export function chosen(alias = ''): string {
  const at = alias && `${alias}.`
  return `${at}app_id = ${chosenApp} and ${at}room_uuid = '$room' and ${at}incarnation = nullif('$incarnation', '')::int`
}

/** When the class was over, as far as it is known. */
export const over = `
  select coalesce(r.ended_at, r.last_event_at) as at from classroom.room r where ${chosen('r')}`

/** What people are called; whoever has no name there is told by the ID. */
export const names = `
  select user_uuid, max(coalesce(user_name, user_uuid)) as name from classroom.attendance where ${chosen()} group by 1`

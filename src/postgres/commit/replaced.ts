import { eventTables } from '../tables/classroom.ts'
import type { TableSpec } from '../tables/spec.ts'
import { tables } from '../tables.ts'
import { incoming } from './ctes.ts'

/**
 * What the log takes back of what the feed said of a room. Most often both say the same; where a feed served what
 * was no longer true, as it may of a roomUuid that is used again, nothing of it may stay behind: neither rows that
 * were derived from its event, nor times, nor what the room became by it.
 *
 * All of these look at the events that `judged` has found to be replaced; usually there are none, and then none of
 * them reads a row.
 */

const ofRoom = (t: string) =>
  `${t}.app_id = :app and ${t}.room_uuid = :series and ${t}.incarnation = :incarnation::int`

/** `other` is the event of another kind or time under the same sequence: nothing that the feed said of it is true. */
export const replacedEvents = `
  replaced as materialized (
    select j.sequence, j.stored_cmd <> j.cmd or j.stored_time is distinct from j.event_time as other
    from judged j
    where j.fresh and j.stored_source = 'feed'
      and (j.stored_cmd <> j.cmd or j.stored_time is distinct from j.event_time or j.stored_data is distinct from j.data)
  )`

const sequences = (which: string) => `array(select x.sequence from replaced x${which})`
export const others = sequences(' where x.other')

/** Whether the stored row `t` tells of an event that was another one. */
export const isOfOther = `t.sequence = any (${others})`

/** Rows that the feed's event had and the log's has not. */
function removed(table: (typeof eventTables)[number]): string {
  const { key } = tables[table] as TableSpec
  const same = ['room_uuid', ...key].map(column => `d.${column} = t.${column}`).join(' and ')
  return `
  removed_${table.slice(table.indexOf('.') + 1)} as (
    delete from ${table} t
    where ${ofRoom('t')} and t.sequence = any (${sequences('')})
      and not exists (select from ${incoming(table)} where ${same})
  )`
}

/** What the changes of state make of the room without the feed's mistaken ones. No row when none was. */
const restated = `
  restated as materialized (
    select (select c.state from state_change c order by c.sequence desc limit 1) as state, max(c.sequence) as state_sequence,
           min(coalesce(c.started_at, c.at)) filter (where c.state = 1) as started_at,
           (select o.ended_at from course o) as ended_at,
           (select min(e.at) from classroom.room_event e where ${ofRoom('e')} and e.sequence <> all (${others})) as valid_from
    from state_change c
    having exists (select from replaced where other)
  )`

/** Goes between the changes of state and what writes events and rooms. */
export const takenBack: readonly string[] = [restated, ...eventTables.map(removed)]

/** What a column of the stored room `t` becomes: `usual`, unless the room was restated. */
export function unlessRestated(
  column: 'state' | 'state_sequence' | 'started_at' | 'ended_at',
  usual: string,
): string {
  return `case when exists (select from restated) then (select r.${column} from restated r) else ${usual} end`
}

/** As `unlessRestated`, of the time from which the room has been. */
export const validFrom = `least(case when exists (select from restated)
        then (select r.valid_from from restated r) else t.valid_from end, excluded.valid_from)`

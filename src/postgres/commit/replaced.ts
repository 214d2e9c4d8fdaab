import { eventTables } from '../tables/classroom.ts'
import type { TableSpec } from '../tables/spec.ts'
import { tables } from '../tables.ts'
import { incoming } from './pieces.ts'

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
const replacedEvents = `
  replaced as materialized (
    select j.sequence, j.stored_cmd <> j.cmd or j.stored_time is distinct from j.event_time as other
    from judged j
    where j.fresh and j.stored_source = 'feed'
      and (j.stored_cmd <> j.cmd or j.stored_time is distinct from j.event_time or j.stored_data is distinct from j.data)
  )`

const sequences = (which: string) => `array(select x.sequence from replaced x${which})`
const others = sequences(' where x.other')

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

/** Changes of state without the feed's mistaken ones, and what they make of the room. No row when none was. */
const restated = `
  state_change as materialized (
    select c.sequence, c.state, c.started_at, c.at from classroom.room_state_change c
    where ${ofRoom('c')} and c.sequence <> all (${others}) and exists (select from replaced where other)
    union all
    select d.sequence, d.state, d.started_at, d.at from ${incoming('classroom.room_state_change')}
    join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence
    where j.fresh and (j.stored_source is null or j.sequence = any (${others})) and exists (select from replaced where other)
  ), last_change as (
    select c.sequence, c.state from state_change c order by c.sequence desc limit 1
  ), restated as materialized (
    select (select l.state from last_change l) as state, (select l.sequence from last_change l) as state_sequence,
           min(coalesce(c.started_at, c.at)) filter (where c.state = 1) as started_at,
           case when (select l.state from last_change l) >= 2 then min(c.at) filter (
             where c.sequence > coalesce((select max(s.sequence) from state_change s where s.state < 2), -1)) end as ended_at,
           (select min(e.at) from classroom.room_event e where ${ofRoom('e')} and e.sequence <> all (${others})) as valid_from
    from state_change c
    having exists (select from replaced where other)
  )`

/** Goes between `judged` and what writes events and rooms. */
export const takenBack: readonly string[] = [replacedEvents, restated, ...eventTables.map(removed)]

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

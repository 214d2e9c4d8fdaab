import { room, roomStateChange } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { shortName } from '../../tables/table.ts'
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
const others = sequences(' where x.other')

/** Whether the stored row `t` tells of an event that was another one. */
export const isOfOther = `t.sequence = any (${others})`

/** Rows that the feed's event had and the log's has not. */
function removed(table: Table): string {
  const same = ['room_uuid', ...table.key].map(column => `d.${column} = t.${column}`).join(' and ')
  return `
  removed_${shortName(table)} as (
    delete from ${table.name} t
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

/** Goes between the changes of state and what writes events and rooms; `derived` are the tables made of events. */
export function takenBack(derived: readonly Table[]): readonly string[] {
  return [restated, ...derived.map(removed)]
}

/** What a column of the stored room `t` becomes: `usual`, unless the room was restated. */
function unlessRestated(
  column: 'state' | 'state_sequence' | 'started_at' | 'ended_at',
  usual: string,
): string {
  return `case when exists (select from restated) then (select r.${column} from restated r) else ${usual} end`
}

/** As `unlessRestated`, of the time from which the room has been. */
const validFrom = `least(case when exists (select from restated)
        then (select r.valid_from from restated r) else t.valid_from end, excluded.valid_from)`

/** Who tells: the feed, a page of a room's log, or pages of many logs together, none of which takes anything back. */
type Source = 'feed' | 'log' | 'group'

/**
 * All changes of state of the rooms whose page tells of one: as they are stored, and as the page has them. Where both
 * tell of one, the log is right, and the first sight of it is nearest to when it happened.
 */
export function toldChanges(source: Source): readonly string[] {
  const wrong = source === 'log' ? others : "'{}'::bigint[]"
  const news = `exists (select from ${incoming(roomStateChange)} where d.room_uuid = p.room_uuid)`
  // A group brings nothing but what is fresh; its pages say themselves whether they told of a change.
  const concerned = {
    feed: news,
    log: `${news} or exists (select from replaced where other)`,
    group: 'p.state_sequence is not null',
  }
  const fresh = source === 'group' ? '' : 'join judged j using (room_uuid, sequence) where j.fresh'
  return [
    `
  state_change as materialized (
    select room_uuid, sequence, coalesce(d.state, c.state) as state,
           coalesce(d.started_at, case when not sequence = any (${wrong}) then c.started_at end) as started_at,
           case when c.at is null or sequence = any (${wrong}) then d.at else c.at end as at, c.at is null as fresh
    from (
      select c.* from place p
      cross join lateral (
        select c.room_uuid, c.sequence, c.state, c.started_at, c.at from classroom.room_state_change c
        where c.app_id = :app and c.room_uuid = p.room_uuid and c.incarnation = p.incarnation
        offset 0
      ) c
      where ${concerned[source]}
    ) c
    full join (
      select d.room_uuid, d.sequence, d.state, d.started_at, d.at
      from ${incoming(roomStateChange)}
      ${fresh}
    ) d using (room_uuid, sequence)
    where d.at is not null or not sequence = any (${wrong})
  )`,
    `
  course as materialized (
    select c.room_uuid, max(c.sequence) as sequence, min(c.at) filter (where c.state in (2, 3) and c.sequence > c.begun) as ended_at,
           bool_or(c.fresh and c.sequence = c.begun and c.sequence = c.last) as begins
    from (
      select c.*, max(c.sequence) over w as last, coalesce(max(c.sequence) filter (where c.state < 2) over w, -1) as begun
      from state_change c window w as (partition by c.room_uuid)
    ) c
    group by c.room_uuid
  )`,
  ]
}

/**
 * A feed proves that a room is alive only by events that are new; a log always does. Where others beside them must wait,
 * the room becomes what those say that are stored, and nothing of what waits.
 */
const roomsOfFeed = `select d.room_uuid, d.state, d.state_sequence, d.started_at, d.ended_at, d.ended_by, d.late_ends, d.first_event_at, d.last_event_at, p.incarnation
    from ${incoming(room)}
    join place p using (room_uuid)
    where exists (select from judged j where j.room_uuid = d.room_uuid and j.fresh)
      and not exists (select from judged j where j.room_uuid = d.room_uuid and j.contradicts)
    union all
    select j.room_uuid, s.state, s.state_sequence, s.started_at, null, null, null, j.first_event_at, j.last_event_at, j.incarnation
    from (
      select j.room_uuid, j.incarnation, min(j.at) filter (where j.fresh) as first_event_at,
             max(j.at) filter (where j.fresh) as last_event_at
      from judged j group by j.room_uuid, j.incarnation having bool_or(j.fresh) and bool_or(j.contradicts)
    ) j
    left join lateral (
      select (array_agg(c.state order by c.sequence desc))[1] as state, max(c.sequence) as state_sequence,
             min(coalesce(c.started_at, c.at)) filter (where c.state = 1) as started_at
      from state_change c where c.room_uuid = j.room_uuid and c.fresh
    ) s on true`

/**
 * A log that was read to its end and goes on proves that its room lives for as long as the provider remembers an
 * ended one. That of a room which is over, or whose end was not reached, proves no more than that it is still
 * there; so that the room's other streams can be read, it counts for a quarter of that time. The feed, which may
 * serve what is old, proves nothing: trust that was had stays.
 */
function verification(source: Source): { readonly first: string; readonly again: string } {
  if (source === 'feed') return { first: brief, again: 't.verified_at' }
  const state = source === 'log' ? unlessRestated('state', mergedState) : mergedState
  const [first, again] =
    source === 'log' ? [':caught_up::boolean', ':caught_up::boolean'] : ['s.caught_up', ofPage('caught_up')]
  return {
    first: `case when ${lives(first, 's.state')} then ingest.clock() else ${brief} end`,
    again: verifiedAgain(again, state),
  }
}

const brief = 'ingest.clock() - :memory::interval * 0.75'

function lives(caughtUp: string, state: string): string {
  return `${caughtUp} and coalesce(${state}, 0) < 2`
}

/** Of the stored room `t`, whose log has been read. */
export function verifiedAgain(caughtUp: string, state: string): string {
  return `case when ${lives(caughtUp, state)} then ingest.clock() else greatest(t.verified_at, ${brief}) end`
}

/** Of the page of a group that speaks of the stored room `t`. */
const ofPage = (column: string) => `(select s.${column} from seen_room s where s.room_uuid = t.room_uuid)`

const mergedState =
  'case when excluded.state_sequence >= coalesce(t.state_sequence, -1) then excluded.state else t.state end'

const courseOf = (column: 'sequence' | 'ended_at') =>
  `select c.${column} from course c where c.room_uuid = t.room_uuid`

/**
 * When the class ended: at the first end after its last start, by all changes of state that are known. A row that has
 * heard of a later one than this statement knows was changed meanwhile, and whoever did that knew the end.
 */
const mergedEnd = `case
        when excluded.state_sequence is null or t.state_sequence > (${courseOf('sequence')}) then t.ended_at
        else (${courseOf('ended_at')}) end`

/** Whether the seen room `s` has the end from an event before it. */
const isLate = (end: string) =>
  `${end} in (select l.at::timestamptz from jsonb_array_elements_text(s.late_ends) l(at))`

/** An end that was known keeps what is said of it; another one has it from the page that dates it late. */
function endedBy(end: string): string {
  return `(select case when e.at = t.ended_at then t.ended_by when ${isLate('e.at')} then s.ended_by end
                   from (select ${end} as at) e cross join seen_room s where s.room_uuid = t.room_uuid)`
}

/** An event that the feed told before shows no life anew when its log tells it. */
const lastHeard: Readonly<Record<Source, string>> = {
  feed: 'excluded.last_event_at',
  log: `least(excluded.last_event_at,
        (select max(case when j.contradicts and j.stored_source = 'feed' then j.at else coalesce(j.stored_at, j.at) end)
         from judged j))`,
  group: `least(excluded.last_event_at, to_timestamp(${ofPage('heard')} / 1000))`,
}

/** The rooms that a statement speaks of, by what proves that they are there. */
const seenRooms: Readonly<Record<Source, string>> = {
  feed: roomsOfFeed,
  log: `select d.*, p.incarnation from ${incoming(room)}
    join place p using (room_uuid)
    where true`,
  group: `select p.*, p.series as room_uuid from page p where not p.listed`,
}

/** The row of each room; what a column becomes of a room that is known is decided by all that is known of it. */
export function storedRooms(source: Source): string {
  const verified = verification(source)
  const become = source === 'log' ? unlessRestated : (_column: string, usual: string) => usual
  const end = become('ended_at', mergedEnd)
  return `
  seen_room as materialized (
    ${seenRooms[source]}
  ), stored_room as (
    insert into classroom.room as t (app_id, room_uuid, incarnation, region, state, state_sequence, started_at, ended_at, ended_by,
                                     valid_from, last_event_at, first_seen_at, verified_at)
    select :app, s.room_uuid, s.incarnation, ${source === 'group' ? 's.region' : ':region'}, s.state, s.state_sequence, s.started_at, s.ended_at,
           case when ${isLate('s.ended_at')} then s.ended_by end,
           s.first_event_at, s.last_event_at, ingest.clock(), ${verified.first}
    from seen_room s
    on conflict (app_id, room_uuid, incarnation) do update set
      state = ${become('state', mergedState)},
      state_sequence = ${become('state_sequence', 'greatest(t.state_sequence, excluded.state_sequence)')},
      started_at = ${become('started_at', 'least(t.started_at, excluded.started_at)')},
      ended_at = ${end},
      ended_by = ${endedBy(end)},
      valid_from = ${source === 'log' ? validFrom : 'least(t.valid_from, excluded.valid_from)'},
      last_event_at = greatest(t.last_event_at, ${lastHeard[source]}),
      verified_at = ${verified.again}${source === 'feed' ? '' : ', forgotten_at = null, region = excluded.region'}
    returning ${source === 'group' ? 't.room_uuid, ' : ''}(xmax = 0) as fresh
  )`
}

/**
 * A room that is seen for the first time is followed by every stream that follows rooms. To look for a row takes a fifth of
 * what it takes to make one that is there already.
 */
export const followed = `
  followed as (
    insert into ingest.progress (app_id, stream, series, stream_state)
    select :app, f.stream, s.room_uuid, jsonb_build_object('incarnation', s.incarnation)
    from seen_room s cross join unnest(:room_streams::text[]) as f(stream)
    where (select true from ingest.progress p where p.app_id = :app and p.stream = f.stream and p.series = s.room_uuid) is null
    on conflict (app_id, stream, series) do nothing
    returning 1
  )`

/**
 * Of a room whose syncs had ended, news have its log read again, and a class that begins again has all of it read
 * again: also by a process that was not there to hear it.
 */
export function reopened(source: Source): string {
  const begun = `
      select f.stream, c.room_uuid from course c cross join unnest(:room_streams::text[]) f(stream) where c.begins`
  const concerned = {
    feed: `${begun} union select 'room-events', j.room_uuid from judged j where j.fresh or j.contradicts`,
    log: `${begun} and f.stream <> :stream and not :opens::boolean`,
    group: `${begun} and f.stream <> 'room-events'`,
  }
  // Each series is looked up: a join would read all progress of the app.
  return `
  reopened as (
    update ingest.progress p set closed_at = null
    from (${concerned[source]}) s(stream, series)
    cross join lateral (
      select o.ctid as place from ingest.progress o
      where o.app_id = :app and o.stream = s.stream and o.series = s.series and o.closed_at is not null
      offset 0
    ) o
    where p.ctid = o.place
    returning 1
  )`
}

import { roomEvent } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { type Statement, statement } from '../statement.ts'
import { cteName, fence, store } from './ctes.ts'
import { followed, reopened, storedRooms, toldChanges } from './room-life.ts'

/**
 * What a group of pages is committed with. The first statement holds the owner's row and the app's lock until the end, so
 * that each of those after it sees whatever was committed before, and nothing of the rooms changes any more.
 */
export const held = statement(
  'group_held',
  `with ${fence('together')}
  select from fence`,
)

/**
 * What is out of the ordinary about a page, for a page without it to be committed plainly: a list whose room was not
 * verified lately, or that was lost; a log with something of the feed that waits for it, or with holes that it may fill. And what is
 * stored already in its part of the log.
 */
export const known = statement(
  'group_known',
  `
  select p.n,
    case when p.listed then not exists (
        select from classroom.room r
        where r.app_id = :app and r.room_uuid = p.series and r.incarnation = p.incarnation
          and r.verified_at > ingest.clock() - :memory::interval)
        or exists (
        select from ingest.gap g
        where g.app_id = :app and g.stream = p.stream and g.series = p.series and g.state = 'lost')
      else exists (
        select from ingest.divergence d
        where d.app_id = :app and d.stream = 'app-events' and d.series = p.series and d.resolved_at is null)
      or exists (
        select from ingest.gap g
        where g.app_id = :app and g.stream = p.stream and g.series = p.series
          and (g.state in ('open', 'lost') or g.state = 'absent' and p.whole)) end as extraordinary,
    (select json_agg(json_build_array(e.sequence::text, e.source, extract(epoch from e.at) * 1000))
     from classroom.room_event e
     where e.app_id = :app and e.room_uuid = p.series and e.incarnation = p.incarnation
       and e.sequence between p.first_event and p.last_event) as events,
    (select json_agg(json_build_array(w.position::text, w.content_hash))
     from classroom.widget_event w
     where w.app_id = :app and w.room_uuid = p.series and w.incarnation = p.incarnation
       and w.widget = p.widget and w.position between p.first_item and p.last_item) as items
  from json_to_recordset(:pages::json) as p(n int, stream text, series text, incarnation int, listed boolean, whole boolean,
    first_event bigint, last_event bigint, widget text, first_item bigint, last_item bigint)`,
)

/** Rooms of which an event that is stored already is told in other words now. */
export const otherwise = statement(
  'group_otherwise',
  `
  select distinct e.room_uuid
  from json_to_recordset(:events::json)
    as e(room_uuid text, incarnation int, sequence bigint, cmd int, event_time timestamptz, data jsonb)
  where (
    select s.cmd = e.cmd and s.event_time is not distinct from e.event_time and s.data is not distinct from e.data
    from classroom.room_event s
    where s.app_id = :app and s.room_uuid = e.room_uuid and s.incarnation = e.incarnation and s.sequence = e.sequence
  ) is not true`,
)

/**
 * Progress of all pages by compare-and-set, and what their rooms become. Each row is found by a look-up of its own
 * ("offset 0"), since a join would read all progress of the app. Fewer rows than pages, and nothing of it may stand.
 */
export const moved = statement(
  'group_moved',
  `with
  page as materialized (
    select p.* from json_to_recordset(:pages::json) as p(n int, stream text, series text, incarnation int, listed boolean,
      version int, cursor text, stream_state jsonb, caught_up boolean, age double precision, region text, state int, state_sequence bigint,
      started_at timestamptz, ended_at timestamptz, ended_by timestamptz, late_ends jsonb, last_event_at timestamptz, first_event_at timestamptz,
      heard double precision)
  ),
  stood as materialized (
    select p.*, t.place from page p
    cross join lateral (
      select t.ctid as place from ingest.progress t
      where t.app_id = :app and t.stream = p.stream and t.series = p.series and t.version = p.version
      offset 0
    ) t
  ),
  moved as (
    update ingest.progress t
    set version = t.version + 1, cursor = s.cursor, stream_state = s.stream_state, epoch = :epoch, updated_at = ingest.clock(),
        caught_up_at = case when s.caught_up then ingest.clock() - s.age * interval '1 millisecond' else t.caught_up_at end, closed_at = null, wanted = '{}'
    from stood s
    where t.ctid = s.place and t.version = s.version
    returning s.n, t.version
  ),
  place as materialized (
    select p.series as room_uuid, p.incarnation, p.state_sequence from page p where not p.listed
  ),${[...toldChanges('group'), storedRooms('group'), followed, reopened('group')].join(',')}
  select m.n, m.version::int, coalesce((select r.fresh from stored_room r where r.room_uuid = p.series and not p.listed), false) as is_new
  from moved m join page p using (n)`,
)

/** What the feed told and the log tells in the same words. */
export const confirmed = statement(
  'group_confirmed',
  `
  update ${roomEvent.name} t
  set version = e.version, extra = e.extra, source = 'log'
  from (
    select e.version, e.extra, s.place
    from json_to_recordset(:events::json) as e(room_uuid text, incarnation int, sequence bigint, version int, extra jsonb)
    cross join lateral (
      select s.ctid as place from ${roomEvent.name} s
      where s.app_id = :app and s.room_uuid = e.room_uuid and s.incarnation = e.incarnation and s.sequence = e.sequence
        and s.source = 'feed'
      offset 0
    ) s
  ) e
  where t.ctid = e.place`,
)

const merging = new Map<Table, Statement>()

/** Rows that may be there already, by the rules of their table: how many of each room are new. */
export function merged(table: Table): Statement {
  const made = merging.get(table)
  if (made) return made
  const rows = store(table, {
    incarnation: 'p.incarnation',
    from: 'join page p using (room_uuid)',
    conflict: {},
    tells: 't.room_uuid, ',
  })
  const text = `with
  page as materialized (
    select * from json_to_recordset(:pages::json) as p(room_uuid text, incarnation int)
  ),${rows}
  select room_uuid, count(*)::int as rows from ${cteName(table)} where fresh group by room_uuid`
  const written = statement(`group_${cteName(table)}`, text)
  merging.set(table, written)
  return written
}

/** Those that each group may meet, in their order. */
export const groupStatements: readonly Statement[] = [held, known, otherwise, moved, confirmed]

import type pg from 'pg'
import type { Fence } from '../engine/ports.ts'
import { query } from './connect.ts'
import { bind, statement } from './statement.ts'

const owned = `exists (select from ingest.ownership o
  where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share)`

/**
 * An answer of the feed that was asked for and never committed may have handed out events: they lie between the
 * last answer that was committed and the moment this one could no longer arrive. So does every pause longer than
 * the provider remembers. Debits of an older epoch belong to a process that can no longer commit.
 */
const unread = statement(
  'record_unread',
  `with unread as materialized (
     select d.scope, d.limit_group, d.n, d.sent_at, least(d.settled_at, d.dead_at) as until,
            (select max(c.sent_at) from ingest.debit c
             where c.scope = d.scope and c.limit_group = d.limit_group and c.n < d.n and c.outcome = 'committed') as since
     from ingest.debit d
     where d.app_id = :app and d.limit_group = :group and d.gap_id is null
       and d.outcome is distinct from 'committed' and d.outcome is distinct from 'refused'
       and (d.outcome = 'unread' or d.epoch < :epoch or d.dead_at < ingest.clock()) and ${owned}
   ), missed as (
     select coalesce(u.since, u.sent_at) as range_from, max(u.until) as range_to, 'unread_answer' as reason
     from unread u group by 1
     union all
     select p.updated_at, ingest.clock(), 'pause'
     from ingest.progress p
     where p.app_id = :app and p.stream = :stream and p.series = ''
       and p.updated_at < ingest.clock() - :memory::interval and ${owned}
   ), merged as (
     select m.range_from, max(m.range_to) as range_to, min(m.reason) as reason from missed m group by m.range_from
   ), recorded as (
     insert into ingest.gap as g (app_id, stream, series, unit, range_from, range_to, reason, recoverable_until,
                                  first_seen_at, updated_at)
     select :app, :stream, '', 'time', m.range_from, m.range_to, m.reason, m.range_to + :memory::interval,
            ingest.clock(), ingest.clock()
     from merged m
     on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
       set range_to = greatest(g.range_to, excluded.range_to), state = 'open', updated_at = ingest.clock(),
           recoverable_until = greatest(g.recoverable_until, excluded.recoverable_until)
     returning g.id, g.range_from
   ), marked as (
     update ingest.debit d set gap_id = r.id, outcome = 'unread', settled_at = coalesce(d.settled_at, d.dead_at)
     from unread u join recorded r on r.range_from = coalesce(u.since, u.sent_at)
     where d.scope = u.scope and d.limit_group = u.limit_group and d.n = u.n
   )
   select count(*)::int as recorded from recorded`,
)

/** A room that was forgotten before its log could be read again takes with it what the feed's answer held of it. */
const settleFeed = statement(
  'settle_feed_gaps',
  `with ready as (
     select g.id, exists (
       select from classroom.room r
       join ingest.progress p on p.app_id = r.app_id and p.stream = 'room-events' and p.series = r.room_uuid
       where r.app_id = g.app_id and r.forgotten_at > g.range_from
         and (p.caught_up_at is null or p.caught_up_at <= g.range_to)) as lost
     from ingest.gap g
     where g.app_id = :app and g.stream = 'app-events' and g.state = 'open'
       and not exists (
         select from ingest.progress p
         where p.app_id = g.app_id and p.stream = 'room-events' and p.closed_at is null
           and (p.caught_up_at is null or p.caught_up_at <= g.range_to))
   ), settled as (
     update ingest.gap g set state = case when r.lost then 'lost' else 'repaired' end, updated_at = ingest.clock()
     from ready r where g.id = r.id and ${owned}
   )
   select count(*)::int as open from ingest.gap g
   where g.app_id = :app and g.stream = 'app-events' and g.state = 'open' and g.id not in (select r.id from ready r)`,
)

/**
 * The provider no longer knows the room. Holes of its log that were still open are lost, and so is what lies
 * between events that only the feed has shown.
 */
const forget = statement(
  'forget_room',
  `with room as (
     update classroom.room r set forgotten_at = coalesce(r.forgotten_at, ingest.clock()), verified_at = '-infinity'
     where r.app_id = :app and r.room_uuid = :room and ${owned}
       and r.incarnation = (select max(x.incarnation) from classroom.room x where x.app_id = :app and x.room_uuid = :room)
     returning r.incarnation
   ), closed as (
     update ingest.progress p set closed_at = coalesce(p.closed_at, ingest.clock())
     where p.app_id = :app and p.series = :room and p.stream = any (:room_streams::text[]) and ${owned}
   ), lost as (
     update ingest.gap g set state = 'lost', updated_at = ingest.clock() from room
     where g.app_id = :app and g.stream = 'room-events' and g.series = :room and g.incarnation = room.incarnation
       and g.state = 'open'
   ), neighbours as (
     select e.sequence, e.source, room.incarnation,
            lead(e.sequence) over w as next_sequence, lead(e.source) over w as next_source,
            row_number() over w as place, bool_or(e.source = 'log') over () as logged
     from classroom.room_event e join room on e.incarnation = room.incarnation
     where e.app_id = :app and e.room_uuid = :room
     window w as (order by e.sequence)
   ), missing as (
     select n.incarnation, n.sequence + 1 as first, n.next_sequence - 1 as last from neighbours n
     where n.next_sequence > n.sequence + 1 and 'feed' in (n.source, n.next_source)
     union all
     select n.incarnation, 1, n.sequence - 1 from neighbours n
     where n.place = 1 and n.sequence > 1 and not n.logged
   )
   insert into ingest.gap (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state,
                           first_seen_at, updated_at)
   select :app, 'room-events', :room, m.incarnation, 'sequence', m.first, m.last, 'room_forgotten', 'lost',
          ingest.clock(), ingest.clock()
   from missing m where :holes_count::boolean
   on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do nothing`,
)

export interface GapSettings {
  readonly roomMemory: number
  readonly roomStreams: readonly string[]
  /** Limit group under which the feed is debited. */
  readonly feedGroup: string
  /** `app`: one numbering over all rooms, so that a hole inside a room means nothing. */
  readonly sequenceScope: 'room' | 'app'
}

export async function recordUnread(
  pool: pg.Pool,
  settings: GapSettings,
  fence: Fence,
  app: string,
): Promise<number> {
  const memory = `${settings.roomMemory} milliseconds`
  const values = { ...fence, app, group: settings.feedGroup, stream: 'app-events', memory }
  const [row] = await query<{ recorded: number }>(pool, bind(unread, values))
  return row!.recorded
}

export async function settleFeedGaps(pool: pg.Pool, fence: Fence, app: string): Promise<number> {
  const [row] = await query<{ open: number }>(pool, bind(settleFeed, { ...fence, app }))
  return row!.open
}

export async function forgetRoom(
  pool: pg.Pool,
  settings: GapSettings,
  fence: Fence,
  app: string,
  room: string,
): Promise<void> {
  const holes_count = settings.sequenceScope === 'room'
  await query(pool, bind(forget, { ...fence, app, room, room_streams: settings.roomStreams, holes_count }))
}

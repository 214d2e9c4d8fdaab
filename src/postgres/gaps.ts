import type pg from 'pg'
import { regionalScope, type Store } from '../engine/ports.ts'
import { roomStreamsOf, type Stream } from '../streams/stream.ts'
import { query } from './connect.ts'
import { encodeText } from './encode.ts'
import { bind, statement } from './statement.ts'

/**
 * Sequences of a room's log that can no longer be read, as the expression `missing`: what lies between two
 * neighbours of which one is known from the feed only. Between two neighbours of the log the log itself has told.
 * Reads the incarnations from the relation `gone`. `room` is an SQL expression.
 */
function missing(room: string): string {
  return `
  neighbours as (
    select e.sequence, e.source, e.incarnation, lead(e.sequence) over log as next_sequence, lead(e.source) over log as next_source,
           row_number() over log as place, bool_or(e.source = 'log') over (partition by e.incarnation) as logged
    from gone join classroom.room_event e on e.app_id = :app and e.room_uuid = ${room} and e.incarnation = gone.incarnation
    window log as (partition by e.incarnation order by e.sequence)
  ), missing as (
    select m.* from (
      select n.incarnation, n.sequence + 1 as first, n.next_sequence - 1 as last from neighbours n
      where n.next_sequence > n.sequence + 1 and 'feed' in (n.source, n.next_source)
      union all
      select n.incarnation, 1, n.sequence - 1 from neighbours n
      where n.place = 1 and n.sequence > 1 and not n.logged
    ) m
    where not exists (
      select from ingest.gap g
      where g.app_id = :app and g.stream = 'room-events' and g.series = ${room} and g.incarnation = m.incarnation
        and g.sequence_from <= m.last and g.sequence_to >= m.first and g.state in ('open', 'lost'))
  )`
}

/**
 * Streams of a room that nobody read to their end since its last sign of life, or since its class ended: what they had from
 * the last such reading on is lost. A class whose end nobody saw may have gone on unheard for as long as its log was not read
 * while the provider still told of it. Reads the rooms of the relation `gone` as they were before. `room` is an SQL expression.
 */
function unreadStreams(room: string): string {
  return `
  unread_stream as (
    select g.incarnation, p.stream, coalesce(p.caught_up_at, r.started_at, r.valid_from, r.first_seen_at) as since, r.ended_at
    from gone g
    join classroom.room r on r.app_id = :app and r.room_uuid = ${room} and r.incarnation = g.incarnation
    join ingest.progress p on p.app_id = :app and p.series = ${room} and p.stream = any (:room_streams::text[])
    join ingest.progress log on log.app_id = :app and log.stream = 'room-events' and log.series = ${room}
    left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
    where not coalesce(o.off @> coalesce(r.started_at, r.valid_from, r.first_seen_at), false)
      and not coalesce(p.caught_up_at > greatest(
        coalesce(r.ended_by, r.ended_at, r.last_event_at, r.first_seen_at),
        case when r.started_at is not null and r.ended_at is null
                  and (log.caught_up_at > ingest.clock() - :memory::interval) is not true
          then ingest.clock() - :memory::interval end), false)
  )`
}

/**
 * Open holes of the incarnations in `gone` are lost, and so is what is missing around events of the feed, and what nobody read
 * of the room's streams.
 */
export function lose(room: string, reason: string): string {
  return `
  lost as (
    update ingest.gap g set state = 'lost', updated_at = ingest.clock() from gone
    where g.app_id = :app and g.stream = 'room-events' and g.series = ${room} and g.incarnation = gone.incarnation
      and g.state = 'open'
    returning 1
  ), ${missing(room)}, ${unreadStreams(room)}, recorded as (
    insert into ingest.gap as g (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from, range_to, reason,
                                 state, first_seen_at, updated_at)
    select :app, 'room-events', ${room}, m.incarnation, 'sequence', m.first, m.last, null, null, '${reason}', 'lost',
           ingest.clock(), ingest.clock()
    from missing m where :dense::boolean
    union all
    select :app, u.stream, ${room}, u.incarnation, 'time', null, null, u.since,
           case when u.ended_at > u.since then u.ended_at else ingest.clock() end, '${reason}', 'lost', ingest.clock(), ingest.clock()
    from unread_stream u
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set range_to = excluded.range_to, state = 'lost', updated_at = ingest.clock() where g.unit = 'time' and g.state <> 'lost'
    returning 1
  )`
}

/**
 * A stream of a room that was given up and is read to its end after all. Reads `moved`, which says that the page is
 * stored.
 */
export const regained = `
  regained as (
    update ingest.gap g set state = 'repaired', updated_at = ingest.clock()
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.incarnation = :incarnation::int
      and g.unit = 'time' and g.state = 'lost' and :caught_up::boolean and exists (select from moved)
  )`

/** Fences a statement that is no commit like one. */
export const owned = `exists (select from ingest.ownership o
  where o.shard = :shard and o.owner = :owner and o.epoch = :epoch for share)`

/**
 * An answer of the feed that was asked for and never committed may have handed out events: they lie between the
 * last committed answer that told all there was and the moment this one could no longer arrive. So does every time
 * longer than the provider remembers in which nobody asked, or the feed never told all. Debits of an older epoch belong
 * to a process that can no longer commit. While the feed is off nobody wants what it would tell: what was not asked for
 * just before counts where it is more than the ten minutes that a restart may take (as in ingest.complete_day).
 */
const unread = statement(
  'record_unread',
  `with asked as materialized (
     select d.scope, d.limit_group, d.n, least(d.settled_at, d.dead_at) as until,
            coalesce(
              (select c.sent_at from ingest.debit c
               where c.scope = d.scope and c.limit_group = d.limit_group and c.n < d.n and c.outcome = 'committed'
                 and c.told_all is not false
               order by c.n desc limit 1),
              -- Nothing was ever committed: the first answer may hold all that the provider remembered then.
              (select f.sent_at - :memory::interval from ingest.debit f
               where f.scope = d.scope and f.limit_group = d.limit_group order by f.n limit 1)) as since
     from ingest.debit d
     where d.app_id = :app and d.scope = :scope and d.limit_group = :group and d.gap_id is null
       and d.outcome is distinct from 'committed' and d.outcome is distinct from 'refused'
       and (d.outcome = 'unread' or d.epoch < :epoch or d.dead_at < ingest.clock()) and ${owned}
   ), unread as materialized (
     select a.scope, a.limit_group, a.n, a.until, greatest(a.since, (
       select max(o.on_at) from ingest.stream_off o
       where o.app_id = :app and o.stream = :stream and o.on_at <= a.until)) as since
     from asked a
   ), missed as (
     select u.since as range_from, max(u.until) as range_to, 'unread_answer' as reason
     from unread u group by 1
     union all
     select h.at, coalesce(h.until, ingest.clock()), 'pause'
     from ingest.progress p
     cross join lateral (select coalesce(p.caught_up_at, (
       select f.sent_at from ingest.debit f where f.scope = :scope and f.limit_group = :group order by f.n limit 1)) as at) s
     left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
     cross join lateral (
       select lower(part) as at, upper(part) as until
       from unnest(tstzmultirange(tstzrange(s.at, null)) - coalesce(o.off, '{}')) part) h
     where p.app_id = :app and p.stream = :stream and p.series = :series and p.closed_at is null and s.at is not null
       and (h.until is null or h.until - h.at > interval '10 minutes')
       and h.at < ingest.clock() - :memory::interval and ${owned}
   ), merged as (
     select m.range_from, max(m.range_to) as range_to, min(m.reason) as reason from missed m group by m.range_from
   ), recorded as (
     insert into ingest.gap as g (app_id, stream, series, unit, range_from, range_to, reason, recoverable_until,
                                  first_seen_at, updated_at)
     select :app, :stream, :series, 'time', m.range_from, m.range_to, m.reason, m.range_to + :memory::interval,
            ingest.clock(), ingest.clock()
     from merged m
     on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
       set range_to = greatest(g.range_to, excluded.range_to), updated_at = ingest.clock(),
           state = case when excluded.range_to > g.range_to then 'open' else g.state end,
           recoverable_until = greatest(g.recoverable_until, excluded.recoverable_until)
     returning g.id, g.range_from, g.range_to
   ), marked as (
     update ingest.debit d set gap_id = r.id, outcome = 'unread', settled_at = coalesce(d.settled_at, d.dead_at)
     from unread u join recorded r on r.range_from = u.since
     where d.scope = u.scope and d.limit_group = u.limit_group and d.n = u.n
   )
   select count(*)::int as recorded from recorded r
   where not exists (select from ingest.gap before where before.id = r.id and before.range_to >= r.range_to)`,
)

/**
 * Gaps of the feed that no reading of logs has judged yet: for a day also those that became too old meanwhile, for rooms that
 * go on are served all the same.
 */
const unsettled = `(g.state = 'open' or g.state = 'lost' and g.reason = 'unread_answer' and g.detail is null
  and g.updated_at > ingest.clock() - interval '1 day')`

/**
 * While the feed has more to tell than it was asked for, it may still name a room of which the missing answer told: the
 * gap waits until it has told all, and in place of a feed that is followed no more every other one. A room that was forgotten before its log could be read again takes with it what the feed's answer held of it,
 * unless the log had said that the room is closed: nobody can be in a closed room. What only the missing answers
 * named cannot be known: after a pause longer than the provider remembers that is a loss; after one answer it is
 * said beside the repair.
 */
const settleFeed = statement(
  'settle_feed_gaps',
  `with ready as (
     select g.id, exists (
       select from classroom.room r
       join ingest.progress p on p.app_id = r.app_id and p.stream = 'room-events' and p.series = r.room_uuid
       where r.app_id = g.app_id and r.forgotten_at > g.range_from
         and (p.caught_up_at is null or p.caught_up_at <= g.range_to)
         and not exists (
           select from classroom.room_event e
           where e.app_id = r.app_id and e.room_uuid = r.room_uuid and e.incarnation = r.incarnation
             and e.sequence = r.state_sequence and e.source = 'log' and r.state = 3)) or g.reason = 'pause' as lost
     from ingest.gap g
     where g.app_id = :app and g.stream = 'app-events' and ${unsettled}
       and not exists (
         select from ingest.progress p
         where p.app_id = g.app_id and p.closed_at is null and (p.caught_up_at is null or p.caught_up_at <= g.range_to)
           and (p.stream = 'room-events' or p.stream = g.stream and (p.series = g.series or not exists (
             select from ingest.progress own where own.app_id = g.app_id and own.stream = g.stream and own.series = g.series
               and own.closed_at is null))))
   ), settled as (
     update ingest.gap g
     set state = case when r.lost then 'lost' else 'repaired' end,
         updated_at = case when r.lost and g.state = 'lost' then g.updated_at else ingest.clock() end,
         detail = 'every room known by then has been read to its end since; one that only this range named is missing'
     from ready r where g.id = r.id and ${owned}
   )
   select count(*)::int as open from ingest.gap g
   where g.app_id = :app and g.stream = 'app-events' and ${unsettled} and g.id not in (select r.id from ready r)`,
)

/** The row of the ledger for what waits of a room that is forgotten. */
const waitingGap = `g.app_id = :app and g.stream = 'room-events' and g.series = :room and g.incarnation is null
  and g.reason in ('room_forgotten', 'room_reused')`

/**
 * The provider no longer knows the room: what is missing of its log stays missing, and nothing is asked for once more. What the
 * feed told and the log was to confirm stays in the divergences: no log can tell any more whether it was of this room or of
 * another one after it. What was read of it after it had been emptied is judged and taken like what nobody has emptied.
 */
const forget = statement(
  'forget_room',
  `with gone as (
     update classroom.room r set forgotten_at = coalesce(r.forgotten_at, ingest.clock()), verified_at = '-infinity',
       emptied_at = case when r.verified_at <= r.emptied_at then r.emptied_at end
     where r.app_id = :app and r.room_uuid = :room and ${owned}
       and r.incarnation = (select max(x.incarnation) from classroom.room x where x.app_id = :app and x.room_uuid = :room)
     returning r.incarnation
   ), closed as (
     update ingest.progress p set closed_at = coalesce(p.closed_at, ingest.clock()), wanted = '{}'
     where p.app_id = :app and p.series = :room and p.stream = any (:room_streams::text[]) and ${owned}
   ), ${lose(':room', 'room_forgotten')}, waiting as (
     select case when :dense::boolean then least(w.first, 1 + (
              select max(e.sequence) from gone join classroom.room_event e
                on e.app_id = :app and e.room_uuid = :room and e.incarnation = gone.incarnation)) else w.first end as first, w.last
     from (select min(d.key::bigint) as first, max(d.key::bigint) as last from ingest.divergence d
           where d.app_id = :app and d.stream = 'app-events' and d.series = :room and d.resolved_at is null and ${owned}) w
     where w.first is not null
   ), known as (
     update ingest.gap g set sequence_from = w.first, sequence_to = w.last, state = 'lost', updated_at = ingest.clock()
     from waiting w where ${waitingGap} and (g.sequence_from, g.sequence_to, g.state) <> (w.first, w.last, 'lost')
     returning 1
   )
   insert into ingest.gap (app_id, stream, series, unit, sequence_from, sequence_to, reason, state, detail, first_seen_at, updated_at)
   select :app, 'room-events', :room, 'sequence', w.first, w.last, 'room_forgotten', 'lost',
     'the feed told events in this range, which wait in ingest.divergence; no log can tell any more of which room they are',
     ingest.clock(), ingest.clock()
   from waiting w where not exists (select from ingest.gap g where ${waitingGap})`,
)

export interface GapSettings {
  readonly roomMemory: number
  /** Streams that are drained; of them, the feed is debited under its limit group, and some follow rooms. */
  readonly streams: readonly Stream[]
  readonly sequenceScope: 'room' | 'app'
}

/** What is missing of feeds and of rooms. */
export function gapStore(pool: pg.Pool, { roomMemory, streams, sequenceScope }: GapSettings) {
  const group = streams.find(({ kind }) => kind === 'feed')?.operation.limitGroup ?? ''
  const memory = `${roomMemory} milliseconds`
  return {
    recordUnread: async (fence, app, series) => {
      const values = {
        ...fence,
        app,
        scope: regionalScope(app, series),
        group,
        stream: 'app-events',
        series,
        memory,
      }
      const [row] = await query<{ recorded: number }>(pool, bind(unread, values))
      return row!.recorded
    },
    settleFeedGaps: async (fence, app) => {
      const [row] = await query<{ open: number }>(pool, bind(settleFeed, { ...fence, app }))
      return row!.open
    },
    forgetRoom: async (fence, app, room) => {
      const rooms = { room: encodeText(room), room_streams: roomStreamsOf(streams) }
      await query(pool, bind(forget, { ...fence, app, ...rooms, memory, dense: sequenceScope === 'room' }))
    },
  } satisfies Partial<Store>
}

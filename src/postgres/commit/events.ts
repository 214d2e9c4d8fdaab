import { room, roomEvent } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { lose, regained } from '../gaps.ts'
import { type Statement, statement } from '../statement.ts'
import { advanced, fence, incoming, rejected, settled, store, verdict } from './ctes.ts'
import {
  followed,
  isOfOther,
  reopened,
  replacedEvents,
  storedRooms,
  takenBack,
  toldChanges,
} from './room-life.ts'
import { confirmed, holes, unheard } from './settled-by-log.ts'

/**
 * Commits a page of events. Three questions are answered inside the statement, because only there the answer
 * cannot change in between: which incarnation of the room the events belong to, whether the room is still
 * certainly that one, and whether an event contradicts what is stored.
 *
 * The feed is a hint and the log is the truth: a feed event that contradicts, or that comes for a room which has
 * not been seen alive for longer than the provider remembers, waits in ingest.divergence; a log event replaces a
 * feed event of the same key; between two log events the first stays and the other is set down as a divergence, also
 * where they differ in their data alone.
 */

/**
 * A feed names many rooms; the database knows their incarnations. One that is behind tells of a roomUuid what was of the
 * room before, which the log of the present one will never tell: so what is of a time before it began waits. And one may
 * be ahead of the logs: of a class that is over, what stands where its log had told nothing (up to `logged`), or does not
 * go on where the room's events end (at `last`), may be of the next room of that name.
 */
const feedPlaces = `
  place as materialized (
    select i.room_uuid, coalesce(r.incarnation, 1) as incarnation,
           r.incarnation is null or r.verified_at > ingest.clock() - :memory::interval as trusted,
           r.valid_from as begun,
           case when r.state in (2, 3) then (
             select f.sequence from classroom.room_event f
             where f.app_id = :app and f.room_uuid = i.room_uuid and f.incarnation = r.incarnation and f.source = 'log'
             order by f.sequence desc limit 1) end as logged,
           case when r.state in (2, 3) then (
             select f.sequence from classroom.room_event f
             where f.app_id = :app and f.room_uuid = i.room_uuid and f.incarnation = r.incarnation
             order by f.sequence desc limit 1) end as last
    from (select distinct e.room_uuid from event e) i
    left join lateral (
      select r.incarnation, r.verified_at, r.valid_from, r.state from classroom.room r
      where r.app_id = :app and r.room_uuid = i.room_uuid order by r.incarnation desc limit 1
    ) r on true
  )`

/** A feed that serves one event an answer may be some rooms behind. Each is looked up, so they are not many. */
const ROOMS_BEFORE = 8

/** What has no time, or one that nobody believes, is known to be of a room before by standing there in the same words. */
const trustedOfFeed = `(p.trusted and (p.incarnation = 1 or case
      when e.at_source = 'event' then coalesce(e.event_time >= p.begun, false)
      else not exists (
        select from classroom.room_event f
        where f.app_id = :app and f.room_uuid = e.room_uuid
          and f.incarnation = any (array(select generate_series(greatest(1, p.incarnation - ${ROOMS_BEFORE}), p.incarnation - 1)))
          and f.sequence = e.sequence and f.cmd = e.cmd and f.data = e.data) end))`

const logPlaces = `
  place as materialized (
    select :series::text as room_uuid, :incarnation::int as incarnation, true as trusted where exists (select from moved)
  )`

const event = `
  event as materialized (
    select d.* from ${incoming(roomEvent)} where exists (select from moved)
  )`

const reworded = `s.source = 'log' and s.data is distinct from e.data`

/**
 * `fresh` events change the tables; `contradicts` ones go to the divergences. The feed and the log may render an event
 * differently, so that type and time decide; where there is no time the words of the feed make its log be read once more.
 * The log tells an event in the same words each time.
 */
function judged(source: 'feed' | 'log', fresh: string): string {
  const trusted = source === 'feed' ? trustedOfFeed : 'p.trusted'
  const placed = source === 'feed' ? trustedAsNew : 'p.trusted'
  const untold = source === 'feed' ? ' and e.event_time is null' : ''
  return `
  judged as materialized (
    select e.*, p.incarnation, s.source as stored_source, s.cmd as stored_cmd,
           s.event_time as stored_time, s.data as stored_data, s.at as stored_at,
           case when s.source is null then not ${placed}
                when s.cmd <> e.cmd or s.event_time is distinct from e.event_time then true
                when ${reworded}${untold} then true
                else not ${trusted} and e.event_time is null end as contradicts,
           ${fresh} as fresh
    from event e
    join place p using (room_uuid)
    -- "offset 0" keeps all four columns an index condition of one look-up an event, whatever the statistics say.
    left join lateral (
      select s.source, s.cmd, s.event_time, s.data, s.at from classroom.room_event s
      where s.app_id = :app and s.room_uuid = e.room_uuid and s.incarnation = p.incarnation and s.sequence = e.sequence
      offset 0
    ) s on true
  )`
}

/** Another event at a known place says that the whole answer may be of another room of that name. */
const trustedAsNew = `(${trustedOfFeed} and e.sequence > coalesce(p.logged, -1)
      and (p.logged is null or e.sequence <= p.last + count(*) over (partition by e.room_uuid))
      and not coalesce(bool_or(s.cmd <> e.cmd or s.event_time is distinct from e.event_time or ${reworded} and e.event_time is null)
                         filter (where s.source is not null) over (partition by e.room_uuid), false))`
const feedFresh = `${trustedAsNew} and s.source is null`
const logFresh = `s.source is null or s.source = 'feed'`

/** The first sight of an event is nearest to when it happened, if it was this event that was seen. */
const firstSight = (column: string) => `case when ${isOfOther} then excluded.${column} else t.${column} end`

function storedEvents(source: 'feed' | 'log'): string {
  const columns = Object.keys(roomEvent.columns)
  const conflict =
    source === 'feed'
      ? 'do nothing'
      : `do update set cmd = excluded.cmd, version = excluded.version, data = excluded.data,
           event_time = excluded.event_time, extra = excluded.extra, source = excluded.source,
           at = ${firstSight('at')}, at_source = ${firstSight('at_source')}, received_at = ${firstSight('received_at')}
         where t.source = 'feed'`
  return `
  stored_room_event as (
    insert into classroom.room_event as t (app_id, incarnation, source, ${columns.join(', ')})
    select :app, d.incarnation, '${source}', ${columns.map(column => `d.${column}`).join(', ')}
    from judged d where d.fresh
    on conflict (app_id, room_uuid, incarnation, sequence) ${conflict}
    returning (xmax = 0) as fresh
  )`
}

/** An event that the log tells in other words each time is noted once. */
const diverged = `
  contradiction as (
    select j.room_uuid, j.sequence::text as key, j.stored_source is not null and j.fresh as replaces,
           j.stored_source is not null as is_stored,
           j.stored_source = 'log' and j.stored_cmd = j.cmd and j.stored_time is not distinct from j.event_time as reworded,
           jsonb_build_object('cmd', j.cmd, 'event_time', j.event_time, 'data', j.data) as told,
           jsonb_build_object('cmd', j.stored_cmd, 'event_time', j.stored_time, 'data', j.stored_data) as stored
    from judged j where j.contradicts
  ), diverged as (
    insert into ingest.divergence (app_id, stream, series, key, kept, other)
    select :app, :stream, c.room_uuid, c.key, case when c.replaces then c.told when c.is_stored then c.stored end,
           case when c.replaces then c.stored else c.told end
    from contradiction c
    where not coalesce(c.reworded, false) or not exists (
      select from ingest.divergence d
      where d.app_id = :app and d.stream = :stream and d.series = c.room_uuid and d.key = c.key and d.kept = c.stored)
    on conflict do nothing
    returning 1
  )`

/**
 * Another room under the same roomUuid: the former one ends here and can no longer be read, and every other stream
 * starts over. What was not read of it to its end is noted, since its series tell of the next room from here on. What its
 * widget logs told otherwise was of the next room.
 */
const opening = `
  gone as (
    update classroom.room r
    set valid_to = coalesce((select min(e.at) from event e), ingest.clock()),
        unread = (
          select jsonb_agg(p.stream order by p.stream) from ingest.progress p
          where p.app_id = :app and p.series = :series and p.stream = any (:room_streams::text[])
            and not coalesce(p.caught_up_at > coalesce(r.ended_by, r.ended_at, r.last_event_at, r.first_seen_at), false))
    where r.app_id = :app and r.room_uuid = :series and r.incarnation < :incarnation::int and r.valid_to is null
      and :opens::boolean and exists (select from moved)
    returning r.incarnation
  ), ${lose(':series', 'room_reused')}, restarted as (
    update ingest.progress p
    set version = p.version + 1, cursor = null, stream_state = jsonb_build_object('incarnation', :incarnation::int),
        caught_up_at = null, closed_at = null
    where p.app_id = :app and p.series = :series and p.stream = any (:room_streams::text[]) and p.stream <> :stream
      and :opens::boolean and exists (select from moved)
    returning 1
  ), told_apart as (
    update ingest.divergence d set resolved_at = ingest.clock()
    where d.app_id = :app and d.series = :series and d.resolved_at is null
      and d.stream = any (:room_streams::text[]) and d.stream <> :stream and d.seen_at > ingest.clock() - :memory::interval
      and :opens::boolean and exists (select from moved)
  )`

function stored(derived: readonly Table[], source: 'feed' | 'log'): readonly string[] {
  const from = 'join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh'
  const conflict = source === 'feed' ? 'keep' : { at: firstSight('at') }
  return derived.map(table => store(table, { incarnation: 'j.incarnation', from, conflict }))
}

/** Of the tables that a stream of events writes, those that are made of the events. */
function derivedOf(writes: readonly Table[]): readonly Table[] {
  return writes.filter(table => table !== room && table !== roomEvent)
}

/**
 * The statement sees what was committed when it began. If a feed and a log met over an event meanwhile, one of
 * them weighed it against too little: then it begins again.
 */
function counted(certain: string): Readonly<Record<string, string>> {
  const expected = `(select count(distinct (room_uuid, sequence)) from judged where fresh and ${certain})`
  const found = '(select count(*) from stored_room_event where fresh)'
  return {
    diverged: '(select count(*) from diverged)::int',
    verified: 'true',
    current: `ingest.not_overtaken(${expected}, ${found})`,
  }
}

/** Commits a page of the feed, which writes these tables. */
export function feedStatement(name: string, writes: readonly Table[]): Statement {
  const pieces = [
    fence('alone'),
    advanced('true'),
    event,
    feedPlaces,
    judged('feed', feedFresh),
    ...toldChanges('feed'),
    storedEvents('feed'),
    storedRooms('feed'),
    followed,
    reopened('feed'),
    diverged,
    ...stored(derivedOf(writes), 'feed'),
    rejected,
    settled,
  ]
  return statement(name, `with ${pieces.join(',')} ${verdict(writes, counted('true'))}`)
}

/** Commits a page of a room's log of events. */
export function logStatement(name: string, writes: readonly Table[]): Statement {
  const derived = derivedOf(writes)
  const pieces = [
    fence('together'),
    advanced('true'),
    event,
    logPlaces,
    judged('log', logFresh),
    replacedEvents,
    ...toldChanges('log'),
    ...takenBack(derived),
    storedEvents('log'),
    storedRooms('log'),
    followed,
    reopened('log'),
    diverged,
    rejected,
    confirmed,
    unheard,
    holes,
    regained,
    opening,
    ...stored(derived, 'log'),
    settled,
  ]
  return statement(name, `with ${pieces.join(',')} ${verdict(writes, counted('stored_source is null'))}`)
}

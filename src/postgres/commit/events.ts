import { lose } from '../missing.ts'
import { type Statement, statement } from '../statement.ts'
import { eventTables } from '../tables/classroom.ts'
import { tables } from '../tables.ts'
import { fence, incoming, moved, rejected, settled, store, verdict } from './pieces.ts'
import { isOfOther, takenBack, unlessRestated, validFrom } from './replaced.ts'

/**
 * Commits a page of events. Three questions are answered inside the statement, because only there the answer
 * cannot change in between: which incarnation of the room the events belong to, whether the room is still
 * certainly that one, and whether an event contradicts what is stored.
 *
 * The feed is a hint and the log is the truth: a feed event that contradicts, or that comes for a room which has
 * not been seen alive for longer than the provider remembers, waits in ingest.divergence; a log event replaces a
 * feed event of the same key; between two log events the first stays and the other is set down as a divergence.
 */

/** A feed names many rooms; the database knows their incarnations. */
const feedPlaces = `
  place as materialized (
    select i.room_uuid, coalesce(r.incarnation, 1) as incarnation,
           r.incarnation is null or r.verified_at > ingest.clock() - :memory::interval as trusted
    from (select distinct e.room_uuid from event e) i
    left join lateral (
      select r.incarnation, r.verified_at from classroom.room r
      where r.app_id = :app and r.room_uuid = i.room_uuid order by r.incarnation desc limit 1
    ) r on true
  )`

const logPlaces = `
  place as materialized (
    select :series::text as room_uuid, :incarnation::int as incarnation, true as trusted where exists (select from moved)
  )`

const event = `
  event as materialized (
    select d.* from ${incoming('classroom.room_event')} where exists (select from moved)
  )`

/** `fresh` events change the tables; `contradicts` ones go to the divergences. */
function judged(fresh: string): string {
  return `
  judged as materialized (
    select e.*, p.incarnation, p.trusted, s.source as stored_source, s.cmd as stored_cmd,
           s.event_time as stored_time, s.data as stored_data,
           case when s.source is null then not p.trusted
                when s.cmd <> e.cmd or s.event_time is distinct from e.event_time then true
                else not p.trusted and e.event_time is null end as contradicts,
           ${fresh} as fresh
    from event e
    join place p using (room_uuid)
    -- "offset 0" keeps all four columns an index condition of one look-up an event, whatever the statistics say.
    left join lateral (
      select s.source, s.cmd, s.event_time, s.data from classroom.room_event s
      where s.app_id = :app and s.room_uuid = e.room_uuid and s.incarnation = p.incarnation and s.sequence = e.sequence
      offset 0
    ) s on true
  )`
}

const feedFresh = 'p.trusted and s.source is null'
const logFresh = `s.source is null or s.source = 'feed'`

/** The first sight of an event is nearest to when it happened, if it was this event that was seen. */
const firstSight = (column: string) => `case when ${isOfOther} then excluded.${column} else t.${column} end`

function storedEvents(source: 'feed' | 'log'): string {
  const columns = Object.keys(tables['classroom.room_event'].columns)
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

/** A feed proves that a room is alive only by events that are new and contradict nothing; a log always does. */
const provenByFeed = `
      exists (select from judged j where j.room_uuid = d.room_uuid and j.fresh)
      and not exists (select from judged j where j.room_uuid = d.room_uuid and j.contradicts)`

/**
 * A log that was read to its end and goes on proves that its room lives for as long as the provider remembers an
 * ended one. That of a room which is over, or whose end was not reached, proves no more than that it is still
 * there; so that the room's other streams can be read, it counts for a quarter of that time. The feed, which may
 * serve what is old, proves nothing: trust that was had stays.
 */
function verification(source: 'feed' | 'log'): { readonly first: string; readonly again: string } {
  const brief = 'ingest.clock() - :memory::interval * 0.75'
  if (source === 'feed') return { first: brief, again: 't.verified_at' }
  const lives = (state: string) => `:caught_up::boolean and coalesce(${state}, 0) < 2`
  return {
    first: `case when ${lives('s.state')} then ingest.clock() else ${brief} end`,
    again: `case when ${lives(unlessRestated('state', mergedState))} then ingest.clock() else greatest(t.verified_at, ${brief}) end`,
  }
}

const mergedState =
  'case when excluded.state_sequence >= coalesce(t.state_sequence, -1) then excluded.state else t.state end'

/**
 * When the class ended. What was said of an older state counts only as the end before a close; a room that was
 * started again has not ended, and a page that tells of a new start also tells the end after it.
 */
const mergedEnd = `case
        when excluded.state_sequence is null then t.ended_at
        when excluded.state_sequence < t.state_sequence then
          case when t.state = 3 and excluded.state = 2 then least(t.ended_at, excluded.ended_at) else t.ended_at end
        when excluded.state < 2 then null
        when excluded.ended_at is not null and exists (
          select from ${incoming('classroom.room_state_change')} where d.room_uuid = excluded.room_uuid and d.state < 2
        ) then excluded.ended_at
        else least(t.ended_at, excluded.ended_at) end`

function storedRooms(source: 'feed' | 'log', proven: string): string {
  const verified = verification(source)
  const become = source === 'log' ? unlessRestated : (_column: string, usual: string) => usual
  return `
  seen_room as materialized (
    select d.*, p.incarnation from ${incoming('classroom.room')}
    join place p using (room_uuid)
    where ${proven}
  ), stored_room as (
    insert into classroom.room as t (app_id, room_uuid, incarnation, region, state, state_sequence, started_at, ended_at,
                                     valid_from, last_event_at, first_seen_at, verified_at)
    select :app, s.room_uuid, s.incarnation, :region, s.state, s.state_sequence, s.started_at, s.ended_at,
           s.first_event_at, s.last_event_at, ingest.clock(), ${verified.first}
    from seen_room s
    on conflict (app_id, room_uuid, incarnation) do update set
      state = ${become('state', mergedState)},
      state_sequence = ${become('state_sequence', 'greatest(t.state_sequence, excluded.state_sequence)')},
      started_at = ${become('started_at', 'least(t.started_at, excluded.started_at)')},
      ended_at = ${become('ended_at', mergedEnd)},
      valid_from = ${source === 'log' ? validFrom : 'least(t.valid_from, excluded.valid_from)'},
      last_event_at = greatest(t.last_event_at, excluded.last_event_at),
      verified_at = ${verified.again}
    returning (xmax = 0) as fresh
  )`
}

/** A room that is seen for the first time is followed by every stream that follows rooms. */
const followed = `
  followed as (
    insert into ingest.progress (app_id, stream, series, carry)
    select :app, f.stream, s.room_uuid, jsonb_build_object('incarnation', s.incarnation)
    from seen_room s cross join unnest(:room_streams::text[]) as f(stream)
    on conflict (app_id, stream, series) do nothing
    returning 1
  )`

const diverged = `
  diverged as (
    insert into ingest.divergence (app_id, stream, series, key, kept, other)
    select :app, :stream, j.room_uuid, j.sequence::text,
           case when j.stored_source is not null then case when j.fresh
             then jsonb_build_object('cmd', j.cmd, 'event_time', j.event_time, 'data', j.data)
             else jsonb_build_object('cmd', j.stored_cmd, 'event_time', j.stored_time, 'data', j.stored_data) end end,
           case when j.stored_source is not null and j.fresh
             then jsonb_build_object('cmd', j.stored_cmd, 'event_time', j.stored_time, 'data', j.stored_data)
             else jsonb_build_object('cmd', j.cmd, 'event_time', j.event_time, 'data', j.data) end
    from judged j where j.contradicts
    on conflict do nothing
    returning 1
  )`

/**
 * What the feed said and could not be believed is settled once the log says the same: on this page, or on an
 * earlier one that was committed at the same moment as the feed's.
 */
const confirmed = `
  pending as materialized (
    select d.id, d.key::bigint as sequence, (d.other ->> 'cmd')::int as cmd, d.other -> 'event_time' as event_time
    from ingest.divergence d
    where d.app_id = :app and d.stream = 'app-events' and d.series = :series and d.resolved_at is null
      and exists (select from moved)
  ), confirmed as (
    update ingest.divergence d set resolved_at = ingest.clock() from pending p
    where d.id = p.id and (
      exists (select from event e where e.sequence = p.sequence and e.cmd = p.cmd
                and coalesce(to_jsonb(e.event_time), 'null') = p.event_time)
      or exists (select from classroom.room_event e
                 where e.app_id = :app and e.room_uuid = :series and e.incarnation = :incarnation::int
                   and e.sequence = p.sequence and e.source = 'log' and e.cmd = p.cmd
                   and coalesce(to_jsonb(e.event_time), 'null') = p.event_time))
    returning 1
  )`

const holes = `
  hole as (
    select h."from" as sequence_from, h."to" as sequence_to, h.state
    from json_to_recordset(:holes::json) as h("from" bigint, "to" bigint, state text) where exists (select from moved)
  ), opened as (
    insert into ingest.gap as g (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, reason, state,
                                 first_seen_at, updated_at)
    select :app, :stream, :series, :incarnation::int, 'sequence', h.sequence_from, h.sequence_to, 'hole', h.state,
           ingest.clock(), ingest.clock() from hole h
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set state = excluded.state, updated_at = ingest.clock() where g.state <> excluded.state
    returning 1
  ), closed as (
    update ingest.gap g set state = 'repaired', updated_at = ingest.clock()
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.incarnation = :incarnation::int
      and g.unit = 'sequence' and g.state = 'open' and :complete::boolean and exists (select from moved)
      and not exists (select from hole h where h.sequence_from = g.sequence_from and h.sequence_to = g.sequence_to)
    returning 1
  )`

/**
 * Another room under the same roomUuid: the former one ends here and can no longer be read, and every other stream
 * starts over.
 */
const opening = `
  gone as (
    update classroom.room r set valid_to = coalesce((select min(e.at) from event e), ingest.clock())
    where r.app_id = :app and r.room_uuid = :series and r.incarnation < :incarnation::int and r.valid_to is null
      and :opens::boolean and exists (select from moved)
    returning r.incarnation
  ), ${lose(':series', 'room_reused')}, restarted as (
    update ingest.progress p
    set version = p.version + 1, cursor = null, carry = jsonb_build_object('incarnation', :incarnation::int),
        caught_up_at = null, closed_at = null
    where p.app_id = :app and p.series = :series and p.stream = any (:room_streams::text[]) and p.stream <> :stream
      and :opens::boolean and exists (select from moved)
    returning 1
  )`

const written = ['classroom.room', 'classroom.room_event', ...eventTables] as const

function derived(source: 'feed' | 'log'): string[] {
  const from = 'join judged j on j.room_uuid = d.room_uuid and j.sequence = d.sequence where j.fresh'
  const conflict = source === 'feed' ? 'keep' : { at: firstSight('at') }
  return eventTables.map(table => store(table, { incarnation: 'j.incarnation', from, conflict }))
}

const shared = [rejected, settled]

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

/** News of a room whose visits had ended: its log is read again, also by a process that was not there to hear it. */
const reopened = `
  reopened as (
    update ingest.progress p set closed_at = null
    where p.app_id = :app and p.stream = 'room-events' and p.closed_at is not null
      and p.series in (select j.room_uuid from judged j where j.fresh or j.contradicts)
    returning 1
  )`

export const commitFeed: Statement = statement(
  'commit_feed',
  `with ${[
    fence('alone'),
    moved('true'),
    event,
    feedPlaces,
    judged(feedFresh),
    storedEvents('feed'),
    storedRooms('feed', provenByFeed),
    followed,
    reopened,
    diverged,
    ...derived('feed'),
    ...shared,
  ].join(',')} ${verdict(written, counted('true'))}`,
)

export const commitLog: Statement = statement(
  'commit_log',
  `with ${[
    fence('together'),
    moved('true'),
    event,
    logPlaces,
    judged(logFresh),
    ...takenBack,
    storedEvents('log'),
    storedRooms('log', 'true'),
    followed,
    diverged,
    confirmed,
    holes,
    opening,
    ...derived('log'),
    ...shared,
  ].join(',')} ${verdict(written, counted('stored_source is null'))}`,
)

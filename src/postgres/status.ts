import { sql } from 'kysely'
import type pg from 'pg'
import type { BacklogStatus, StoreGauges, StoreStatus, StreamStatus, Timeline } from '../engine/ports.ts'
import { type ConnectOptions, connect, query } from './connect.ts'
import { readLeftBehind } from './housekeeping.ts'
import { HEARTBEAT_MS } from './shard-jobs.ts'
import { clock, db, isoText, isoTime, rowsOf, whole } from './typed.ts'

const streams = `
  with item as (
    select app_id, stream, sum(things)::int as things, coalesce(sum(things) filter (where state = 'pending'), 0)::int as backlog,
           max(last_at) filter (where state = 'done') as last_at
    from ingest.tally where about = 'item' group by 1, 2 having sum(things) > 0
  )
  select coalesce(o.app_id, c.app_id) as app, coalesce(o.stream, c.stream) as stream, coalesce(o.open, 0) as open,
         coalesce(c.closed, 0) as closed, case when f.stream is null then coalesce(o.backlog, 0) else 0 end as backlog, ${isoText('greatest(o.last_at, c.last_at)')} as "lastCommit",
         case when f.stream is null then round(extract(epoch from ingest.clock() - o.first_at))::int end as "oldestSeconds"
  from (select app_id, stream, count(*)::int as open, count(*) filter (where caught_up_at is null)::int as backlog,
               max(updated_at) as last_at, min(updated_at) as first_at
        from ingest.progress p where closed_at is null and not exists (select from item i where (i.app_id, i.stream) = (p.app_id, p.stream))
        group by 1, 2) o
  full join (select app_id, stream, sum(things)::int as closed, max(last_at) as last_at
             from ingest.tally where about = 'series' group by 1, 2 having sum(things) > 0) c using (app_id, stream)
  left join ingest.stream_off f on (f.app_id, f.stream) = (o.app_id, o.stream) and f.on_at is null
  union all
  select app_id, stream, backlog, things - backlog, backlog, ${isoText('last_at')}, round(extract(epoch from ingest.clock() - last_at))::int
  from item
  order by 1, 2`

const rooms = db
  .selectFrom('ingest.tally')
  .select([
    'app_id as app',
    sql<string>`replace(state, '_', ' ')`.as('state'),
    whole('sum(things)').as('rooms'),
  ])
  .where('about', '=', 'room')
  .groupBy(['app_id', 'state'])
  .having(sql`sum(things)`, '>', 0)
  .orderBy('app')
  .orderBy('state')

const backlog = `
  select app_id as app, stream, (count(*) filter (where seconds > 0))::int as series, sum(seconds)::double precision as seconds,
         max(seconds)::double precision as "longestSeconds", max(unread_seconds)::double precision as "longestUnreadSeconds",
         coalesce(sum(items), 0)::int as items, ${isoText('min(oldest)')} as oldest,
         max(lost_seconds)::double precision as "longestLostSeconds", coalesce(sum(lost_items), 0)::int as "lostItems"
  from ingest.backlog group by 1, 2 order by 1, 2`

const gaps = db
  .selectFrom('ingest.gap')
  .select(['app_id as app', 'stream', 'state', 'reason', whole('sum(coalesce(stands_for, 1))').as('gaps')])
  .select(
    isoTime(`min(recoverable_until) filter (where state = 'open')`)
      .$castTo<string | null>()
      .as('recoverableUntil'),
  )
  .select(
    whole(`coalesce(sum(coalesce(stands_for, 1)) filter (
      where state = 'lost' and updated_at > (select ingest.clock()) - interval '1 day'), 0)`).as('lostToday'),
  )
  .groupBy(['app_id', 'stream', 'state', 'reason'])
  .orderBy('app')
  .orderBy('stream')
  .orderBy('state')
  .orderBy('reason')

/** By app, stream and reason. */
export const deadLetters = db
  .selectFrom('ingest.dead_letter')
  .select(['app_id as app', 'stream', 'reason', whole('sum(occurrences)').as('letters')])
  .select(isoTime('max(last_seen_at)').as('lastSeen'))
  .groupBy(['app_id', 'stream', 'reason'])
  .orderBy('app')
  .orderBy('stream')
  .orderBy('reason')

/** Whoever was silent for longer owns nothing. */
const silence = `interval '${HEARTBEAT_MS} milliseconds'`

/** What is read is as old as what a replica has seen. */
const seenUntil = `case when pg_is_in_recovery() then pg_last_xact_replay_timestamp() end`

const owners = db
  .selectFrom('ingest.ownership')
  .innerJoin('ingest.replica', 'ingest.replica.owner', 'ingest.ownership.owner')
  .select(['ingest.ownership.owner', whole('count(*)').as('shards')])
  .select(isoTime(`(min(seen_at) + ${silence})`).as('expiresAt'))
  .where('seen_at', '>', sql<Date>`least(${clock}, ${sql.raw(seenUntil)}) - ${sql.raw(silence)}`)
  .groupBy('ingest.ownership.owner')
  .orderBy('ingest.ownership.owner')

const divergences = db
  .selectFrom('ingest.divergence')
  .select([isoTime('ingest.clock()').as('now'), whole('count(*)').as('divergences')])
  .select(isoTime(seenUntil).$castTo<string | null>().as('replicaAt'))
  .where('resolved_at', 'is', null)

const unknownZones = db
  .selectFrom('ingest.app')
  .select('app_id as app')
  .select(sql<string>`unknown_zone`.as('zone'))
  .where('unknown_zone', 'is not', null)
  .orderBy('app_id')

/** Reads the status. Throws StoreUnavailable. */
export async function readStatus(pool: pg.Pool): Promise<StoreStatus> {
  const [at] = await rowsOf(pool, divergences)
  return {
    ...at!,
    streams: await query<StreamStatus>(pool, { text: streams, values: [] }),
    rooms: await rowsOf(pool, rooms),
    gaps: await rowsOf(pool, gaps),
    backlog: await query<BacklogStatus>(pool, { text: backlog, values: [] }),
    deadLetters: await rowsOf(pool, deadLetters),
    owners: await rowsOf(pool, owners),
    unknownZones: await rowsOf(pool, unknownZones),
  }
}

const roomStates = db
  .selectFrom('ingest.tally')
  .select(['app_id as app', 'state', whole('sum(things)').as('count')])
  .where('about', '=', 'room')
  .where('state', '<>', 'forgotten')
  .groupBy(['app_id', 'state'])
  .having(sql`sum(things)`, '>', 0)
  .orderBy('app')
  .orderBy('state')

const recentLosses = db
  .selectFrom('ingest.gap')
  .select(['stream', whole('count(*)').as('day')])
  .select(
    whole(`count(*) filter (where updated_at > (select ingest.clock()) - interval '1 hour')`).as('hour'),
  )
  .where('state', '=', 'lost')
  .where('updated_at', '>', sql<Date>`(select ingest.clock()) - interval '1 day'`)
  .groupBy('stream')
  .orderBy('stream')

/** Where nobody lists the players, those that lived then live for ever. */
const listed = `ingest.progress p where p.stream = 'cloud-players' and p.closed_at is null
  and not exists (select from ingest.stream_off f where (f.app_id, f.stream) = (p.app_id, p.stream) and f.on_at is null)`

/** Players that live; those that are gone only ever get more. */
const playerStates = `
  select app_id as app, coalesce(status, 'unknown') as status, count(*)::int as count
  from players.cloud_player where destroyed_at is null and app_id in (select p.app_id from ${listed}) group by 1, 2 order by 1, 2`

/** Of every app whose players are listed, also where there are none. */
const orphans = `
  select l.app_id as app, count(o.player_id)::int as count
  from (select p.app_id from ${listed} and p.caught_up_at is not null) l left join players.orphan_player o using (app_id) group by 1 order by 1`

/** Reads what the metrics tell of the database. Throws StoreUnavailable. */
export async function readStoreGauges(pool: pg.Pool): Promise<StoreGauges> {
  const all = async <Row extends object>(text: string) => query<Row>(pool, { text, values: [] })
  return {
    gaps: await rowsOf(pool, gaps),
    losses: await rowsOf(pool, recentLosses),
    rooms: await rowsOf(pool, roomStates),
    players: await all<{ app: string; status: string; count: number }>(playerStates),
    orphans: await all<{ app: string; count: number }>(orphans),
    leftBehind: await readLeftBehind(pool),
  }
}

/**
 * Asks next to nothing of a table that every daemon needs, in a session of its own, for what is slow may have taken all
 * others. Throws StoreUnavailable where the database lets nobody in, lacks what is needed, or does not answer.
 */
export async function askDatabase(options: ConnectOptions): Promise<void> {
  const pool = connect({ ...options, poolSize: 1 })
  try {
    await query(pool, { text: 'select from ingest.ownership limit 1', values: [] })
  } finally {
    void pool.end().catch(() => {})
  }
}

/** Ranges as pairs of Unix seconds. */
const pairs = (ranges: string) => `(
  select coalesce(json_agg(json_build_array(
    floor(extract(epoch from lower(r)))::bigint, ceil(extract(epoch from upper(r)))::bigint)), '[]')
  from unnest(${ranges}) r where lower(r) is not null and upper(r) is not null)`

const timelines = `
  with clip as (
    select tstzmultirange(tstzrange(ingest.clock() - interval '8 days', ingest.clock())) as whole
  ), gap as (
    select g.app_id, g.stream,
           range_agg(r.range) filter (where g.state = 'open') as waiting,
           range_agg(r.range) filter (where g.state = 'lost') as lost
    from ingest.gap g cross join clip c
    cross join lateral (
      select tstzrange(coalesce(g.range_from, g.first_seen_at), greatest(
        g.range_to, coalesce(g.range_from, g.first_seen_at) + interval '1 second')) as range
    ) r
    where g.state in ('open', 'lost') and g.stands_for is null and g.updated_at > ingest.clock() - interval '8 days'
      and r.range && c.whole
    group by 1, 2
  ), by_time as (
    select p.app_id, p.stream, true as is_by_time, min(p.backlog_from) as begins,
           range_intersect_agg((p.covered + p.unasked + b.before) * c.whole) as complete,
           range_intersect_agg((p.covered + p.seen + p.lost + p.unasked + b.before) * c.whole) as seen,
           range_agg(p.lost * c.whole - coalesce(o.off, '{}')) as lost
    from ingest.progress p cross join clip c
    left join ingest.stream_off_time o on o.app_id = p.app_id and o.stream = p.stream
    cross join lateral (select tstzmultirange(tstzrange(null, p.backlog_from)) as before) b
    where p.backlog_from is not null and p.closed_at is null
      and p.stream in (select s.stream from ingest.stream s where s.kind = 'window')
    group by 1, 2
  ), others as (
    select p.app_id, p.stream, false as is_by_time,
           coalesce(min(p.backlog_from), (select min(r.first_seen_at) from classroom.room r where r.app_id = p.app_id)) as begins,
           null::tstzmultirange as complete, null::tstzmultirange as seen, null::tstzmultirange as lost
    from ingest.progress p
    where p.closed_at is null and p.stream in (select s.stream from ingest.stream s where s.kind <> 'window')
    group by 1, 2
  ), item as (
    select w.app_id, w.stream, range_agg(tstzrange(w.range_from, w.range_to, '[]')) as waiting
    from ingest.work_item w where w.state = 'pending' group by 1, 2
  )
  select app_id as app, stream, t.is_by_time as "isByTime", extract(epoch from t.begins)::double precision as begins,
         ${pairs(`coalesce(t.complete, '{}')`)} as complete, ${pairs(`coalesce(t.seen, '{}')`)} as seen,
         ${pairs(`(coalesce(g.waiting, '{}') + coalesce(i.waiting, '{}')) * c.whole`)} as waiting,
         ${pairs(`(coalesce(g.lost, '{}') + coalesce(t.lost, '{}')) * c.whole`)} as lost
  from (select * from by_time union all select * from others) t
  cross join clip c
  left join gap g using (app_id, stream)
  left join item i using (app_id, stream)
  order by 1, 2`

/** Reads what of the last eight days is stored, of every stream of every app. Throws StoreUnavailable. */
export async function readTimelines(pool: pg.Pool): Promise<readonly Timeline[]> {
  return await query<Timeline>(pool, { text: timelines, values: [] })
}

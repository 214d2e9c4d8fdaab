import { widgetEvent } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { cloudPlayer, cloudPlayerChange } from '../../tables/players.ts'
import { regained } from '../gaps.ts'
import { type Statement, statement } from '../statement.ts'
import { advanced, cteName, fence, incoming, rejected, settled, store, storeOfApp, verdict } from './ctes.ts'

/**
 * What is of a room counts only while the room is certainly still the incarnation that the page was read for; whether
 * it is, the room's log decides first.
 */
const verified = `
  verified as materialized (
    select 1 from classroom.room r
    where r.app_id = :app and r.room_uuid = :series and r.incarnation = :incarnation::int
      and r.verified_at > ingest.clock() - :memory::interval
  )`

/**
 * Items at whose place the room has another one: the page may be of the next room of that name, whose log nobody has read
 * yet. So it counts only once the room's log was read after they were noted, and was that of the same room; a reading of the
 * log that is under way may be of the room before, and begins again. Then they are told in other words than before, and the
 * first stay.
 */
const toldOtherwise = `
  told_otherwise as materialized (
    select d.position, :incarnation::text || '/' || d.position as key, s.data as kept, d.data as other
    from ${incoming(widgetEvent)}
    -- "offset 0" makes one look-up of each item: a join would read all items of the app.
    cross join lateral (
      select s.data, s.content_hash from classroom.widget_event s
      where s.app_id = :app and s.room_uuid = d.room_uuid and s.incarnation = :incarnation::int
        and s.widget = d.widget and s.position = d.position
      offset 0
    ) s
    where s.content_hash <> d.content_hash and exists (select from fence) and exists (select from verified)
      and exists (select from ingest.progress p
                  where p.app_id = :app and p.stream = :stream and p.series = :series and p.version = :version)
  ),
  doubtful as materialized (
    select from told_otherwise t
    where not exists (
      select from ingest.divergence g
      where g.app_id = :app and g.stream = :stream and g.series = :series and g.key = t.key
        and g.seen_at > ingest.clock() - :memory::interval)
  ),
  log_again as (
    update ingest.progress p set version = p.version + 1
    where p.app_id = :app and p.series = :series and exists (select from doubtful)
      and p.stream = any (array(select unnest(s.needs) from ingest.stream s where s.stream = :stream))
    returning 1
  ),
  -- Whoever commits the log holds its progress first: so does this.
  doubted as (
    update classroom.room r set verified_at = ingest.clock() - :memory::interval
    where r.app_id = :app and r.room_uuid = :series and r.incarnation = :incarnation::int and exists (select from doubtful)
      and (select count(*) from log_again) >= 0
  )`

const diverged = `
  diverged as (
    insert into ingest.divergence as g (app_id, stream, series, key, kept, other)
    select :app, :stream, :series, t.key, t.kept, t.other from told_otherwise t
    on conflict (app_id, stream, series, key, md5(other::text)) do update set seen_at = ingest.clock()
      where g.seen_at <= ingest.clock() - :memory::interval
    returning (xmax = 0) as fresh
  )`

/** Commits a page of a room's widget log or list, which writes these tables. */
export function roomListStatement(name: string, writes: readonly Table[]): Statement {
  const watched = writes.includes(widgetEvent)
  const unlessOtherwise = (table: Table) =>
    watched && 'ordinal' in table.columns
      ? ' and not exists (select from told_otherwise t where t.position = d.ordinal)'
      : ''
  const stores = writes.map(table =>
    store(table, {
      incarnation: ':incarnation::int',
      from: `where exists (select from moved)${unlessOtherwise(table)}`,
      conflict: {},
    }),
  )
  const isSure = `exists (select from verified)${watched ? ' and not exists (select from doubtful)' : ''}`
  const pieces = [
    fence('apart'),
    verified,
    ...(watched ? [toldOtherwise] : []),
    advanced(isSure),
    ...stores,
    ...(watched ? [diverged] : []),
    regained,
  ]
  const extra = {
    diverged: watched ? '(select count(*) from diverged where fresh)::int' : '0',
    verified: isSure,
  }
  return statement(name, `with ${[...pieces, rejected, settled].join(',')} ${verdict(writes, extra)}`)
}

/**
 * What is stored of a player decides what changed: a list that is read again after its page was committed, or by a
 * stream that has forgotten the player, adds nothing to its history.
 */
const storedChanges = `
  ${cteName(cloudPlayerChange)} as (
    insert into ${cloudPlayerChange.name} as t (app_id, player_id, changed_at, from_status, to_status, source)
    select :app, d.player_id, d.changed_at, coalesce(d.from_status, p.status), d.to_status, d.source
    from ${incoming(cloudPlayerChange)}
    left join ${cloudPlayer.name} p on p.app_id = :app and p.player_id = d.player_id
    where exists (select from moved) and d.to_status is distinct from p.status
    on conflict (app_id, player_id, changed_at) do update set to_status = excluded.to_status
      where t.to_status <> excluded.to_status
    returning (xmax = 0) as fresh
  )`

/** A list does not tell it; whoever made the player here knows. */
const region = `(
  select i.region from ingest.intent i where i.app_id = :app and i.player_id = d.player_id
  order by i.updated_at desc limit 1)`

/** Of the same moment as the row's first change. */
const firstSeen = `coalesce(d.last_seen_at, ingest.clock())`

/** Tables of an app that are not written as their rows come. */
const particular = new Map<Table, () => string>([
  [
    cloudPlayer,
    () =>
      storeOfApp(cloudPlayer, [
        ['region', region],
        ['first_seen_at', firstSeen],
      ]),
  ],
  [cloudPlayerChange, () => storedChanges],
])

/** Commits a page of a list of the whole app, which writes these tables. */
export function appListStatement(name: string, writes: readonly Table[]): Statement {
  const stores = writes.map(table => particular.get(table)?.() ?? storeOfApp(table))
  const pieces = [fence('apart'), advanced('true'), ...stores, rejected, settled]
  return statement(name, `with ${pieces.join(',')} ${verdict(writes, { diverged: '0', verified: 'true' })}`)
}

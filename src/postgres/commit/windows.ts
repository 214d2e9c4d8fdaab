import type { WindowCommit } from '../../engine/ports.ts'
import type { Table } from '../../tables/index.ts'
import { encodeText } from '../encode.ts'
import { type BoundStatement, bind, type Statement, statement, type Values } from '../statement.ts'
import {
  debitValues,
  fence,
  rejected,
  rejectedValues,
  settled,
  storeOfApp,
  verdict,
  worked,
  workValues,
} from './ctes.ts'

/**
 * Commits a page of a range of time. What becomes final, was read, or is given up is added to what the series has
 * already, so nothing that someone else has marked meanwhile is undone.
 */
const ranges = (parameter: string) => `
      (select coalesce(range_agg(tstzrange(to_timestamp(r."from"), to_timestamp(r."to"))), '{}')
       from json_to_recordset(:${parameter}::json) as r("from" double precision, "to" double precision))`

const page = `
  page as materialized (
    select ${ranges('covers')} as covers, ${ranges('sees')} as sees, ${ranges('loses')} as loses,
           ${ranges('misses')} as misses
  )`

const advanced = `
  moved as (
    update ingest.progress p
    set version = p.version + 1, epoch = :epoch, updated_at = ingest.clock(),
        covered = p.covered + g.covers, seen = p.seen + g.sees, lost = p.lost - g.covers + g.loses,
        wanted = p.wanted - g.sees, missing = p.missing - g.sees + g.misses - p.covered - g.covers,
        caught_up_at = case when isempty(g.covers) then p.caught_up_at else ingest.clock() end
    from page g
    where p.app_id = :app and p.stream = :stream and p.series = :series and p.version = :version
      and p.backlog_from is not null and exists (select from fence)
    returning p.version, p.covered
  )`

const lost = `
  lost as (
    insert into ingest.gap as g (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
    select :app, :stream, :series, 'time', to_timestamp(l."from"), to_timestamp(l."to"), l.reason, 'lost',
           ingest.clock(), ingest.clock()
    from json_to_recordset(:loses::json) as l("from" double precision, "to" double precision, reason text)
    where exists (select from moved)
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set range_to = greatest(g.range_to, excluded.range_to), reason = excluded.reason, state = 'lost',
          updated_at = ingest.clock()
    returning 1
  )`

/**
 * What was given up once and has been read after all, because someone asked for it. Of a gap that was read in part the
 * rest stays, each piece a gap of its own, and no newer than it was; one that stands for many is repaired as a whole or not at all.
 */
const repaired = `
  healed as (
    select g.id, tstzmultirange(tstzrange(g.range_from, g.range_to)) - m.covered as rest
    from moved m, page, ingest.gap g
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.unit = 'time' and g.state in ('lost', 'absent')
      and tstzrange(g.range_from, g.range_to) && page.covers
      and (g.stands_for is null or m.covered @> tstzrange(g.range_from, g.range_to))
  ), repaired as (
    update ingest.gap g
    set state = case when lower(h.rest) = g.range_from then g.state else 'repaired' end,
        range_to = case when isempty(h.rest) then g.range_to
                        when lower(h.rest) > g.range_from then lower(h.rest)
                        else (select min(upper(piece)) from unnest(h.rest) piece) end,
        updated_at = case when lower(h.rest) = g.range_from then g.updated_at else ingest.clock() end
    from healed h where g.id = h.id
    returning 1
  ), rest as (
    insert into ingest.gap as g (app_id, stream, series, unit, range_from, range_to, reason, state, first_seen_at, updated_at)
    select o.app_id, o.stream, o.series, o.unit, lower(piece), upper(piece), o.reason, o.state, o.first_seen_at, o.updated_at
    from healed h join ingest.gap o using (id), unnest(h.rest) piece
    where lower(piece) > o.range_from
    on conflict (app_id, stream, series, incarnation, unit, sequence_from, sequence_to, range_from) do update
      set range_to = excluded.range_to, reason = excluded.reason, state = excluded.state, updated_at = excluded.updated_at
    returning 1
  )`

/** Commits a page of a range of time, which writes these tables. */
export function windowStatement(name: string, writes: readonly Table[]): Statement {
  const stores = writes.map(table => storeOfApp(table))
  const pieces = [
    ...[fence('apart'), page, advanced, ...stores, lost, repaired],
    ...[worked(`'live'`), rejected, settled],
  ]
  return statement(name, `with ${pieces.join(',')} ${verdict(writes, { diverged: '0', verified: 'true' })}`)
}

/** Gives such a statement the values of a page. */
export function bindWindow(prepared: Statement, page: WindowCommit, rows: Values): BoundStatement {
  return bind(prepared, {
    ...rows,
    ...{ app: page.app, stream: page.stream, series: encodeText(page.series), version: page.version },
    ...page.fence,
    covers: JSON.stringify(page.covers),
    sees: JSON.stringify(page.sees),
    loses: JSON.stringify(page.loses),
    misses: JSON.stringify(page.misses),
    ...workValues(page.work),
    ...rejectedValues(page.rejects),
    ...debitValues(page.settles),
  })
}

import type pg from 'pg'
import type { CommitResult, WindowCommit } from '../../engine/ports.ts'
import type { TableName } from '../../rows/rows.ts'
import { encodeText } from '../encode.ts'
import { type BoundStatement, bind, type Statement, statement } from '../statement.ts'
import {
  debitValues,
  encodeRows,
  fence,
  parameterName,
  rejected,
  rejectedValues,
  settled,
  storeOfApp,
  verdict,
} from './ctes.ts'
import { dryRunCommit, runCommit } from './run.ts'
import { worked, workValues } from './work.ts'

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
      and p.owed_from is not null and exists (select from fence)
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

/** What was given up once and has been read after all, because someone asked for it. */
const repaired = `
  repaired as (
    update ingest.gap g set state = 'repaired', updated_at = ingest.clock()
    from moved m, page
    where g.app_id = :app and g.stream = :stream and g.series = :series and g.unit = 'time' and g.state in ('lost', 'absent')
      and tstzrange(g.range_from, g.range_to) && page.covers and m.covered @> tstzrange(g.range_from, g.range_to)
    returning 1
  )`

function windowStatement(table: TableName): { readonly table: TableName; readonly prepared: Statement } {
  const pieces = [
    ...[fence('apart'), page, advanced, storeOfApp(table), lost, repaired],
    ...[worked(`'live'`), rejected, settled],
  ]
  const text = `with ${pieces.join(',')} ${verdict([table], { diverged: '0', verified: 'true' })}`
  return { table, prepared: statement(`commit_${table}`, text) }
}

const statements: Readonly<Partial<Record<string, ReturnType<typeof windowStatement>>>> = {
  calls: windowStatement('analytics.call'),
  'usage-insight': windowStatement('analytics.usage_insight'),
  'quality-insight': windowStatement('analytics.quality_insight'),
  'realtime-usage': windowStatement('analytics.usage_realtime'),
  'realtime-quality': windowStatement('analytics.quality_realtime'),
}

/** Commits one page of a window in one statement and one round trip. Throws RefusedRows or StoreUnavailable. */
export function commitWindow(pool: pg.Pool, page: WindowCommit): Promise<CommitResult> {
  return runCommit(pool, bindWindow(page))
}

/** Runs the same statement and rolls it back: true when Postgres would take every value. */
export function dryRunWindow(pool: pg.Pool, page: WindowCommit): Promise<boolean> {
  return dryRunCommit(pool, bindWindow(page))
}

function bindWindow(page: WindowCommit): BoundStatement {
  const found = statements[page.stream]
  if (!found) throw new TypeError(`pages of stream ${page.stream} are not committed as a range of time`)
  const { table, prepared } = found
  refuseOthers(page, table)
  return bind(prepared, {
    ...{ app: page.app, stream: page.stream, series: encodeText(page.series), version: page.version },
    ...page.fence,
    covers: JSON.stringify(page.covers),
    sees: JSON.stringify(page.sees),
    loses: JSON.stringify(page.loses),
    misses: JSON.stringify(page.misses),
    [parameterName(table)]: encodeRows(page.rows[table]),
    ...workValues(page.work),
    ...rejectedValues(page.rejects),
    ...debitValues(page.settles),
  })
}

/** A page brings rows of its stream's table only; others would be dropped without a word. */
export function refuseOthers(page: Pick<WindowCommit, 'rows'>, table: TableName): void {
  const other = Object.keys(page.rows).find(name => name !== table)
  if (other) throw new TypeError(`this page cannot bring rows of ${other}`)
}

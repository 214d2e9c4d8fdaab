import type pg from 'pg'
import type { CommitResult, ItemCommit } from '../../engine/ports.ts'
import type { TableName } from '../../rows/rows.ts'
import { encodeJson, encodeText } from '../encode.ts'
import { type BoundStatement, bind, type Statement, statement } from '../statement.ts'
import {
  encodeRows,
  fence,
  parameterName,
  rejected,
  rejectedValues,
  settled,
  settledValues,
  storeOfApp,
  verdict,
} from './pieces.ts'
import { rehearseCommit, runCommit } from './run.ts'
import { encodeSamples, storedSamples } from './samples.ts'
import { refuseOthers } from './windows.ts'
import { worked, workValues } from './work.ts'

/** What was set aside of the item so far, this page included. */
const aside = `(case when w.page > 1 then w.set_aside else 0 end + :set_aside::int)`

/**
 * Commits a page of an item of the worklist. An item that has grown since it was read is read again, and so is one of
 * which something was set aside: the next answer may be one that can be read.
 */
const moved = `
  moved as (
    update ingest.worklist w
    set version = w.version + 1, set_aside = ${aside}, updated_at = ingest.clock(),
        state = case when :next_page::int is null and ${aside} = 0 then 'done' else 'owed' end,
        page = coalesce(:next_page::int, case when ${aside} > 0 then 1 else w.page end),
        carry = case when :next_page::int is not null then :carry::jsonb end,
        failures = case when :next_page::int is not null then w.failures when ${aside} > 0 then w.failures + 1 else 0 end,
        not_before = case when :next_page::int is null and ${aside} > 0 then ingest.clock() + :again::interval end
    where w.app_id = :app and w.stream = :stream and w.item = :series and w.part = :part and w.version = :version
      and w.state = 'owed' and exists (select from fence)
    returning w.version, w.range_from, w.state
  )`

/** What was given up once and has been fetched after all, because someone asked for it. */
const repaired = `
  repaired as (
    update ingest.gap g set state = 'repaired', updated_at = ingest.clock()
    from moved m
    where m.state = 'done' and g.app_id = :app and g.stream = :stream and g.series = :series and g.unit = 'time'
      and g.range_from = m.range_from and g.state = 'lost'
      and not exists (
        select from ingest.worklist w
        where w.app_id = :app and w.stream = :stream and w.item = :series and w.range_from = m.range_from
          and (w.state = 'lost' or w.state = 'owed' and w.part <> :part))
    returning 1
  )`

function itemStatement(name: string, table: TableName, stored: string): Statement {
  const pieces = [fence('apart'), moved, stored, repaired, worked(`'live'`), rejected, settled]
  return statement(name, `with ${pieces.join(',')} ${verdict([table], { diverged: '0', verified: 'true' })}`)
}

const sessions = itemStatement(
  'commit_sessions',
  'analytics.call_session',
  storeOfApp('analytics.call_session'),
)
const metrics = itemStatement('commit_metrics', 'analytics.session_metric', storedSamples)

/** Commits one page of an item in one statement and one round trip. Throws RefusedRows or StoreUnavailable. */
export function commitItem(pool: pg.Pool, page: ItemCommit): Promise<CommitResult> {
  return runCommit(pool, bindItem(page))
}

/** Runs the same statement and rolls it back: true when Postgres would take every value. */
export function rehearseItem(pool: pg.Pool, page: ItemCommit): Promise<boolean> {
  return rehearseCommit(pool, bindItem(page))
}

function bindItem(page: ItemCommit): BoundStatement {
  switch (page.item.stream) {
    case 'call-sessions':
      refuseOthers(page, 'analytics.call_session')
      return bind(sessions, {
        ...values(page),
        [parameterName('analytics.call_session')]: encodeRows(page.rows['analytics.call_session']),
      })
    case 'call-metrics':
      refuseOthers(page, 'analytics.session_metric')
      return bind(metrics, {
        ...values(page),
        [parameterName('analytics.session_metric')]: encodeSamples(page.rows['analytics.session_metric']),
      })
  }
}

function values({ app, fence, item, nextPage, carry, work, rejects, again, settles }: ItemCommit) {
  return {
    ...{ app, stream: item.stream, series: encodeText(item.key), part: encodeText(item.part) },
    ...fence,
    version: item.version,
    next_page: nextPage,
    set_aside: rejects.length,
    again: `${again} milliseconds`,
    carry: encodeJson(carry),
    ...workValues(work),
    ...rejectedValues(rejects),
    ...settledValues(settles),
  }
}

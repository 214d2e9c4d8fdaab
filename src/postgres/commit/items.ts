import type pg from 'pg'
import type { CommitResult, ItemCommit } from '../../engine/ports.ts'
import type { TableName } from '../../rows/rows.ts'
import { encodeJson, encodeText } from '../encode.ts'
import { type BoundStatement, bind, type Statement, statement } from '../statement.ts'
import {
  debitValues,
  encodeRows,
  fence,
  none,
  parameterName,
  rejected,
  rejectedValues,
  settled,
  storeOfApp,
  verdict,
} from './ctes.ts'
import { dryRunCommit, runCommit } from './run.ts'
import { encodeSamples, slicesOf, storedSamples } from './samples.ts'
import { refuseOthers } from './windows.ts'
import { worked, workValues } from './work.ts'

/** What was set aside of the item so far, this page included. */
const aside = `(case when w.page > 1 then w.set_aside else 0 end + :set_aside::int)`

/**
 * Commits a page of an item of the work queue. An item that has grown since it was read is read again, and so is one of
 * which something was set aside: the next answer may be one that can be read.
 */
const advanced = `
  moved as (
    update ingest.work_item w
    set version = w.version + 1, set_aside = ${aside}, updated_at = ingest.clock(),
        state = case when :next_page::int is null and ${aside} = 0 then 'done' else 'owed' end,
        falls_back_to = case when :next_page::int is not null or ${aside} > 0 then w.falls_back_to end,
        page = coalesce(:next_page::int, case when ${aside} > 0 then 1 else w.page end),
        stream_state = case when :next_page::int is not null then :stream_state::jsonb end,
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
        select from ingest.work_item w
        where w.app_id = :app and w.stream = :stream and w.item = :series and w.range_from = m.range_from
          and (w.state = 'lost' or w.state = 'owed' and w.part <> :part))
    returning 1
  )`

function itemStatement(name: string, table: TableName, stored: string): Statement {
  const pieces = [fence('apart'), advanced, stored, repaired, worked(`'live'`), rejected, settled]
  return statement(name, `with ${pieces.join(',')} ${verdict([table], { diverged: '0', verified: 'true' })}`)
}

const sessions = itemStatement(
  'commit_sessions',
  'analytics.call_session',
  storeOfApp('analytics.call_session'),
)
const metrics = itemStatement('commit_metrics', 'analytics.session_metric', storedSamples)

/** The item as it was read, and still ours: what a slice of a page needs before its last one moves the item. */
const held = `
  moved as (
    select w.version from ingest.work_item w
    where w.app_id = :app and w.stream = :stream and w.item = :series and w.part = :part and w.version = :version
      and w.state = 'owed' and exists (select from fence)
  )`

const someMetrics = statement(
  'commit_some_metrics',
  `with ${[fence('apart'), held, storedSamples, none].join(',')}
   ${verdict(['analytics.session_metric'], { diverged: '0', verified: 'true' })}`,
)

/**
 * Commits one page of an item. A page that is large goes in slices, each in a statement of its own, so that neither side
 * holds all of it once more; the item moves with the last one alone. What comes between leaves it owed: it is read again
 * then, and writes the same rows. Throws RefusedRows or StoreUnavailable.
 */
export async function commitItem(pool: pg.Pool, page: ItemCommit): Promise<CommitResult> {
  let before = 0
  for (const bound of bindItem(page)) {
    const result = await runCommit(pool, bound)
    if (result.outcome !== 'committed') return result
    if (bound.name !== someMetrics.name) return withMore(result, before)
    before += result.stored['analytics.session_metric'] ?? 0
  }
  throw new Error('a page has a last slice')
}

function withMore(result: CommitResult, before: number): CommitResult {
  if (result.outcome !== 'committed' || before === 0) return result
  const { stored } = result
  const all = before + (stored['analytics.session_metric'] ?? 0)
  return { ...result, stored: { ...stored, 'analytics.session_metric': all } }
}

/** Runs the same statements and rolls each back: true when Postgres would take every value. */
export async function dryRunItem(pool: pg.Pool, page: ItemCommit): Promise<boolean> {
  for (const bound of bindItem(page)) if (!(await dryRunCommit(pool, bound))) return false
  return true
}

function* bindItem(page: ItemCommit): Generator<BoundStatement> {
  switch (page.item.stream) {
    case 'call-sessions':
      refuseOthers(page, 'analytics.call_session')
      yield bind(sessions, {
        ...values(page),
        [parameterName('analytics.call_session')]: encodeRows(page.rows['analytics.call_session']),
      })
      return
    case 'call-metrics': {
      refuseOthers(page, 'analytics.session_metric')
      const rows = parameterName('analytics.session_metric')
      const common = values(page)
      const slices = slicesOf(page.rows['analytics.session_metric'] ?? [])
      for (const [i, slice] of slices.entries()) {
        const prepared = i < slices.length - 1 ? someMetrics : metrics
        yield bind(prepared, { ...common, [rows]: encodeSamples(slice) })
      }
    }
  }
}

function values({ app, fence, item, nextPage, streamState, work, rejects, again, settles }: ItemCommit) {
  return {
    ...{ app, stream: item.stream, series: encodeText(item.key), part: encodeText(item.part) },
    ...fence,
    version: item.version,
    next_page: nextPage,
    set_aside: rejects.length,
    again: `${again} milliseconds`,
    stream_state: encodeJson(streamState),
    ...workValues(work),
    ...rejectedValues(rejects),
    ...debitValues(settles),
  }
}

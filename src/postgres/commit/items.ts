import type { ItemCommit } from '../../engine/ports.ts'
import { sessionSeries } from '../../tables/analytics.ts'
import type { Table } from '../../tables/index.ts'
import { encodeJson, encodeText } from '../encode.ts'
import { type BoundStatement, bind, type Statement, statement, type Values } from '../statement.ts'
import {
  debitValues,
  fence,
  none,
  parameterName,
  rejected,
  rejectedValues,
  settled,
  storeOfApp,
  verdict,
  worked,
  workValues,
} from './ctes.ts'
import { encodeSamples, slicesOf, storedSamples } from './samples.ts'

/** What was set aside of the item so far, this page included. */
const aside = `(case when w.page > 1 then w.set_aside else 0 end + :set_aside::int)`

/**
 * Commits a page of an item of the work queue. An item that has grown since it was read is read again, and so is one of
 * which something was set aside: the next answer may be one that can be read.
 */
const advanced = `
  moved as (
    update ingest.work_item w
    set version = w.version + 1, set_aside = ${aside}, refused_as = null, updated_at = ingest.clock(),
        state = case when :next_page::int is null and ${aside} = 0 then 'done' else 'pending' end,
        left_out = w.left_out and (:next_page::int is not null or ${aside} > 0),
        falls_back_to = case when :next_page::int is not null or ${aside} > 0 then w.falls_back_to end,
        page = coalesce(:next_page::int, case when ${aside} > 0 then 1 else w.page end),
        stream_state = case when :next_page::int is not null then :stream_state::jsonb end,
        failures = case when :next_page::int is not null then w.failures when ${aside} > 0 then w.failures + 1 else 0 end,
        not_before = case when :next_page::int is null and ${aside} > 0 then ingest.clock() + :again::interval end
    where w.app_id = :app and w.stream = :stream and w.item = :series and w.part = :part and w.version = :version
      and w.state = 'pending' and exists (select from fence)
    returning w.version, w.range_from, w.state
  )`

/** Whether an item begins in the range of a gap of its call: as the item that was given up, or as a part of it. */
const inGap = (from: string) =>
  `(${from} = g.range_from or ${from} > g.range_from and ${from} < g.range_to and g.stands_for is null)`

/** What was given up once and has been fetched after all, because someone asked for it. */
const repaired = `
  repaired as (
    update ingest.gap g set state = 'repaired', updated_at = ingest.clock()
    from moved m
    where m.state = 'done' and g.app_id = :app and g.stream = :stream and g.series = :series and g.unit = 'time'
      and g.state = 'lost' and ${inGap('m.range_from')}
      and not exists (
        select from ingest.work_item w
        where w.app_id = :app and w.stream = :stream and w.item = :series and ${inGap('w.range_from')}
          and (w.state = 'lost' or w.state = 'pending' and w.part <> :part))
    returning 1
  )`

/** What retention took of the call before is there again, and is taken again. */
const refilled = `
  refilled as (
    update analytics.call c set emptied_at = null
    where c.app_id = :app and c.call_id = :series and c.emptied_at is not null and exists (select from moved)
    returning 1
  )`

/** The item as it was read, and still ours: what a slice of a page needs before its last one moves the item. */
const held = `
  moved as (
    select w.version from ingest.work_item w
    where w.app_id = :app and w.stream = :stream and w.item = :series and w.part = :part and w.version = :version
      and w.state = 'pending' and exists (select from fence)
  )`

/**
 * How a page of an item is written: `whole` moves the item. Where pages may be large, all slices of one but the last go by
 * `slice`, which leaves the item pending: it is read again when it comes to no end, and writes the same rows.
 */
export interface ItemStatements {
  readonly whole: Statement
  readonly slice?: Statement
}

/** Commits a page of an item of the work queue, which writes these tables. */
export function itemStatements(name: string, writes: readonly Table[]): ItemStatements {
  const stores = writes.map(table => (table === sessionSeries ? storedSamples : storeOfApp(table)))
  const end = verdict(writes, { diverged: '0', verified: 'true' })
  const pieces = [
    fence('apart'),
    advanced,
    ...stores,
    refilled,
    repaired,
    worked(`'live'`),
    rejected,
    settled,
  ]
  const whole = statement(name, `with ${pieces.join(',')} ${end}`)
  if (!writes.includes(sessionSeries)) return { whole }
  const slice = [fence('apart'), held, ...stores, none]
  return { whole, slice: statement(`${name}_slice`, `with ${slice.join(',')} ${end}`) }
}

/**
 * Gives such statements the values of a page. A page that is large goes in slices, each in a statement of its own, so that
 * neither side holds all of it once more; the last one is the one that moves the item.
 */
export function* bindItem(
  { whole, slice }: ItemStatements,
  page: ItemCommit,
  rows: Values,
): Generator<BoundStatement> {
  const common = { ...values(page), ...rows }
  if (slice === undefined) {
    yield bind(whole, common)
    return
  }
  const slices = slicesOf(page.rows['analytics.session_series'] ?? [])
  for (const [i, part] of slices.entries()) {
    const prepared = i < slices.length - 1 ? slice : whole
    yield bind(prepared, { ...common, [parameterName(sessionSeries)]: encodeSamples(part) })
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

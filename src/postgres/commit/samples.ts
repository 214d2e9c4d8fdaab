import { type SessionSeriesRow, sessionSeries } from '../../tables/analytics.ts'
import type { Json } from '../../tables/json.ts'
import { encodeJson } from '../encode.ts'
import { cteName, parameterName } from './ctes.ts'

const { name: table } = sessionSeries

const key = 'app_id, call_id, sid, mid, peer_uid, at'

/**
 * Writes the values of metrics of sessions, tens of thousands in one statement. The gaps and the values of a day come as the
 * text of two arrays, which costs the database far less to read than as many JSON numbers. Where a row of the same day is
 * stored, the two become one. What counts as stored is each value that was not there yet, or not the same.
 */
export const storedSamples = `
  sample as materialized (
    select :app::text as app_id, d.call_id, d.sid, d.mid, d.peer_uid, to_timestamp(d.day) as at, d.gaps, d.value, d.extra
    from json_to_recordset(:${parameterName(sessionSeries)}::json)
      as d(call_id text, sid text, mid int, peer_uid text, day double precision, gaps int[], value double precision[], extra jsonb)
    where exists (select from moved)
  ), series as (
    insert into ${table} as t (${key}, gaps, value, extra)
    select ${key}, gaps, value, extra from sample
    on conflict (${key}) do update set (gaps, value, extra) = (
        select m.gaps, m.value, m.extra
        from analytics.merged_series(t.gaps, t.value, t.extra, excluded.gaps, excluded.value, excluded.extra) m)
      where (t.gaps, t.value, t.extra) is distinct from (excluded.gaps, excluded.value, excluded.extra)
  ), ${cteName(sessionSeries)} as (
    select true as fresh
    from sample s
    left join ${table} t using (${key})
    cross join lateral generate_series(1, case when t.gaps is null then cardinality(s.gaps) else (
      select count(*) from analytics.values_of(s.gaps, s.value, s.extra) n
      where not exists (select from analytics.values_of(t.gaps, t.value, t.extra) o
                        where o.second = n.second and o.value = n.value and o.extra is not distinct from n.extra))::int end)
  )`

/** Values of one statement, more or less: some hundred kilobytes of it. */
const SLICE_VALUES = 25_000

/** The rows in slices of so many values, at least one slice; the values of one metric stay together. */
export function slicesOf(rows: readonly SessionSeriesRow[]): readonly (readonly SessionSeriesRow[])[] {
  const slices: SessionSeriesRow[][] = [[]]
  let values = 0
  for (const row of rows) {
    if (values > 0 && values + row.at.length > SLICE_VALUES) {
      slices.push([])
      values = 0
    }
    slices.at(-1)!.push(row)
    values += row.at.length
  }
  return slices
}

/** The parameter of `storedSamples`. */
export function encodeSamples(rows: readonly SessionSeriesRow[] | undefined): string {
  return encodeJson((rows ?? []).flatMap(row => [...daysOf(inOrder(row))]))
}

/** One row for each day. */
function* daysOf({ at, value, extra, ...key }: SessionSeriesRow): Generator<object> {
  for (let from = 0, to = 0; from < at.length; from = to) {
    const day = Math.floor(at[from]! / DAY) * DAY
    const gaps: number[] = []
    for (let before = day; to < at.length && at[to]! < day + DAY; to++) {
      gaps.push(at[to]! - before)
      before = at[to]!
    }
    const beside = extra && byTime(at, extra, { from, to, day })
    yield { ...key, day, gaps: arrayText(gaps), value: arrayText(value.slice(from, to)), extra: beside }
  }
}

const DAY = 86_400

interface Part {
  readonly from: number
  readonly to: number
  readonly day: number
}

function byTime(at: readonly number[], extra: readonly Json[], { from, to, day }: Part): Json {
  const said: [string, Json][] = []
  for (let n = from; n < to; n++) if (extra[n] !== null) said.push([String(at[n]! - day), extra[n]!])
  return said.length > 0 ? Object.fromEntries(said) : null
}

/** Values come in the order of their times as a rule, and then there is nothing to do. */
function inOrder(row: SessionSeriesRow): SessionSeriesRow {
  const { at, value, extra } = row
  if (at.every((second, n) => n === 0 || second >= at[n - 1]!)) return row
  const order = at.map((_, n) => n).sort((a, b) => at[a]! - at[b]!)
  const sorted = { ...row, at: order.map(n => at[n]!), value: order.map(n => value[n]!) }
  return extra ? { ...sorted, extra: order.map(n => extra[n]!) } : sorted
}

/** Not by join, which makes a text of each number first. */
function arrayText(numbers: readonly number[]): string {
  return `{${JSON.stringify(numbers).slice(1, -1)}}`
}

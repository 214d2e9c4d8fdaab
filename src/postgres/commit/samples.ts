import { type SessionMetricRow, sessionMetric } from '../../tables/analytics.ts'
import { encodeJson } from '../encode.ts'
import { resolution } from './conflict.ts'
import { cteName, parameterName } from './ctes.ts'

const { name: table } = sessionMetric

/** The array of what else came is absent as a rule, and unnest makes null of what an array has not. */
const insertion = `insert into ${table} as t (app_id, call_id, sid, peer_uid, mid, at, value, extra)
    select :app, s.call_id, s.sid, s.peer_uid, s.mid, to_timestamp(v.at), v.value, v.extra::jsonb
    from sample s cross join lateral unnest(s.at, s.value, s.extra) as v(at, value, extra)`

/**
 * Writes the values of metrics of sessions, hundreds of thousands in one statement. The times and the values of a
 * metric come as the text of two arrays, which costs the database far less to read than as many JSON numbers. Where
 * nothing is stored of the time that a metric's values span, they are inserted without looking for a conflict, which
 * takes half the time; a statement that meets one all the same, because another came first, is run once more.
 */
export const storedSamples = `
  sample as materialized (
    select d.*, exists (
             select from ${table} t
             where t.app_id = :app and t.call_id = d.call_id and t.sid = d.sid and t.peer_uid = d.peer_uid and t.mid = d.mid
               and t.at between to_timestamp(d.first) and to_timestamp(d.last)) as known
    from json_to_recordset(:${parameterName(sessionMetric)}::json)
      as d(call_id text, sid text, peer_uid text, mid int, at double precision[], value double precision[],
           extra text[], first double precision, last double precision)
    where exists (select from moved)
  ), added as (
    ${insertion} where not s.known
    returning true as fresh
  ), changed as (
    ${insertion} where s.known
    on conflict (app_id, call_id, sid, peer_uid, mid, at) ${resolution(sessionMetric)}
    returning true as fresh
  ), ${cteName(sessionMetric)} as (
    select fresh from added union all select fresh from changed
  )`

/** Values of one statement, more or less: about a megabyte of it, and a tenth of a second of the database. */
const SLICE_VALUES = 25_000

/** The rows in slices of so many values, at least one slice; the values of one metric stay together. */
export function slicesOf(rows: readonly SessionMetricRow[]): readonly (readonly SessionMetricRow[])[] {
  const slices: SessionMetricRow[][] = [[]]
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
export function encodeSamples(rows: readonly SessionMetricRow[] | undefined): string {
  return encodeJson((rows ?? []).map(encodeRow))
}

/** JSON inside an array would be taken for one more dimension of it, so it goes as text. */
function encodeRow({ at, value, extra, ...row }: SessionMetricRow): object {
  const [first, last] = bounds(at)
  const more = extra?.map(each => (each === null ? null : encodeJson(each)))
  return { ...row, at: arrayText(at), value: arrayText(value), extra: more, first, last }
}

/** Not by Math.min of all, which takes no more arguments than the stack holds. */
function bounds(times: readonly number[]): readonly [first: number | null, last: number | null] {
  if (times.length === 0) return [null, null]
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  for (const time of times) {
    first = Math.min(first, time)
    last = Math.max(last, time)
  }
  return [first, last]
}

/** Not by join, which makes a text of each number first. */
function arrayText(numbers: readonly number[]): string {
  return `{${JSON.stringify(numbers).slice(1, -1)}}`
}

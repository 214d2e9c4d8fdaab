import type { z } from 'zod'
import { MetricSeries, MetricsItem } from '../../provider/analytics/index.ts'
import { lastSecond, readNumber } from '../../provider/fits.ts'
import type { SessionSeriesRow } from '../../tables/analytics.ts'
import type { Json } from '../../tables/json.ts'
import type { Reject, RejectReason } from '../page.ts'
import { asText, fieldsWithout, isObject, judgeEach, othersThan, redact } from '../parts/items.ts'
import { isUnixSecond, metricId } from '../parts/values.ts'

const Series = MetricSeries.extend({ mid: metricId })
type Series = z.infer<typeof Series>

interface Found extends Omit<SessionSeriesRow, 'at' | 'value' | 'extra'> {
  readonly at: number[]
  readonly value: number[]
  extra?: Json[]
}

/**
 * The values of each metric of each session. A series that comes twice is one; of two values of the same second
 * the last one counts, and stands beside the other. Entries, series and pairs that cannot be read are set aside, each with its sid. Series of other
 * metrics than `mids` are passed over, unless none is named. No second after `latest` is believed.
 */
export function readMetrics(
  items: readonly unknown[],
  call_id: string,
  mids: readonly number[],
  latest: number,
): { readonly rows: readonly SessionSeriesRow[]; readonly rejects: readonly Reject[] } {
  const rows = new Map<string, Found>()
  const wanted = new Set(mids)
  const isOther = (mid: number | undefined) => wanted.size > 0 && mid !== undefined && !wanted.has(mid)
  const entries = judgeEach(MetricsItem, items, 'metrics')
  const rejects: Reject[] = entries.rejects.map(reject => ({ ...reject, item: redact(reject.item) }))
  for (const { value: entry, raw, ordinal } of entries.good) {
    const path = `metrics.${ordinal}.data`
    const beside = fieldsWithout(entryFields, raw, entry)
    const series = judgeEach(Series, entry.data, path)
    for (const reject of series.rejects) {
      if (isOther(midOf(reject.item))) continue
      rejects.push({ ...reject, item: entryOf(entry.sid, reject.item) })
    }
    for (const { value: one, raw, ordinal } of series.good) {
      if (isOther(one.mid)) continue
      const told = { series: fieldsWithout(seriesFields, raw, one), entry: beside }
      const place = { call_id, sid: entry.sid, told, latest }
      const bad = add(rows, place, one, `${path}.${ordinal}.kvs`)
      if (bad) rejects.push(bad)
    }
  }
  return { rows: [...rows.values()].map(once), rejects }
}

/** The metric of a series that cannot be read, where that can. */
function midOf(series: unknown): number | undefined {
  return isObject(series) ? metricId.safeParse(series.mid).data : undefined
}

const entryFields = new Set(['sid', 'data'])
const seriesFields = new Set(['mid', 'peer_uid', 'kvs'])

/** Whose series it is, and what nobody knows in the series and in the entry that holds it. */
interface Place {
  readonly call_id: string
  readonly sid: string
  readonly told: { readonly series: Json; readonly entry: Json }
  readonly latest: number
}

/** Puts the pairs of a series to what is known of it; answers what has to be set aside. */
function add(
  rows: Map<string, Found>,
  { call_id, sid, told, latest }: Place,
  { mid, peer_uid, kvs }: Series,
  path: string,
): Reject | undefined {
  const read = readPairs(kvs, latest)
  if (read.at.length > 0) {
    const peer = asText(peer_uid) ?? ''
    const key = JSON.stringify([sid, mid, peer])
    const { at, value } = read
    const extra = extraOf(read, told)
    const known = rows.get(key)
    if (known) append(known, { at, value, extra })
    else rows.set(key, { call_id, sid, peer_uid: peer, mid, at, value, ...(extra && { extra: [...extra] }) })
  }
  if (read.bad.length === 0) return undefined
  const rule = 'must be a second and a finite number'
  return {
    reason: read.reason,
    detail: `${path}.${read.first}: ${rule} (mid ${mid}; such pairs: ${read.bad.length})`,
    item: entryOf(sid, { mid, peer_uid, kvs: read.bad }),
  }
}

/** What nobody knows in a series or an entry stands beside the first of its values. */
function extraOf({ at, extra }: Pairs, told: Place['told']): Pairs['extra'] {
  const said = Object.entries(told).filter(([, fields]) => fields !== null)
  if (said.length === 0) return extra
  const [pair = null, ...others] = extra ?? at.map(() => null)
  return [redact({ ...(pair !== null && { pair }), ...Object.fromEntries(said) }), ...others]
}

function append(row: Found, { at, value, extra }: Pick<Pairs, 'at' | 'value' | 'extra'>): void {
  const before = row.at.length
  for (const second of at) row.at.push(second)
  for (const each of value) row.value.push(each)
  if (extra) row.extra = [...filled(row.extra, before), ...extra]
  else if (row.extra) row.extra = filled(row.extra, row.at.length)
}

/** What stood beside the first values of a series, as long as there are values. */
function filled(extra: readonly Json[] = [], length: number): Json[] {
  return Array.from({ length }, (_, index) => extra[index] ?? null)
}

/** What is set aside has the shape of an entry of the answer, so that it can be read once more by itself. */
function entryOf(sid: string, series: unknown): unknown {
  return redact({ sid, data: [series] })
}

/** Each second once, with the last of its values. They come in order as a rule, and then there is nothing to do. */
function once(row: Found): SessionSeriesRow {
  if (isRising(row.at)) return row
  const places = [...Map.groupBy(row.at.keys(), index => row.at[index]!).values()]
  const extra = places.map(indexes => besideLast(row, indexes))
  return {
    ...row,
    at: places.map(([index]) => row.at[index!]!),
    value: places.map(indexes => row.value[indexes.at(-1)!]!),
    ...((row.extra || extra.some(each => each !== null)) && { extra }),
  }
}

/** What stands beside the last of the values of a second: what came with it, and those that say something else. */
function besideLast({ value, extra }: Found, indexes: readonly number[]): Json {
  const sayingOf = (index: number): Json => {
    const pair = extra?.[index] ?? null
    return { value: value[index]!, ...(pair !== null && { pair }) }
  }
  const last = indexes.at(-1)!
  const own = extra?.[last] ?? null
  const others = othersThan(sayingOf(last), indexes.slice(0, -1).map(sayingOf))
  if (others.length === 0) return own
  return { ...(isObject(own) ? own : own !== null && { pair: own }), others }
}

/** The pairs of one metric: as many seconds as values, in the order they came. */
interface Pairs {
  readonly at: number[]
  readonly value: number[]
  /** What else stood in each pair, null in most; undefined where it is null in all. */
  readonly extra: readonly Json[] | undefined
  readonly bad: readonly unknown[]
  /** What the first bad pair breaks, and its place. */
  readonly reason: RejectReason
  readonly first: number
}

/** Names under which an object in the place of a pair may hold its parts. */
const timeNames = ['ts', 'timestamp', 'time', 't', 'key', 'k'] as const
const valueNames = ['value', 'v'] as const

interface Parts {
  readonly time: unknown
  readonly value: unknown
  readonly extra: Json
}

/**
 * Reads the pairs of `kvs`: [Unix seconds, value], objects of the two, or {"Unix seconds": value}; what else stands in
 * one is kept beside it.
 * A value that is null was not measured: nothing is stored of its second, and nothing is to be asked for again. A pair whose
 * value is something else than a finite number is bad, and so is one of a second after `latest`.
 */
export function readPairs(kvs: readonly unknown[], latest = lastSecond): Pairs {
  const at: number[] = []
  const value: number[] = []
  const bad: unknown[] = []
  const extra = new Map<number, Json>()
  let why: { readonly reason: RejectReason; readonly first: number } | undefined
  for (let index = 0; index < kvs.length; index++) {
    const pair = kvs[index]
    if (isUsual(pair) && pair[0] <= latest) {
      at.push(pair[0])
      value.push(pair[1])
      continue
    }
    const parts = partsOf(pair)
    const second = readNumber(parts?.time)
    const number = readNumber(parts?.value)
    const isTimed = second !== undefined && isTime(second, latest)
    if (isTimed && parts?.value === null) continue
    if (parts && isTimed && number !== undefined) {
      if (parts.extra !== null) extra.set(at.length, redact(parts.extra))
      at.push(second)
      value.push(number)
    } else {
      bad.push(pair)
      why ??= { reason: reasonOf(parts, second, latest), first: index }
    }
  }
  const extras = extra.size > 0 ? at.map((_, index) => extra.get(index) ?? null) : undefined
  return { at, value, extra: extras, bad, ...(why ?? { reason: 'wrong_type', first: -1 }) }
}

/** Whether each second is later than the one before it. */
function isRising(at: readonly number[]): boolean {
  for (let i = 1; i < at.length; i++) if (at[i]! <= at[i - 1]!) return false
  return true
}

/** Most pairs are numbers, hundreds of thousands of them in an answer: nothing is made on the way of one. */
function isUsual(pair: unknown): pair is readonly [number, number] {
  return Array.isArray(pair) && pair.length === 2 && isSecond(pair[0]) && Number.isFinite(pair[1])
}

function isSecond(time: unknown): boolean {
  return typeof time === 'number' && isUnixSecond(time)
}

function isTime(second: number, latest: number): boolean {
  return isUnixSecond(second) && second <= latest
}

function partsOf(pair: unknown): Parts | undefined {
  if (Array.isArray(pair)) {
    return { time: pair[0], value: pair[1], extra: pair.length > 2 ? (pair.slice(2) as Json) : null }
  }
  if (!isObject(pair)) return undefined
  const [only, another] = Object.keys(pair)
  if (only !== undefined && another === undefined && /^\d{9,11}$/.test(only)) {
    return { time: Number(only), value: pair[only], extra: null }
  }
  const time = nameOf(pair, timeNames)
  const value = nameOf(pair, valueNames)
  return { time: pair[time], value: pair[value], extra: fieldsWithout(new Set([time, value]), pair) }
}

function nameOf(pair: object, names: readonly [string, ...(readonly string[])]): string {
  return names.find(each => Object.hasOwn(pair, each)) ?? names[0]
}

function reasonOf(parts: Parts | undefined, second: number | undefined, latest: number): RejectReason {
  if (!parts) return 'not_an_object'
  if (parts.time === undefined || parts.value === undefined) return 'missing_key'
  return second !== undefined && !isTime(second, latest) ? 'out_of_range' : 'wrong_type'
}

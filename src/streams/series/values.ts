import { qualityMetrics, realtimeUsageMetrics, usageMetrics } from '../../provider/analytics/index.ts'
import { readNumber } from '../../provider/fits.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Json, JsonObject, Timestamp } from '../../tables/json.ts'
import type { Reject, WindowPage, WindowResult } from '../page.ts'
import { asText, fieldsWithout, isObject, isSaid, othersThan, redact } from '../parts/items.ts'
import { isUnixSecond, timestamp } from '../parts/values.ts'

/** A value of a series, with the beginning of the time that it stands for. */
export interface Value {
  /** The user whose value it is; '' where it is of all. */
  readonly uid: string
  readonly at: Timestamp
  readonly value: number
  readonly extra: Json
}

export interface Values {
  readonly values: readonly Value[]
  readonly rejects: readonly Reject[]
  /** Unix seconds of the values. */
  readonly received: readonly number[]
  /** How many values were told that nobody asked for. */
  readonly ignored: number
}

/** A place of an answer where a value stands, or what is wrong there. */
export interface Entry {
  readonly uid: string
  readonly point: Point | Problem | 'no value' | 'not asked for'
  /** What is set aside if it cannot be read: the whole item, in which the value may stand. */
  readonly item: unknown
}

/** Where a value is promised for each time, one that cannot be read is missed; elsewhere nothing would tell of it. */
export function wholeWindow(
  rows: RowSet,
  { rejects, received, ignored }: Omit<Values, 'values'>,
  { series }: WindowPage,
): WindowResult {
  const isUncertain = series.expects !== 'each' && rejects.length > 0
  return {
    ...{ rows, rejects, received, ignored, ...(isUncertain && { isUncertain }) },
    ...{ hints: [], reading: 'whole', unfinished: [], work: [] },
  }
}

export function readValues(page: WindowPage, metric: string): Values {
  return collect(
    page.items.map(item => ({ uid: '', point: readPoint(item, metric), item })),
    page,
  )
}

/**
 * The values of some entries, each time of a user once. An answer may tell of the end of its frame too, which is left to
 * the window that owns it; what it tells of times further off nobody asked for.
 */
function collect(entries: readonly Entry[], { range }: WindowPage): Values {
  const values: Value[] = []
  const received: number[] = []
  const rejects: Reject[] = []
  let ignored = 0
  for (const { uid, point, item } of entries) {
    if (point === 'no value') continue
    if (point === 'not asked for') ignored++
    else if ('reason' in point) rejects.push({ ...point, item: redact(item) })
    else if (point.second < range.from || point.second > range.to) ignored++
    else if (point.second < range.to) {
      received.push(point.second)
      const { second, value, extra } = point
      values.push({ uid, at: timestamp(second * 1_000)!, value, extra })
    }
  }
  const byTime = Map.groupBy(values, ({ uid, at }) => `${at} ${uid}`)
  return { values: [...byTime.values()].map(lastOf), rejects, received, ignored }
}

/** The last of the values of one time; those that say something else stand beside it. */
function lastOf(values: readonly Value[]): Value {
  const last = values.at(-1)!
  if (values.length === 1) return last
  const others = othersThan(sayingOf(last), values.slice(0, -1).map(sayingOf))
  return others.length === 0 ? last : { ...last, extra: { ...(last.extra as JsonObject | null), others } }
}

function sayingOf({ value, extra }: Value): JsonObject {
  return { ...(extra as JsonObject | null), value }
}

/** Unix seconds and the value that is true from then on. */
interface Point {
  readonly second: number
  readonly value: number
  /** What else is said of it; null where nothing is. */
  readonly extra: Json
}

export type Problem = Omit<Reject, 'item'>

/**
 * Reads one `{ts, <metric>: value}`. The value stands under the name of the metric, or is the only number
 * besides the time, unless another metric is called so. null says that there is none, and so does a time alone: some leave
 * out what is null. `path` leads to it where it lies inside an item.
 */
function readPoint(item: unknown, metric: string, path = ''): Point | Problem | 'no value' {
  if (!isObject(item)) return problem('not_an_object', path, 'must be an object')
  const second = readNumber(item.ts)
  if (item.ts === undefined) return problem('missing_key', `${path}ts`, 'must be there')
  if (second === undefined) return problem('wrong_type', `${path}ts`, 'must be Unix seconds')
  if (!isUnixSecond(second)) return problem('out_of_range', `${path}ts`, 'must be whole Unix seconds')
  const name = nameOf(item, metric)
  if (name === undefined && Object.keys(item).length === 1) return 'no value'
  if (name === undefined) return problem('missing_key', `${path}${metric}`, 'must be there')
  if (item[name] === null) return 'no value'
  const value = readNumber(item[name])
  if (value === undefined) return problem('wrong_type', `${path}${metric}`, 'must be a finite number')
  return { second, value, extra: redact(fieldsWithout(new Set(['ts', name]), item)) }
}

function nameOf(item: JsonObject, metric: string): string | undefined {
  if (Object.hasOwn(item, metric)) return metric
  const [only, another] = Object.keys(item).filter(name => !besides.has(name) && isNumber(item[name]))
  return another === undefined && only !== undefined && !isOfOther(only, metric) ? only : undefined
}

const metrics: ReadonlySet<string> = new Set([...usageMetrics, ...realtimeUsageMetrics, ...qualityMetrics])

/** One that is called as nobody knows may be told by any name. */
function isOfOther(name: string, metric: string): boolean {
  return metrics.has(name) && metrics.has(metric)
}

const besides = new Set(['ts', 'uid'])

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint'
}

function problem(reason: Problem['reason'], field: string, rule: string): Problem {
  const name = field.replace(/\.$/, '')
  return { reason, detail: name === '' ? rule : `${name}: ${rule}` }
}

/**
 * The values of a metric in an answer that may tell them by user: `{uid, values: [...]}`. Where users were asked
 * for, a value of nobody is one of the whole channel, which has a question of its own.
 */
export function readUserValues(page: WindowPage, metric: string): Values {
  const isByUser = page.series.ask.uids !== undefined
  return collect(
    page.items.flatMap(item => entriesOf(item, metric, isByUser)),
    page,
  )
}

function entriesOf(item: unknown, metric: string, isByUser: boolean): readonly Entry[] {
  if (!isObject(item)) return [{ uid: '', point: readPoint(item, metric), item }]
  const uid = userOf(item)
  const { uid: _, ...said } = item
  const isList = Array.isArray(item.values)
  if (uid === undefined && (isByUser || isList || isSaid(item.uid))) {
    const isOfChannel = !isList && !isSaid(item.uid) && isReadable(readPoint(said, metric))
    return [{ uid: '', point: isOfChannel ? 'not asked for' : uidProblem(item), item }]
  }
  if (uid !== undefined && item.values === null && item.ts === undefined) return []
  if (!isList) return [{ uid: uid ?? '', point: readPoint(said, metric), item }]
  const entry = redact(fieldsWithout(userFields, item))
  return (item.values as readonly unknown[]).map((value, index) => ({
    uid: uid ?? '',
    point: beside(readPoint(value, metric, `values.${index}.`), index === 0 ? entry : null),
    item: { uid: item.uid, values: [value] },
  }))
}

const userFields = new Set(['uid', 'values'])

/** What nobody knows of a user stands beside the first of the values. */
function beside(point: Entry['point'], entry: Json): Entry['point'] {
  if (entry === null || typeof point === 'string' || 'reason' in point) return point
  return { ...point, extra: { ...(point.extra as JsonObject | null), entry } }
}

function isReadable(point: ReturnType<typeof readPoint>): boolean {
  return point === 'no value' || !('reason' in point)
}

/** A number in some answers, a text in others. */
function userOf({ uid }: JsonObject): string | undefined {
  if (typeof uid !== 'string' && typeof uid !== 'number' && typeof uid !== 'bigint') return undefined
  return asText(uid) || undefined
}

function uidProblem({ uid }: JsonObject): Problem {
  return isSaid(uid)
    ? { reason: 'wrong_type', detail: 'uid: must be a number or a text' }
    : { reason: 'missing_key', detail: 'uid: must be there' }
}

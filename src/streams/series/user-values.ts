import type { Json } from '../../tables/json.ts'
import { asText, fieldsWithout, isObject, isSaid, type JsonObject } from '../items.ts'
import { redact } from '../redact.ts'
import type { WindowPage } from '../stream.ts'
import { type Problem, readPoint } from './point.ts'
import { collect, type Entry, type Values } from './values.ts'

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

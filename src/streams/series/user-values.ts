import { asText, isObject, isSaid, type JsonObject } from '../items.ts'
import type { WindowPage } from '../stream.ts'
import { type Problem, readPoint } from './point.ts'
import { collect, type Entry, type Values } from './values.ts'

/**
 * The values of a metric in an answer that may tell them by user: `{uid, values: [...]}`. Where users were asked
 * for, a value of nobody is not taken for one of all.
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
  const isList = Array.isArray(item.values)
  if (uid === undefined && (isByUser || isList || isSaid(item.uid))) {
    return [{ uid: '', point: uidProblem(item), item }]
  }
  if (!isList) return [{ uid: uid ?? '', point: readPoint(item, metric), item }]
  return (item.values as readonly unknown[]).map((value, index) => ({
    uid: uid ?? '',
    point: readPoint(value, metric, `values.${index}.`),
    item: { uid: item.uid, values: [value] },
  }))
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

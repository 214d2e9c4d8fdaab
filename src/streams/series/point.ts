import type { Json } from '../../tables/json.ts'
import { fieldsWithout, isObject, type JsonObject } from '../items.ts'
import { isUnixSecond, readNumber } from '../numbers.ts'
import { redact } from '../redact.ts'
import type { Reject } from '../stream.ts'

/** Unix seconds and the value that is true from then on. */
export interface Point {
  readonly second: number
  readonly value: number
  /** What else is said of it; null where nothing is. */
  readonly extra: Json
}

export type Problem = Omit<Reject, 'item'>

/**
 * Reads one `{ts, <metric>: value}`. The value stands under the name of the metric, or is the only number
 * besides the time. null says that there is none. `path` leads to it where it lies inside an item.
 */
export function readPoint(item: unknown, metric: string, path = ''): Point | Problem | 'no value' {
  if (!isObject(item)) return problem('not_an_object', path, 'must be an object')
  const second = readNumber(item.ts)
  if (item.ts === undefined) return problem('missing_key', `${path}ts`, 'must be there')
  if (second === undefined) return problem('wrong_type', `${path}ts`, 'must be Unix seconds')
  if (!isUnixSecond(second)) return problem('out_of_range', `${path}ts`, 'must be whole Unix seconds')
  const name = nameOf(item, metric)
  if (name === undefined) return problem('missing_key', `${path}${metric}`, 'must be there')
  if (item[name] === null) return 'no value'
  const value = readNumber(item[name])
  if (value === undefined) return problem('wrong_type', `${path}${metric}`, 'must be a finite number')
  return { second, value, extra: redact(fieldsWithout(new Set(['ts', name]), item)) }
}

function nameOf(item: JsonObject, metric: string): string | undefined {
  if (Object.hasOwn(item, metric)) return metric
  const numbers = Object.keys(item).filter(name => !besides.has(name) && isNumber(item[name]))
  return numbers.length === 1 ? numbers[0] : undefined
}

const besides = new Set(['ts', 'uid'])

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint'
}

function problem(reason: Problem['reason'], field: string, rule: string): Problem {
  const name = field.replace(/\.$/, '')
  return { reason, detail: name === '' ? rule : `${name}: ${rule}` }
}

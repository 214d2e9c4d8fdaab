import type { Json } from '../../tables/json.ts'
import { fieldsWithout, isObject } from '../items.ts'
import { isUnixSecond, readNumber } from '../numbers.ts'
import { redact } from '../redact.ts'
import type { RejectReason } from '../stream.ts'

/** The pairs of one metric: as many seconds as values, in the order they came. */
export interface Pairs {
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
 * A pair whose value is no finite number is bad, also where it is null: a metric has no fixed number of values, so a
 * value that is not there yet cannot be told from one that never was.
 */
export function readPairs(kvs: readonly unknown[]): Pairs {
  const at: number[] = []
  const value: number[] = []
  const bad: unknown[] = []
  const extra = new Map<number, Json>()
  let why: { readonly reason: RejectReason; readonly first: number } | undefined
  for (let index = 0; index < kvs.length; index++) {
    const pair = kvs[index]
    if (isUsual(pair)) {
      at.push(pair[0])
      value.push(pair[1])
      continue
    }
    const parts = partsOf(pair)
    const second = readNumber(parts?.time)
    const number = readNumber(parts?.value)
    if (parts && second !== undefined && number !== undefined && isUnixSecond(second)) {
      if (parts.extra !== null) extra.set(at.length, redact(parts.extra))
      at.push(second)
      value.push(number)
    } else {
      bad.push(pair)
      why ??= { reason: reasonOf(parts, second), first: index }
    }
  }
  const extras = extra.size > 0 ? at.map((_, index) => extra.get(index) ?? null) : undefined
  return { at, value, extra: extras, bad, ...(why ?? { reason: 'wrong_type', first: -1 }) }
}

/** Whether each second is later than the one before it. */
export function isRising(at: readonly number[]): boolean {
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

function reasonOf(parts: Parts | undefined, second: number | undefined): RejectReason {
  if (!parts) return 'not_an_object'
  if (parts.time === undefined || parts.value === undefined || parts.value === null) return 'missing_key'
  return second !== undefined && !isUnixSecond(second) ? 'out_of_range' : 'wrong_type'
}

import { isObject } from '../items.ts'
import { isUnixSecond, readNumber } from '../numbers.ts'
import type { RejectReason } from '../stream.ts'

/** The pairs of one metric: as many seconds as values, in the order they came. */
export interface Pairs {
  readonly at: readonly number[]
  readonly value: readonly number[]
  readonly bad: readonly unknown[]
  /** What the first bad pair breaks, and its place. */
  readonly reason: RejectReason
  readonly first: number
}

/** Names under which an object in the place of a pair may hold its parts. */
const timeNames = ['ts', 'time', 't', 'timestamp'] as const
const valueNames = ['value', 'v'] as const

/**
 * Reads the pairs of `kvs`: [Unix seconds, value], or objects of the two. A value null says that there is none,
 * and the pair is passed over; of any other that is no finite number the pair is bad.
 */
export function readPairs(kvs: readonly unknown[]): Pairs {
  const at: number[] = []
  const value: number[] = []
  const bad: unknown[] = []
  let why: { readonly reason: RejectReason; readonly first: number } | undefined
  for (const [index, pair] of kvs.entries()) {
    const parts = partsOf(pair)
    if (parts?.[1] === null) continue
    const second = readNumber(parts?.[0])
    const number = readNumber(parts?.[1])
    if (second !== undefined && number !== undefined && isUnixSecond(second)) {
      at.push(second)
      value.push(number)
    } else {
      bad.push(pair)
      why ??= { reason: reasonOf(parts, second), first: index }
    }
  }
  return { at, value, bad, ...(why ?? { reason: 'wrong_type', first: -1 }) }
}

/** Whether each second is later than the one before it. */
export function isRising(at: readonly number[]): boolean {
  for (let i = 1; i < at.length; i++) if (at[i]! <= at[i - 1]!) return false
  return true
}

function partsOf(pair: unknown): readonly [unknown, unknown] | undefined {
  if (Array.isArray(pair)) return [pair[0], pair[1]]
  if (!isObject(pair)) return undefined
  return [firstOf(pair, timeNames), firstOf(pair, valueNames)]
}

function firstOf(pair: object, names: readonly string[]): unknown {
  const name = names.find(each => Object.hasOwn(pair, each))
  return name === undefined ? undefined : Reflect.get(pair, name)
}

function reasonOf(parts: readonly [unknown, unknown] | undefined, second: number | undefined): RejectReason {
  if (!parts) return 'not_an_object'
  if (parts.includes(undefined)) return 'missing_key'
  return second !== undefined && !isUnixSecond(second) ? 'out_of_range' : 'wrong_type'
}

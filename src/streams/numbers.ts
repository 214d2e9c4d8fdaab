import { z } from 'zod'
import { unixSeconds } from '../provider/analytics/index.ts'

/** A longer text is no number of a metric. */
const longestNumber = 64

const decimal = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

/** A number as it comes: as itself, as a big integer, or written in a text; undefined where it is no finite one. */
export function readNumber(value: unknown): number | undefined {
  const number = convert(value)
  return number !== undefined && Number.isFinite(number) ? number : undefined
}

function convert(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string' || value.length > longestNumber) return undefined
  return decimal.test(value) ? Number(value) : undefined
}

/** Whether a number is a time of the provider: whole Unix seconds up to the year 9999. */
export function isUnixSecond(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= lastSecond
}

const lastSecond = 253_402_300_799

/** A number that may be written in a text. What is none is left to the schema to refuse. */
function written<T extends z.ZodType>(schema: T) {
  return z.preprocess(value => (typeof value === 'string' ? (readNumber(value) ?? value) : value), schema)
}

/** A time of the provider as an item tells it. */
export const second = written(unixSeconds)

/** IDs of metrics are stored in integers of 32 bits. */
export const metricId = written(z.int().min(0).max(2_147_483_647))

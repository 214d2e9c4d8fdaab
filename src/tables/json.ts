/** Anything that JSON can say, plus bigint for integers above 2^53, which are kept to the last digit. */
export type Json = string | number | bigint | boolean | null | readonly Json[] | JsonObject

export type JsonObject = { readonly [key: string]: Json }

/** An instant in UTC as ISO 8601 with milliseconds, for example `2026-01-31T08:00:00.000Z`. */
export type Timestamp = string

const lastMillisecond = 253_402_300_799_999

/**
 * An instant in ms since the epoch as ISO 8601 in UTC with milliseconds; undefined unless it is a whole
 * millisecond from 1970 to the year 9999. Such texts sort as the instants do.
 */
export function isoTime(ms: number): string | undefined {
  if (!Number.isInteger(ms) || ms < 0 || ms > lastMillisecond) return undefined
  return new Date(ms).toISOString()
}

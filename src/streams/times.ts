import { isoTime } from '../planning/time.ts'
import type { Timestamp } from '../rows/json.ts'

/** A time of the provider for a column, from ms since the epoch; null where there is none or it is no time. */
export function timestamp(ms: number | null | undefined): Timestamp | null {
  return ms === null || ms === undefined ? null : (isoTime(ms) ?? null)
}

/** The same from Unix seconds. A 0 stands for a time that has not come. */
export function secondsTimestamp(seconds: number | null | undefined): Timestamp | null {
  return seconds ? timestamp(seconds * 1_000) : null
}

/** Our clock when an answer arrived. */
export function arrivalTime({ receivedAt }: { readonly receivedAt: number }): Timestamp {
  return isoTime(Math.trunc(receivedAt))!
}

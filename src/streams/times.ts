import { isoTime } from '../planning/time.ts'
import type { Timestamp } from '../rows/json.ts'

/** A time of the provider for a column, from ms since the epoch; null where there is none or it is no time. */
export function timestamp(ms: number | null | undefined): Timestamp | null {
  return ms === null || ms === undefined ? null : (isoTime(ms) ?? null)
}

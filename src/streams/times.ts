import { isoTime } from '../planning/time.ts'
import type { Json, Timestamp } from '../tables/json.ts'
import { fieldsWithout, isSaid, type JsonObject } from './items.ts'

/** A time that is further ahead of the provider's clock is kept as it came and believed nowhere, ms. */
export const believedAhead = 86_400_000

/** When an answer came: by the provider's clock where it says so, else by ours, ms since the epoch. */
interface Answered {
  readonly answeredAt?: number | undefined
  readonly receivedAt: number
}

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

/** Of an answer of which nobody knows any more when it came, every time is believed. */
const endOfTimes = '9999-12-31T23:59:59.999Z'

/** The latest time that is believed of what an answer tells. */
export function latestBelieved({ answeredAt, receivedAt }: Answered): Timestamp {
  return isoTime(Math.trunc((answeredAt ?? receivedAt) + believedAhead)) ?? endOfTimes
}

/** A time unless it lies after the latest that is believed. */
export function notAfter(latest: Timestamp, time: Timestamp | null): Timestamp | null {
  return time !== null && time <= latest ? time : null
}

/** Fields without a column; of those that name times also the ones that say something and whose time is not believed. */
export function fieldsBeside(
  columns: ReadonlySet<string>,
  object: JsonObject,
  times: Readonly<Record<string, Timestamp | null>>,
): Json {
  const isKept = (field: string) => times[field] === null && isSaid(object[field]) && object[field] !== 0
  return fieldsWithout(new Set([...columns].filter(field => !isKept(field))), object)
}

import { z } from 'zod'
import { lastSecond, written } from '../../provider/fits.ts'
import { isoTime, type Json, type Timestamp } from '../../tables/json.ts'
import { fieldsWithout, isSaid, type Read } from './items.ts'

/** Whether a number is a time of a value: whole Unix seconds up to the year 9999. */
export function isUnixSecond(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= lastSecond
}

/** IDs of metrics are stored in integers of 32 bits. */
export const metricId = written(z.int().min(0).max(2_147_483_647))

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

/** The same of a time that may not have come yet: 0 stands for it. */
export function timestampIfAny(ms: number | null | undefined): Timestamp | null {
  return ms ? timestamp(ms) : null
}

/** The same from Unix seconds. */
export function secondsTimestamp(seconds: number | null | undefined): Timestamp | null {
  return timestampIfAny(seconds && seconds * 1_000)
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
  { value, raw }: Pick<Read<object>, 'value' | 'raw'>,
  times: Readonly<Record<string, Timestamp | null>>,
): Json {
  const isKept = (field: string) => times[field] === null && isSaid(raw[field]) && raw[field] !== 0
  return fieldsWithout(new Set([...columns].filter(field => !isKept(field))), raw, value)
}

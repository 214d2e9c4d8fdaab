import { isoTime } from '../../planning/time.ts'
import type { AtSource } from '../../tables/classroom.ts'
import type { Timestamp } from '../../tables/json.ts'
import type { Page } from '../stream.ts'
import type { RoomEvent } from './read-events.ts'

/** When an event happened, as well as it is known. */
export interface EventTime {
  readonly at: Timestamp
  readonly at_source: AtSource
}

export interface PlacedEvent extends EventTime {
  readonly event: RoomEvent
  /** Another reading of the event could not tell another time, so the room may lean on it. */
  readonly firm: boolean
}

/** The time of the answer: the provider's clock where it says so, else ours. */
export function answerTime(page: Page): EventTime {
  const answered = isoTime(page.answeredAt ?? Number.NaN)
  return answered === undefined
    ? { at: receivedTime(page), at_source: 'received' }
    : { at: answered, at_source: 'provider' }
}

/** Our clock when the page arrived. */
export function receivedTime(page: Page): Timestamp {
  return isoTime(Math.trunc(page.receivedAt))!
}

/** When the latest of some events happened, ms since the epoch. */
export function lastOf(placed: readonly PlacedEvent[]): number {
  let last = ''
  for (const { at } of placed) if (at > last) last = at
  return Date.parse(last)
}

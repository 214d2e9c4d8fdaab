import type { Timestamp } from '../../tables/json.ts'
import { held, notAfter } from '../parts/values.ts'
import type { EventTime, PlacedEvent, RoomEvent } from './event.ts'

/** The time that an event has in itself, where it is believed; null else. */
export function ownTimeOf({ reading }: RoomEvent, latest: Timestamp): Timestamp | null {
  return notAfter(latest, reading.ownTime)
}

/** An event at the time that it has in itself. */
export function atItsOwn(event: RoomEvent, at: Timestamp): PlacedEvent {
  return { event, at, at_source: 'event', firm: true }
}

/**
 * Of each event the time of the next one of its room that has one of its own; null where the page holds none. One that is
 * listed later and stands before it in the log may be of another room of that name.
 */
export function timesAfter(events: readonly RoomEvent[], latest: Timestamp): readonly (Timestamp | null)[] {
  const times: (Timestamp | null)[] = events.map(() => null)
  const next = new Map<string, { readonly event: RoomEvent; readonly at: Timestamp }>()
  for (let index = events.length - 1; index >= 0; index--) {
    const event = events[index]!
    const later = next.get(event.room_uuid)
    if (later && later.event.sequence > event.sequence) times[index] = later.at
    const at = ownTimeOf(event, latest)
    if (at !== null) next.set(event.room_uuid, { event, at })
  }
  return times
}

/** An estimate of when an event happened, held between the own times of those before it and after it. */
export function heldBetween(
  estimate: EventTime,
  before: Timestamp | null,
  after: Timestamp | null,
): EventTime {
  const at = held(estimate.at, before, after)
  return at === estimate.at ? estimate : { at, at_source: 'neighbour' }
}

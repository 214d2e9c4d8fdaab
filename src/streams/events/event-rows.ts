import { isoTime } from '../../planning/time.ts'
import type { AtSource, RoomEventRow } from '../../rows/classroom.ts'
import type { Timestamp } from '../../rows/json.ts'
import type { RowSet } from '../../rows/rows.ts'
import { mergeRows } from '../row-sets.ts'
import type { Page } from '../stream.ts'
import type { RoomEvent } from './read-events.ts'
import { roomRows } from './room-rows.ts'

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
  return Date.parse(placed.reduce((last, { at }) => (at > last ? at : last), ''))
}

/** All rows that events make: the raw one always, those of its type, and one row a room. */
export function eventRows(placed: readonly PlacedEvent[], page: Page): RowSet {
  const received_at = receivedTime(page)
  const derived = mergeRows(
    placed.map(({ event, at }) =>
      event.reading.rows({ room_uuid: event.room_uuid, sequence: event.sequence, at }),
    ),
  )
  const raw = placed.map(event => rawRow(event, received_at))
  return mergeRows([
    { 'classroom.room': roomRows(placed, derived['classroom.room_state_change'] ?? []) },
    { 'classroom.room_event': raw },
    derived,
  ])
}

function rawRow({ event, at, at_source }: PlacedEvent, received_at: Timestamp): RoomEventRow {
  return {
    room_uuid: event.room_uuid,
    sequence: event.sequence,
    cmd: event.cmd,
    version: event.version,
    data: event.data,
    event_time: event.reading.ownTime,
    at,
    at_source,
    received_at,
    extra: event.extra,
  }
}

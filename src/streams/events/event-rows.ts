import type { RoomEventRow } from '../../tables/classroom.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Timestamp } from '../../tables/json.ts'
import type { Page } from '../page.ts'
import { mergeRows } from '../parts/items.ts'
import { latestBelieved } from '../parts/values.ts'
import { type PlacedEvent, receivedTime } from './event.ts'
import { roomRows } from './room-rows.ts'

/** All rows that events make: the raw one always, those of its type, and one row a room. */
export function eventRows(placed: readonly PlacedEvent[], page: Page): RowSet {
  const received_at = receivedTime(page)
  const latest = latestBelieved(page)
  const derived = mergeRows(
    placed.map(({ event, at }) =>
      event.reading.rows({ room_uuid: event.room_uuid, sequence: event.sequence, at }, latest),
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

import type { RowSet } from '../../tables/index.ts'
import type { Timestamp } from '../../tables/json.ts'
import type { JsonObject } from '../items.ts'
import type { Sequence } from '../sequence.ts'
import type { Reject } from '../stream.ts'

/** What every row of an event begins with. */
export interface EventKey {
  readonly room_uuid: string
  readonly sequence: Sequence
  readonly at: Timestamp
}

/** What the data of one event says, before it is known when the event happened. */
export interface EventReading {
  /** The provider's own time of the event inside its data, believed or not; null where it has none. */
  readonly ownTime: Timestamp | null
  readonly rejects: readonly Reject[]
  /** The rows that the data makes beside the raw one; no time after `latest` is believed. */
  readonly rows: (event: EventKey, latest: Timestamp) => RowSet
}

/** Reads the data of one type of event; `item` is what is set aside when the data as a whole does not fit. */
export type EventReader = (data: unknown, item: unknown) => EventReading

/** Data that makes no rows: of an unknown type, or of a known one that it does not fit. */
export function unread(...rejects: readonly Reject[]): EventReading {
  return { ownTime: null, rejects, rows: () => ({}) }
}

/** The data as it came, for a reader whose schema has asked for an object already. */
export function rawObject(data: unknown): JsonObject {
  return data as JsonObject
}

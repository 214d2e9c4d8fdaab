import type { z } from 'zod'
import { cmds } from '../../provider/classroom/index.ts'
import type { AtSource } from '../../tables/classroom.ts'
import type { RowSet } from '../../tables/index.ts'
import { isoTime, type Json, type JsonObject, type Timestamp } from '../../tables/json.ts'
import type { Page, Reject } from '../page.ts'
import type { Sequence } from '../parts/holes.ts'
import { judge } from '../parts/items.ts'
import { arrivalTime } from '../parts/values.ts'
import type { StreamName } from '../stream.ts'

/** One event as it came, without its secrets, and what its data says. */
export interface RoomEvent {
  readonly room_uuid: string
  readonly sequence: Sequence
  readonly cmd: number
  readonly version: number | null
  readonly data: Json
  readonly extra: Json
  readonly reading: EventReading
}

/** When an event happened, as well as it is known. */
interface EventTime {
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
    ? { at: arrivalTime(page), at_source: 'received' }
    : { at: answered, at_source: 'provider' }
}

/** When the latest of some events happened, ms since the epoch. */
export function lastOf(placed: readonly PlacedEvent[]): number {
  let last = ''
  for (const { at } of placed) if (at > last) last = at
  return Date.parse(last)
}

/** Types of event that are news for one stream more than the log. */
const announced: ReadonlyMap<number, StreamName> = new Map([
  [cmds.resources, 'resources'],
  [cmds.recordingState, 'recordings'],
])

/** The streams for which some events are news. */
export function announcedBy(placed: readonly PlacedEvent[]): readonly StreamName[] {
  const names = placed.flatMap(({ event }) => announced.get(event.cmd) ?? [])
  return [...new Set(names)]
}

/** What every row of an event begins with. */
export interface EventKey {
  readonly room_uuid: string
  readonly sequence: Sequence
  readonly at: Timestamp
}

/** What the data of one event says, before it is known when the event happened. */
interface EventReading {
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

/** Reads data of a shape, by what it says and as it came; data of another shape makes no rows. */
export function readerOf<T extends object>(
  schema: z.ZodType<T>,
  read: (value: T, raw: JsonObject) => Partial<EventReading> & Pick<EventReading, 'rows'>,
): EventReader {
  return (data, item) => {
    const judged = judge(schema, data, 'data', item)
    if (!judged.ok) return unread(judged.reject)
    return { ownTime: null, rejects: [], ...read(judged.value, data as JsonObject) }
  }
}

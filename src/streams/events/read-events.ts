import { z } from 'zod'
import { cmds, EventRecord } from '../../provider/classroom/index.ts'
import { readNumber } from '../../provider/fits.ts'
import type { Json } from '../../tables/json.ts'
import type { Reject } from '../page.ts'
import { bySequence, normalSequence, type Sequence } from '../parts/holes.ts'
import { canonicalJson, fieldsWithout, isObject, judge, redact } from '../parts/items.ts'
import { type EventReader, type RoomEvent, unread } from './event.ts'
import { attendance, chat, hands, reward, stage } from './people.ts'
import { recordingState, resourceChange, roomState } from './states.ts'

/** A place in the log of a room that the page holds something for, readable or not. */
export interface EventPlace {
  readonly room_uuid: string
  readonly sequence: Sequence
}

export interface EventPage {
  /** Of one room in the order of their sequences, of several in that of the page; a room and sequence occurs once. */
  readonly events: readonly RoomEvent[]
  /** Of every record whose place is known, those that were set aside included: these are not missing. */
  readonly places: readonly (EventPlace | RoomEvent)[]
  /** The records that have none. */
  readonly placeless: readonly Json[]
  /** Rooms that records name of which nothing else is understood. */
  readonly named: ReadonlySet<string>
  readonly rejects: readonly Reject[]
}

const readers: ReadonlyMap<number, EventReader> = new Map([
  [cmds.roomState, roomState],
  [cmds.chat, chat],
  [cmds.attendance, attendance],
  [cmds.recordingState, recordingState],
  [cmds.resources, resourceChange],
  [cmds.rewards, reward],
  [cmds.stage, stage],
  [cmds.hands, hands],
])

/** Without these an event has no place in the store; all else may be wrong and the event is still kept raw. */
const Key = z.looseObject({
  roomUuid: EventRecord.shape.roomUuid,
  cmd: EventRecord.shape.cmd,
  sequence: EventRecord.shape.sequence,
})
const Place = Key.omit({ cmd: true })
const Named = Place.omit({ sequence: true })
const columns = new Set(['roomUuid', 'cmd', 'sequence', 'version', 'data'])
const columnsButVersion = new Set([...columns].filter(column => column !== 'version'))

/**
 * Reads the event records of a page one by one. `room` is the room whose log the page is: records may leave it
 * out, and one that names another room is set aside. Without it every record must name its room.
 */
export function readEvents(items: readonly unknown[], room?: string): EventPage {
  const events = new Map<string, RoomEvent>()
  const places: (EventPlace | RoomEvent)[] = []
  const placeless: Json[] = []
  const named = new Set<string>()
  const rejects: Reject[] = []
  for (const raw of items) {
    const item = redact(raw)
    const record = room === undefined ? item : inRoom(item, room)
    const judged = judge(Key, record)
    if (!judged.ok) {
      rejects.push({ ...judged.reject, item })
      const place = placeOf(record, room)
      if (place) places.push(place)
      else placeless.push(item)
      const name = Named.safeParse(record).data?.roomUuid
      if (name !== undefined) named.add(name)
      continue
    }
    if (room !== undefined && judged.value.roomUuid !== room) {
      rejects.push({ reason: 'out_of_range', detail: 'roomUuid: names another room', item })
      placeless.push(item)
      continue
    }
    const event = readEvent(judged.value, item)
    places.push(event)
    const key = `${event.sequence} ${event.room_uuid}`
    const earlier = events.get(key)
    if (earlier && !(room === undefined ? isSameEvent : isSameText)(earlier, event)) {
      rejects.push({ reason: 'out_of_range', detail: 'sequence: belongs to another event of the page', item })
      continue
    }
    events.set(key, event)
  }
  for (const event of events.values()) rejects.push(...event.reading.rejects)
  const read = { events: [...events.values()], places, placeless, named, rejects }
  return room === undefined ? read : { ...read, events: inOrder(read.events), places: inOrder(places) }
}

/** The sequence keeps events in order; that an answer lists them in it is not promised. */
function inOrder<P extends EventPlace>(places: P[]): P[] {
  return places.sort((a, b) => bySequence(a.sequence, b.sequence))
}

/** Two renderings of one event share its type and the provider's own time; the rest may differ. */
function isSameEvent(a: RoomEvent, b: RoomEvent): boolean {
  return a.cmd === b.cmd && a.reading.ownTime === b.reading.ownTime
}

/** The log tells the same event in the same words. */
function isSameText(a: RoomEvent, b: RoomEvent): boolean {
  return isSameEvent(a, b) && canonicalJson(a.data) === canonicalJson(b.data)
}

function placeOf(record: Json, room: string | undefined): EventPlace | undefined {
  const { success, data } = Place.safeParse(record)
  if (!success || (room !== undefined && data.roomUuid !== room)) return undefined
  return { room_uuid: data.roomUuid, sequence: normalSequence(data.sequence) }
}

function inRoom(item: Json, room: string): Json {
  if (!isObject(item)) return item
  return item.roomUuid === undefined || item.roomUuid === null ? { ...item, roomUuid: room } : item
}

/** What the column holds; a larger one stays beside. */
function readInt32(value: unknown): number | null {
  const number = readNumber(value)
  return number !== undefined && (number | 0) === number ? number : null
}

function readEvent(key: z.infer<typeof Key>, item: Json): RoomEvent {
  const record = isObject(item) ? item : {}
  const version = readInt32(record.version)
  const hasVersion = version !== null || record.version === null
  return {
    room_uuid: key.roomUuid,
    sequence: normalSequence(key.sequence),
    cmd: key.cmd,
    version,
    data: record.data ?? null,
    extra: fieldsWithout(hasVersion ? columns : columnsButVersion, record),
    reading: readers.get(key.cmd)?.(record.data, item) ?? unread(),
  }
}

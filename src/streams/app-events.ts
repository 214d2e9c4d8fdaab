import { createHash } from 'node:crypto'
import { appEvents as operation } from '../provider/classroom/index.ts'
import { eventTables } from '../tables/classroom.ts'
import type { Json, Timestamp } from '../tables/json.ts'
import { announcedBy, answerTime, lastOf, type PlacedEvent, type RoomEvent } from './events/event.ts'
import { eventRows, toldState } from './events/event-rows.ts'
import { type EventPlace, readEvents } from './events/read-events.ts'
import type { Hint, Page, PageResult, ToldState } from './page.ts'
import { feedCadence } from './parts/cadence.ts'
import { bySequence, walkOn } from './parts/holes.ts'
import { canonicalJson, digestOf } from './parts/items.ts'
import { latestBelieved, notAfter } from './parts/values.ts'
import type { FeedStream, StreamName } from './stream.ts'

/**
 * The events of all rooms of an app, as they happen (operation 10). The call has no cursor and may serve each
 * event only once, so it tells which rooms are alive; what is true of a room its log says (room-events).
 */
export const appEvents: FeedStream = {
  kind: 'feed',
  name: 'app-events',
  title: 'Events of all rooms of an app, as they happen',
  operation,
  writes: eventTables,
  // It cannot be asked with a nextId: one that comes leads nowhere.
  read: answer => ({ items: operation.readBatch(answer).items, nextId: undefined }),
  source: 'feed',
  scope: 'app',
  needs: ['room-events'],
  ...feedCadence('2s'),
  toRows,
}

function toRows(page: Page): PageResult {
  const { events, places, placeless, named, rejects } = readEvents(page.items)
  const placed = placeEach(events, page)
  const rows = eventRows(placed, page)
  const eventsByRoom = Map.groupBy(placed, ({ event }) => event.room_uuid)
  const placesByRoom = Map.groupBy(places, place => place.room_uuid)
  const changesByRoom = Map.groupBy(rows['classroom.room_state_change'] ?? [], change => change.room_uuid)
  const rooms = new Map(rows['classroom.room']?.map(room => [room.room_uuid, room]))
  return {
    rows,
    streamState: null,
    room: { kind: 'current' },
    follow: 'next',
    rejects,
    hints: [
      ...[...eventsByRoom].map(([name, events]) => {
        const jumps = page.settings.sequenceScope === 'room' && hasHole(placesByRoom.get(name) ?? [])
        const changes = changesByRoom.get(name) ?? []
        return hintOf(events, jumps ? 'hole' : 'news', toldState(rooms.get(name), changes, lastOf(events)))
      }),
      ...[...named].filter(name => !eventsByRoom.has(name)).map(name => hintOfUnread(name, page)),
    ],
    told: [...places.map(nameOfPlaced), ...placeless.map(nameOf)],
    unfinished: false,
  }
}

/**
 * An event is heard soon after it happened: where it has no time of its own, the answer's is close. After a pause it may be heard
 * late, and happened before what the same answer tells behind it in its room: the time of that is closer. A time before what
 * stands in front of the event is none to lean on.
 */
function placeEach(events: readonly RoomEvent[], page: Page): readonly PlacedEvent[] {
  const [answered, latest] = [answerTime(page), latestBelieved(page)]
  const timeOf = (event: RoomEvent) => notAfter(latest, event.reading.ownTime)
  const ordered = events.toSorted((a, b) => bySequence(a.sequence, b.sequence))
  const last = new Map<string, Timestamp>()
  const before = new Map(
    ordered.map(event => {
      const time = timeOf(event)
      const known = last.get(event.room_uuid) ?? ''
      if (time !== null && time > known) last.set(event.room_uuid, time)
      return [event, known] as const
    }),
  )
  const next = new Map<string, Timestamp>()
  const placed = new Map<RoomEvent, PlacedEvent>()
  for (const event of ordered.toReversed()) {
    const time = timeOf(event)
    const behind = next.get(event.room_uuid) ?? answered.at
    if (time !== null) {
      placed.set(event, { event, at: time, at_source: 'event', firm: true })
      if (time < behind) next.set(event.room_uuid, time)
    } else if (behind < answered.at && behind >= before.get(event)!) {
      placed.set(event, { event, at: behind, at_source: 'next', firm: true })
    } else placed.set(event, { event, ...answered, firm: true })
  }
  return events.map(event => placed.get(event)!)
}

function hintOf(events: readonly PlacedEvent[], change: Hint['change'], state: ToldState | undefined): Hint {
  const streams: readonly StreamName[] = ['room-events', ...announcedBy(events)]
  const hint = { room: events[0]!.event.room_uuid, change, at: lastOf(events), streams }
  return state ? { ...hint, state } : hint
}

/** Something happened in a room, and its log may tell it so that it can be read. */
function hintOfUnread(room: string, page: Page): Hint {
  return { room, change: 'news', at: Date.parse(answerTime(page).at), streams: ['room-events'] }
}

/** A roomUuid may be used again: another event stands at that place then, in other words. */
function nameOfPlaced(place: EventPlace | RoomEvent): string {
  const words = 'data' in place ? digestOf([place.cmd, place.data]) : undefined
  return [place.sequence, place.room_uuid, words].join(' ')
}

/** Of a record that tells no place. */
function nameOf(item: Json): string {
  return createHash('sha256').update(canonicalJson(item)).digest('base64')
}

function hasHole(places: readonly EventPlace[]): boolean {
  const sequences = places.map(({ sequence }) => sequence).toSorted(bySequence)
  return walkOn({ last: null, holes: [] }, sequences).holes.length > 0
}

import { exact } from './json.ts'
import { isMalformed } from './oddities.ts'
import { servedWidgetItem } from './served.ts'
import type { Switches } from './switches.ts'
import type { AppWorld, Call, Recording, Resource, Room, RoomEvent, Widget, WidgetEntry } from './world.ts'

interface OfRoom {
  readonly app: string
  readonly roomUuid: string
  readonly incarnation: number
}

/** One line of the truth: something that exists or happened in a room. */
export type TruthLine =
  | (OfRoom &
      Omit<Room, 'uuid' | 'incarnation' | 'contents'> & { readonly kind: 'room'; readonly events: number })
  | (OfRoom & Omit<RoomEvent, 'spoilt'> & { readonly kind: 'event'; readonly malformed: boolean })
  | (OfRoom & {
      readonly kind: 'widget'
      readonly widget: Widget
      /** Place in the log, from 1. */
      readonly position: number
      readonly id: string
      readonly step: WidgetEntry['step']
      readonly at: number
      /** Who caused the change: of a submission, the student. */
      readonly userUuid: string
      readonly malformed: boolean
      /** As it is served. */
      readonly item: object
    })
  | (OfRoom & { readonly kind: 'recording'; readonly item: Recording })
  | (OfRoom & { readonly kind: 'resource'; readonly item: Resource })
  | (OfRoom & { readonly kind: 'call'; readonly call: Call })

export interface TruthFilter {
  readonly app?: string | undefined
  readonly roomUuid?: string | undefined
}

/** Everything that ever was, room after room in the order of opening, whether or not it is still served. */
export function* truth(
  apps: Iterable<AppWorld>,
  switches: Switches,
  { app, roomUuid }: TruthFilter,
): Generator<TruthLine> {
  for (const world of apps) {
    if ((app ?? world.id) !== world.id) continue
    for (const room of world.rooms) {
      if ((roomUuid ?? room.uuid) === room.uuid) yield* truthOfRoom(world.id, room, switches)
    }
  }
}

function* truthOfRoom(app: string, room: Room, switches: Switches): Generator<TruthLine> {
  const { uuid: roomUuid, incarnation, openedAt, state, startedAt, endedAt, destroyedAt } = room
  const of: OfRoom = { app, roomUuid, incarnation }
  const { events, widgets, recordings, resources, call } = room.contents()
  yield { kind: 'room', ...of, openedAt, state, startedAt, endedAt, destroyedAt, events: events.length }
  for (const { spoilt: _, ...event } of events) {
    yield { kind: 'event', ...of, ...event, malformed: isMalformed(event.oddity) }
  }
  yield* truthOfWidget(of, 'popupQuiz', widgets.popupQuiz, switches)
  yield* truthOfWidget(of, 'poll', widgets.poll, switches)
  for (const item of recordings) yield { kind: 'recording', ...of, item }
  for (const item of resources.values()) yield { kind: 'resource', ...of, item }
  yield { kind: 'call', ...of, call }
}

function* truthOfWidget(
  of: OfRoom,
  widget: Widget,
  log: readonly WidgetEntry[],
  switches: Switches,
): Generator<TruthLine> {
  for (const entry of log) {
    const { sequence: position, id, step, at, author } = entry
    const item = servedWidgetItem(entry, switches)
    const malformed = entry.malformed === true
    yield {
      kind: 'widget',
      ...of,
      widget,
      position,
      id,
      step,
      at,
      userUuid: author.userUuid,
      malformed,
      item,
    }
  }
}

/** The line as JSON; sequences keep all of their digits. */
export function truthJson(line: TruthLine): string {
  return JSON.stringify(line.kind === 'event' ? { ...line, sequence: exact(line.sequence) } : line)
}

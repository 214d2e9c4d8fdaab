import { type TrueCall, trueCall, trueCalls } from './analytics/truth.ts'
import { exact } from './json.ts'
import type { Settings } from './options.ts'
import { isMalformed } from './quirks.ts'
import { servedWidgetItem } from './served.ts'
import { isMutedForGood } from './spells.ts'
import type { Switches } from './switches.ts'
import type { AppWorld, Recording, Resource, Room, RoomEvent, Widget, WidgetEntry } from './world.ts'

interface OfRoom {
  readonly app: string
  readonly roomUuid: string
  readonly incarnation: number
}

/** One line of the truth: something that exists or happened in a room. */
export type TruthLine =
  | (OfRoom &
      Omit<Room, 'uuid' | 'region' | 'incarnation' | 'contents'> & {
        readonly kind: 'room'
        readonly events: number
        /** Nobody who asks about it is told anything. */
        readonly muted: boolean
      })
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
  /** What a resource became at its updateTime, of which no event tells. */
  | (OfRoom & { readonly kind: 'step'; readonly item: Resource })
  /** A call that a classroom has nothing to do with is of incarnation 0 of the room of its channel's name. */
  | (OfRoom & { readonly kind: 'call'; readonly call: TrueCall })

export interface TruthFilter {
  readonly app?: string | undefined
  readonly roomUuid?: string | undefined
}

interface Told {
  readonly apps: Iterable<AppWorld>
  readonly settings: Settings
  /** Until when everything has happened, Unix milliseconds of the world. */
  readonly now: number
}

/**
 * Everything that ever was, whether or not it is still served: room after room in the order of opening, then
 * the calls that belong to none.
 */
export function* truth(told: Told, { app, roomUuid }: TruthFilter): Generator<TruthLine> {
  for (const world of told.apps) {
    if ((app ?? world.id) !== world.id) continue
    const ofRooms = new Set<string>()
    for (const room of world.rooms) {
      if ((roomUuid ?? room.uuid) !== room.uuid) continue
      for (const { callId } of room.contents().calls) ofRooms.add(callId)
      yield* truthOfRoom(world, room, told)
    }
    for (const call of trueCalls(world, told.settings, told.now)) {
      const { cname, callId } = call
      if ((roomUuid ?? cname) !== cname || ofRooms.has(callId)) continue
      yield { kind: 'call', app: world.id, roomUuid: cname, incarnation: 0, call }
    }
  }
}

function* truthOfRoom(world: AppWorld, room: Room, { settings, now }: Told): Generator<TruthLine> {
  const { switches } = settings
  const { uuid: roomUuid, incarnation, openedAt, state, startedAt, endedAt, destroyedAt } = room
  const of: OfRoom = { app: world.id, roomUuid, incarnation }
  const { events, widgets, recordings, resources, steps, calls } = room.contents()
  const told = { openedAt, state, startedAt, endedAt, destroyedAt, muted: isMutedForGood(room, switches) }
  yield { kind: 'room', ...of, ...told, events: events.length }
  for (const { spoilt: _, ...event } of events) {
    yield { kind: 'event', ...of, ...event, malformed: isMalformed(event.oddity) }
  }
  yield* truthOfWidget(of, 'popupQuiz', widgets.popupQuiz, switches)
  yield* truthOfWidget(of, 'poll', widgets.poll, switches)
  for (const item of recordings) yield { kind: 'recording', ...of, item }
  for (const item of resources.values()) yield { kind: 'resource', ...of, item }
  for (const item of steps) yield { kind: 'step', ...of, item }
  for (const call of calls) {
    if (world.calls.find(call.callId)) yield { kind: 'call', ...of, call: trueCall(call, settings, now) }
  }
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

import { classroomCodes, kickUser, roomStates, setRoomState } from '../../../src/provider/classroom/index.ts'
import type { Classrooms, Led } from '../classrooms.ts'
import { leave } from '../lesson/people.ts'
import { setState } from '../lesson/state.ts'
import { breaksRule, conflict, noUser, refusedMove } from '../refusal.ts'
import { identifier, type Play, type RequestContext, roomOf } from '../request-context.ts'
import type { Switches } from '../switches.ts'
import type { Kick, Room } from '../world.ts'
import { type Fields, oneOf, optional, readBody } from './body.ts'

const { notStarted, started, ended, closed } = roomStates

/** Operations 1 and 2. */
export function controlPlays(classrooms: Classrooms, switches: Switches): readonly Play[] {
  return [
    { operation: kickUser, act: context => kick(context, classrooms) },
    { operation: setRoomState, act: context => move(context, classrooms, switches) },
  ]
}

/** Only someone who is in the room can be put out of it: each success tells that a user left. */
function kick(context: RequestContext, classrooms: Classrooms): void {
  const userUuid = identifier(context, 'userUuid')
  const dirty = optional(readBody(context.sent), 'dirty', 'Object') ?? {}
  const until = endOfBan(dirty, context.now)
  const led = classrooms.of(roomOf(context))
  const { classroom } = led
  const pupil = classroom.present.get(userUuid)
  if (!pupil) throw noUser()
  const kicked: Kick = { at: context.now, until }
  classroom.contents.held.kicks.set(userUuid, kicked)
  leave(classroom, [pupil], context.now)
  if (until !== null) led.expect(pupil, until)
}

/**
 * The document does not show the fields of `dirty`; known from services of this kind are `state`, 1 to keep the
 * user out, and `duration` in seconds, without which that is for good.
 */
function endOfBan(dirty: Fields, now: number): number | null {
  const state = optional(dirty, 'state', 'Number') ?? 0
  const duration = optional(dirty, 'duration', 'Number')
  oneOf([0, 1], state, 'dirty.state')
  if (duration !== undefined && duration < 0) throw breaksRule('dirty.duration must not be negative')
  if (state === 0) return now
  return duration === undefined ? null : now + duration * 1_000
}

function move(context: RequestContext, classrooms: Classrooms, switches: Switches): void {
  const state = oneOf(Object.values(roomStates), context.params.state, 'state')
  const room = roomOf(context)
  check(room, state, switches)
  apply(classrooms.of(room), state, context.now)
}

/** A class that is over has been ended, whether or not its door is closed already. */
function check(room: Room, state: number, { stateMoves }: Switches): void {
  if (state === started && room.state === started) {
    throw conflict(classroomCodes.classStarted, 'Class has been started')
  }
  if (state === ended && isOver(room)) throw conflict(classroomCodes.classEnded, 'Class has been ended')
  if (stateMoves === 'strict' && state < room.state) throw refusedMove()
}

/** Whoever ends a class also ends the quiz and the poll that run in it. */
function apply(led: Led, state: number, now: number): void {
  const { classroom } = led
  const { room, running } = classroom
  if (state === started) {
    led.start(now)
  } else if (state === notStarted) {
    classroom.isOver = true
    setState(classroom, state, now)
  } else if (isOver(room)) {
    setState(classroom, state, now)
  } else {
    for (const end of [...running.values()]) end(now)
    led.finish(now, state)
  }
}

function isOver({ state }: Room): boolean {
  return state === ended || state === closed
}

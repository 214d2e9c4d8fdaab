import { classroomCodes, kickUser, roomStates, setRoomState } from '../../../src/provider/classroom/index.ts'
import type { Classrooms, Led } from '../classrooms.ts'
import { leave } from '../lesson/people.ts'
import { setState } from '../lesson/state.ts'
import { breaksRule, conflict, noUser, refusedMove } from '../refusal.ts'
import type { Switches } from '../switches.ts'
import { identifier, type Play, roomOf, type Visit } from '../visit.ts'
import type { Kick, Room } from '../world.ts'
import { type Fields, oneOf, optional, readBody } from './body.ts'

const { notStarted, started, ended, closed } = roomStates

/** Operations 1 and 2. */
export function controlPlays(classrooms: Classrooms, switches: Switches): readonly Play[] {
  return [
    { operation: kickUser, act: visit => kick(visit, classrooms) },
    { operation: setRoomState, act: visit => move(visit, classrooms, switches) },
  ]
}

/** Only someone who is in the room can be put out of it: each success tells that a user left. */
function kick(visit: Visit, classrooms: Classrooms): void {
  const userUuid = identifier(visit, 'userUuid')
  const dirty = optional(readBody(visit.sent), 'dirty', 'Object') ?? {}
  const until = endOfBan(dirty, visit.now)
  const led = classrooms.of(roomOf(visit))
  const { classroom } = led
  const pupil = classroom.present.get(userUuid)
  if (!pupil) throw noUser()
  const kicked: Kick = { at: visit.now, until }
  classroom.contents.held.kicks.set(userUuid, kicked)
  leave(classroom, [pupil], visit.now)
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

function move(visit: Visit, classrooms: Classrooms, switches: Switches): void {
  const state = oneOf(Object.values(roomStates), visit.params.state, 'state')
  const room = roomOf(visit)
  check(room, state, switches)
  apply(classrooms.of(room), state, visit.now)
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

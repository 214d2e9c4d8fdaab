import { cmds, roomStates } from '../../../src/provider/classroom/index.ts'
import type { Classroom } from '../classroom.ts'
import { currentCall, leave } from './people.ts'
import { askQuiz } from './quiz.ts'
import { stopRecording } from './recording.ts'

const seconds = 1_000

/** After the end of a class: until everyone has left, and until the room is closed. */
const toLeave = 5 * seconds
const toClose = 15 * seconds

/** Writes the state of a room down, its times with it, and tells of it. */
export function setState(classroom: Classroom, state: number, now: number): void {
  const { room } = classroom
  room.state = state
  switch (state) {
    case roomStates.notStarted:
      room.startedAt = undefined
      room.endedAt = undefined
      break
    case roomStates.started:
      room.startedAt = now
      room.endedAt = undefined
      break
    default:
      room.endedAt ??= now
  }
  const { startedAt } = room
  classroom.tell(cmds.roomState, { ...(startedAt !== undefined && { startTime: startedAt }), state }, now)
}

export function startClass(classroom: Classroom, now: number): void {
  classroom.open()
  setState(classroom, roomStates.started, now)
}

/**
 * The class is over, `ended` or `closed` at once: the recording stops, everyone leaves and with them the call
 * ends, the door is closed; after `memory` ms the room is forgotten. Whoever lets the class begin again stops
 * what has not happened yet.
 */
export function dismiss(
  classroom: Classroom,
  how: { readonly state: number; readonly memory: number; readonly forget: (now: number) => void },
  now: number,
): void {
  const { room, agenda } = classroom
  stopRecording(classroom, now)
  perhapsAskLate(classroom, how.memory, now)
  classroom.isOver = true
  setState(classroom, how.state, now)
  const endedAt = room.endedAt
  const everyone = [...classroom.present.values()]
  const unlessBegunAgain = (delay: number, act: (now: number) => void) =>
    agenda.at(now + delay, later => {
      if (room.endedAt === endedAt) act(later)
    })
  unlessBegunAgain(toLeave, later => {
    leave(classroom, everyone, later)
    endCall(classroom, later)
  })
  unlessBegunAgain(toClose, later => {
    if (room.state === roomStates.ended) setState(classroom, roomStates.closed, later)
  })
  unlessBegunAgain(how.memory, later => how.forget(later))
}

/** A quiz that is asked as the class ends goes on without it, unless the class begins again. */
function perhapsAskLate(classroom: Classroom, memory: number, now: number): void {
  const { draw, running, rules } = classroom
  const { lateQuiz } = rules.quirks
  if (lateQuiz === 0 || !draw.chance(lateQuiz)) return
  askQuiz(classroom, now)
  const end = running.get('popupQuiz')
  classroom.whileThere(now + memory * draw.between(0.4, 0.55), later => {
    if (end && running.get('popupQuiz') === end) end(later)
  })
}

/** The provider forgets a room about an hour after its class ended, and never before its door is closed. */
export function drawMemory({ rules, draw }: Classroom): number {
  return Math.max(2 * toClose, rules.switches.roomMemorySeconds * seconds * draw.between(0.95, 1.05))
}

function endCall({ contents }: Classroom, now: number): void {
  const call = currentCall(contents)
  if (!call) return
  call.destroyedAt = now
  for (const session of call.sessions) session.leftAt ??= now
}

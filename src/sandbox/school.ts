import { seededRandom } from '../clock/seeded.ts'
import { cmds, roomStates } from '../provider/classroom/index.ts'
import type { Agenda } from './agenda.ts'
import { Classroom, type Counter, type Rules } from './classroom.ts'
import { drawFrom } from './draw.ts'
import { discard, upload } from './lesson/materials.ts'
import { dropOut, enter, leave, roster } from './lesson/people.ts'
import { openPoll } from './lesson/poll.ts'
import { askQuiz } from './lesson/quiz.ts'
import { startRecording, stopRecording } from './lesson/recording.ts'
import { callSomeoneToStage, chat, raiseHand, reward } from './lesson/talk.ts'
import { subjects } from './names.ts'
import type { SchoolProfile } from './options.ts'
import { type AppWorld, emptyContents, type Room } from './world.ts'

const seconds = 1_000
const minutes = 60 * seconds

/** After the end of a class: until everyone has left, and until the room is closed. */
const toLeave = 5 * seconds
const toClose = 15 * seconds

/** What happens during a lesson, and how often compared with the rest. */
const activities = [
  [60, chat],
  [14, raiseHand],
  [4, callSomeoneToStage],
  [8, reward],
  [3, upload],
  [1, discard],
  [6, dropOut],
  [2, askQuiz],
  [2, openPoll],
] as const

export interface School {
  readonly world: AppWorld
  readonly agenda: Agenda
  readonly profile: SchoolProfile
  readonly rules: Rules
  readonly seed: string
  readonly counter: Counter
}

/**
 * The first bells ring long enough before `now` for some classes to be over and most to be going on by then,
 * so that whoever comes to listen finds something at once.
 */
export function openSchool(school: School, now: number): void {
  const { profile, agenda, seed } = school
  const draw = drawFrom(seededRandom(`${seed}/bells`))
  const lesson = profile.lessonMinutes * minutes
  const history =
    profile.historyMinutes === undefined ? usualHistory(school) : profile.historyMinutes * minutes
  for (let slot = 0; slot < profile.classes; slot++) {
    agenda.at(now - history + draw.between(0, Math.min(history, lesson)), bell =>
      holdLesson(school, slot, 1, bell),
    )
  }
}

/** A slot whose room opens again stays empty for as long as the room is remembered: fewer may be over there. */
function usualHistory({ profile, rules }: School): number {
  const lesson = profile.lessonMinutes * minutes
  if (rules.switches.roomReuse === 'on') return 1.25 * lesson
  return lesson + 0.8 * Math.min(lesson, rules.switches.roomMemorySeconds * seconds)
}

/** From the first bell until the room is destroyed; then, or after the break, the next lesson. */
function holdLesson(school: School, slot: number, number: number, now: number): void {
  const { profile, rules } = school
  const room = enterRoom(school, slot, number, now)
  begin(room, profile.eventsPerMinute, now)
  const end = now + profile.lessonMinutes * minutes * room.draw.between(0.9, 1.1)
  const next = (bell: number) => holdLesson(school, slot, number + 1, bell)
  const pause = profile.breakMinutes * minutes
  room.agenda.at(end, later => dismiss(room, later))
  room.agenda.at(end + forgetting(room), later => {
    destroy(school, room, later)
    if (rules.switches.roomReuse === 'on') room.agenda.at(later + pause, next)
  })
  if (rules.switches.roomReuse === 'off') room.agenda.at(end + pause, next)
}

/** The class begins; students drop in during the first minutes, and someone may press the record button. */
export function begin(room: Classroom, eventsPerMinute: number, now: number): void {
  const { draw } = room
  setState(room, roomStates.started, now)
  enter(room, room.teacher, now)
  for (const student of room.students) {
    room.later(now + draw.wait(minutes), later => enter(room, student, later))
  }
  if (draw.chance(0.7)) room.later(now + draw.wait(minutes), later => startRecording(room, later))
  carryOn(room, eventsPerMinute, now)
}

function carryOn(room: Classroom, eventsPerMinute: number, now: number): void {
  room.later(now + room.draw.wait(minutes / eventsPerMinute), later => {
    room.draw.weighted(activities)(room, later)
    carryOn(room, eventsPerMinute, later)
  })
}

/** The class ends: the recording stops, everyone leaves and with them the call ends, the door closes. */
function dismiss(room: Classroom, now: number): void {
  stopRecording(room, now)
  room.isOver = true
  setState(room, roomStates.ended, now)
  const everyone = [...room.present.values()]
  room.agenda.at(now + toLeave, later => {
    leave(room, everyone, later)
    room.contents.call.destroyedAt = later
  })
  room.agenda.at(now + toClose, later => setState(room, roomStates.closed, later))
}

/** The provider forgets a room about an hour after its class ended, and never before its door is closed. */
function forgetting({ rules, draw }: Classroom): number {
  return Math.max(2 * toClose, rules.switches.roomMemorySeconds * seconds * draw.between(0.95, 1.05))
}

/** The provider keeps the calls of a room that it has forgotten. */
function destroy(school: School, { room }: Classroom, now: number): void {
  school.world.destroy(room, now)
}

function setState(classroom: Classroom, state: number, now: number): void {
  const { room } = classroom
  room.state = state
  if (state === roomStates.started) room.startedAt = now
  if (state === roomStates.ended) room.endedAt = now
  classroom.tell(cmds.roomState, { startTime: room.startedAt, state }, now)
}

function enterRoom(school: School, slot: number, number: number, now: number): Classroom {
  const { world, agenda, rules, profile } = school
  const course = `${subjects[slot % subjects.length]}-${slot}`
  const uuid = rules.switches.roomReuse === 'on' ? course : `${course}-${number}`
  const seed = `${school.seed}/${slot}/${number}`
  const contents = emptyContents(uuid, drawFrom(seededRandom(`${seed}/call`)).id(), now)
  world.calls.add(contents.call)
  const room: Room = world.open(uuid, now, () => contents)
  return new Classroom({
    room,
    contents,
    agenda,
    seed,
    rules,
    roster: roster(`${school.seed}/${slot}`, profile.students),
    counter: rules.switches.sequenceScope === 'app' ? school.counter : { last: 0 },
    publish: event => {
      world.eventsMade++
      world.announce({ room, at: event.at, event: () => event })
    },
  })
}

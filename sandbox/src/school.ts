import { roomStates } from '../../src/provider/classroom/index.ts'
import type { Agenda } from './agenda.ts'
import { Classroom, type Counter, type Pupil, type Rules } from './classroom.ts'
import type { Classrooms, Led } from './classrooms.ts'
import { type Draw, drawFrom } from './draw.ts'
import { showFilm } from './lesson/film.ts'
import { discard, upload } from './lesson/materials.ts'
import { atOneMachine, currentCall, dropOut, enter, roster, withAssistant } from './lesson/people.ts'
import { openPoll } from './lesson/poll.ts'
import { askQuiz } from './lesson/quiz.ts'
import { runningRecording, startRecording, stopRecording } from './lesson/recording.ts'
import { dismiss, drawMemory, startClass } from './lesson/state.ts'
import { callSomeoneToStage, chat, raiseHand, reward, tryMicrophone } from './lesson/talk.ts'
import { subjects } from './names.ts'
import type { SchoolProfile } from './options.ts'
import { seededRandom } from './seeded.ts'
import { type AppWorld, emptyContents } from './world.ts'

const seconds = 1_000
const minutes = 60 * seconds

const shareStartedAgain = 0.7

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

/** The same without what a teacher does, while someone has put the teacher out. */
const withoutTeacher = [
  [60, chat],
  [14, raiseHand],
  [6, dropOut],
] as const

export interface School {
  readonly world: AppWorld
  readonly classrooms: Classrooms
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
    const bell = now - history + draw.between(0, Math.min(history, lesson))
    agenda.at(bell - early(school), opened => holdLesson(school, slot, 1, opened))
  }
}

/** How long a room is open before its bell rings. */
function early({ profile }: School): number {
  return (profile.earlyMinutes ?? 0) * minutes
}

/** A slot whose room opens again stays empty for as long as the room is remembered: fewer may be over there. */
function usualHistory({ profile, rules }: School): number {
  const lesson = profile.lessonMinutes * minutes
  if (rules.switches.roomReuse === 'on') return 1.25 * lesson
  return lesson + 0.8 * Math.min(lesson, rules.switches.roomMemorySeconds * seconds)
}

/** From the opening of the room to the bell, and until the room is destroyed; then, or after the break, the next. */
function holdLesson(school: School, slot: number, number: number, opened: number): void {
  const { agenda, rules, profile } = school
  const pause = profile.breakMinutes * minutes
  const isReused = rules.switches.roomReuse === 'on'
  const next = (time: number) => agenda.at(time, later => holdLesson(school, slot, number + 1, later))
  const lesson = new Lesson(school, enterRoom(school, slot, number, opened), {
    name: `${slot}-${number}`,
    seed: `${school.seed}/${slot}/${number}`,
    whenForgotten: now => {
      if (isReused) next(now + pause)
    },
  })
  if (rules.switches.eventTimes === 'absent') tryMicrophone(lesson.classroom, opened)
  const ring = (bell: number) => {
    if (lesson.classroom.room.state === roomStates.notStarted) lesson.start(bell)
    if (!isReused) next(Math.max(bell, lesson.end - early(school)) + pause)
  }
  if (early(school) === 0) ring(opened)
  else agenda.at(opened + early(school), ring)
}

interface About {
  /** Unique within the app. */
  readonly name: string
  readonly seed: string
  readonly whenForgotten: (now: number) => void
}

/** A class of the school, led by its timetable and by whoever sets its state. */
class Lesson implements Led {
  readonly classroom: Classroom
  /** Until when it was planned to last. */
  end: number
  #memory: number | undefined
  #begun = 0
  readonly #school: School
  readonly #about: About
  readonly #callIds: Draw

  constructor(school: School, classroom: Classroom, about: About) {
    this.#school = school
    this.classroom = classroom
    this.end = classroom.room.openedAt + early(school) + school.profile.lessonMinutes * minutes
    this.#about = about
    this.#callIds = drawFrom(seededRandom(`${about.seed}/call`))
    school.classrooms.hold(classroom.room, () => this)
  }

  start(now: number): void {
    const { agenda, profile } = this.#school
    const { room, draw } = this.classroom
    this.#openCall(now)
    begin(this.classroom, profile.eventsPerMinute, now)
    this.end = now + profile.lessonMinutes * minutes * draw.between(0.9, 1.1)
    this.#memory = drawMemory(this.classroom)
    this.#showFilm(now)
    agenda.at(this.end, later => {
      if (room.startedAt !== now || room.state !== roomStates.started) return
      this.finish(later, roomStates.ended)
      this.#perhapsAgain(later)
    })
  }

  /** Long after its end, while the room is still known. */
  #perhapsAgain(endedAt: number): void {
    const { agenda, rules } = this.#school
    if (rules.switches.classRestart === 'off' || this.#begun > 1) return
    const draw = drawFrom(seededRandom(`${this.#about.seed}/again`))
    if (!draw.chance(shareStartedAgain)) return
    agenda.at(endedAt + this.#memory! * draw.between(0.2, 0.8), now => {
      const { endedAt: end, destroyedAt } = this.classroom.room
      if (end === endedAt && destroyedAt === undefined) this.start(now)
    })
  }

  /** The provider keeps the calls of a room that it has forgotten. */
  finish(now: number, state: number): void {
    const memory = this.#memory ?? drawMemory(this.classroom)
    const forget = (later: number) => {
      this.#school.world.destroy(this.classroom.room, later)
      this.#about.whenForgotten(later)
    }
    dismiss(this.classroom, { state, memory, forget }, now)
  }

  expect(pupil: Pupil, from: number): void {
    const { classroom } = this
    classroom.later(from + classroom.draw.wait(minutes), now => enter(classroom, pupil, now))
  }

  /** A lesson that begins again is another one to whoever looks for its film by name. */
  #showFilm(now: number): void {
    const { name, seed } = this.#about
    const again = this.#begun++ === 0 ? '' : `-${this.#begun}`
    const lesson = { name: name + again, seed: seed + again, from: now, to: this.end }
    showFilm(this.#school.world.players, this.classroom, lesson)
  }

  #openCall(now: number): void {
    const { classroom } = this
    if (currentCall(classroom.contents)) return
    const call = {
      callId: this.#callIds.id(),
      cname: classroom.room.uuid,
      createdAt: now,
      destroyedAt: undefined,
      sessions: [],
    }
    classroom.contents.calls.push(call)
    this.#school.world.calls.add(call)
  }
}

/** The class begins; students drop in during the first minutes, and someone may press the record button. */
export function begin(room: Classroom, eventsPerMinute: number, now: number): void {
  const { draw } = room
  startClass(room, now)
  enter(room, room.teacher, now)
  for (const student of room.students) {
    room.later(now + draw.wait(minutes), later => enter(room, student, later))
  }
  if (draw.chance(0.7)) room.later(now + draw.wait(minutes), later => record(room, later))
  carryOn(room, eventsPerMinute, now)
}

function record(room: Classroom, now: number): void {
  startRecording(room, now)
  const { brokenRecording } = room.rules.quirks
  if (brokenRecording === 0 || !room.draw.chance(brokenRecording)) return
  room.later(now + room.draw.between(10 * seconds, minutes), later => {
    if (!runningRecording(room)) return
    stopRecording(room, later)
    record(room, later)
  })
}

function carryOn(room: Classroom, eventsPerMinute: number, now: number): void {
  room.later(now + room.draw.wait(minutes / eventsPerMinute), later => {
    const isTaught = room.present.has(room.teacher.userUuid)
    room.draw.weighted(isTaught ? activities : withoutTeacher)(room, later)
    carryOn(room, eventsPerMinute, later)
  })
}

function enterRoom(school: School, slot: number, number: number, now: number): Classroom {
  const { world, agenda, rules, profile } = school
  const course = `${subjects[slot % subjects.length]}-${slot}`
  const uuid = rules.switches.roomReuse === 'on' ? course : `${course}-${number}`
  const contents = emptyContents()
  const room = world.open(uuid, now, () => contents)
  return new Classroom({
    room,
    contents,
    agenda,
    seed: `${school.seed}/${slot}/${number}`,
    rules,
    roster: atOneMachine(
      withAssistant(roster(`${school.seed}/${slot}`, profile.students), rules.quirks),
      rules.quirks,
    ),
    counter: rules.switches.sequenceScope === 'app' ? school.counter : { last: 0 },
    publish: event => world.publish(room, event),
  })
}

import { roomStates } from '../../src/provider/classroom/index.ts'
import { Agenda } from './agenda.ts'
import { Classroom, type Counter, countOf, type Rules } from './classroom.ts'
import type { Classrooms, Led } from './classrooms.ts'
import { drawFrom } from './draw.ts'
import { roster } from './lesson/people.ts'
import { dismiss, drawMemory, startClass } from './lesson/state.ts'
import { subjects } from './names.ts'
import { begin } from './school.ts'
import { seededRandom } from './seeded.ts'
import { type AppWorld, type Contents, emptyContents, type Room } from './world.ts'

const lengthMs = 40 * 60_000
const students = 6
/** Composed rooms that are kept, so that the pages of one room do not compose it again and again. */
const kept = 64
/** Where sequences have holes, each skips three numbers at most. */
const mostSequencesPerEvent = 4

/** Where the rooms are put. */
export interface Ground {
  readonly world: AppWorld
  readonly classrooms: Classrooms
  /** Of what follows when someone sets something in a room. */
  readonly agenda: Agenda
  readonly rules: Rules
  readonly seed: string
}

/**
 * Many open rooms whose lessons fell silent before `now`, each with exactly `eventsPerRoom` events. A room's
 * log follows from its seed alone and is composed when someone reads it, so that a million events need no
 * memory. The app's feed tells of the first event of each room, as if they had all just begun. A room in which
 * something is set from outside stays in memory from then on, and its log grows.
 */
export function fillBacklog(
  ground: Ground,
  { rooms, eventsPerRoom }: { readonly rooms: number; readonly eventsPerRoom: number },
  now: number,
): void {
  const { world, classrooms, rules, seed } = ground
  const lesson = (room: Room, index: number, events: number) =>
    composeLesson({
      room,
      rules,
      seed: `${seed}/${index}`,
      before: index * eventsPerRoom * mostSequencesPerEvent,
      events,
      eventsPerRoom,
    })
  const compose = remember((room: Room, index: number, events: number) => {
    return lesson({ ...room }, index, events).contents
  })
  const afterAll: Counter = { last: rooms * eventsPerRoom * mostSequencesPerEvent }
  const openedAt = now - lengthMs
  for (let index = 0; index < rooms; index++) {
    const uuid = `${subjects[index % subjects.length]}-${index}`
    let awake: Led | undefined
    const contents = () => awake?.classroom.contents ?? compose(room, index, eventsPerRoom)
    const room: Room = world.open(uuid, openedAt, contents)
    room.state = roomStates.started
    room.startedAt = openedAt
    classrooms.hold(room, () => {
      awake ??= wake(ground, lesson(room, index, eventsPerRoom), afterAll)
      return awake
    })
    world.eventsMade += eventsPerRoom
    const first = once(() => compose.afresh(room, index, 1).events[0]!)
    world.announce({ room, at: now, event: first })
  }
}

/** Numbers go on where the log ends; those that all rooms count together, where the last of all logs may end. */
function wake({ world, agenda, rules }: Ground, classroom: Classroom, afterAll: Counter): Led {
  const { room, contents } = classroom
  const counter =
    rules.switches.sequenceScope === 'app' ? afterAll : { last: countOf(contents.events.at(-1)!.sequence) }
  classroom.move({ agenda, counter, publish: event => world.publish(room, event) })
  return {
    classroom,
    start: now => startClass(classroom, now),
    finish: (now, state) => {
      const forget = (later: number) => world.destroy(room, later)
      dismiss(classroom, { state, memory: drawMemory(classroom), forget }, now)
    },
    expect: () => {},
  }
}

function composeLesson(lesson: {
  readonly room: Room
  readonly rules: Rules
  readonly seed: string
  /** Sequences that all rooms before this one may have used. */
  readonly before: number
  readonly events: number
  readonly eventsPerRoom: number
}): Classroom {
  const { room, rules, seed, events, eventsPerRoom } = lesson
  const agenda = new Agenda()
  const contents = emptyContents()
  contents.calls.push({
    callId: drawFrom(seededRandom(`${seed}/call`)).id(),
    cname: room.uuid,
    createdAt: room.openedAt,
    destroyedAt: undefined,
    sessions: [],
  })
  const classroom = new Classroom({
    room,
    contents,
    agenda,
    seed,
    rules,
    roster: roster(seed, students),
    counter: { last: rules.switches.sequenceScope === 'app' ? lesson.before : 0 },
    publish: () => {},
  })
  begin(classroom, (2 * eventsPerRoom * 60_000) / lengthMs, room.openedAt)
  while (contents.events.length < events && agenda.step());
  contents.events.length = Math.min(events, contents.events.length)
  return classroom
}

type Compose = (room: Room, index: number, events: number) => Contents

function remember(compose: Compose): Compose & { readonly afresh: Compose } {
  const composed = new Map<number, Contents>()
  const remembered: Compose = (room, index, events) => {
    const known = composed.get(index)
    if (known) return known
    const contents = compose(room, index, events)
    composed.set(index, contents)
    if (composed.size > kept) composed.delete(composed.keys().next().value!)
    return contents
  }
  return Object.assign(remembered, { afresh: compose })
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

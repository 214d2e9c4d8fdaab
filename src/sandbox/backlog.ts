import { seededRandom } from '../clock/seeded.ts'
import { roomStates } from '../provider/classroom/index.ts'
import { Agenda } from './agenda.ts'
import { Classroom, type Rules } from './classroom.ts'
import { drawFrom } from './draw.ts'
import { roster } from './lesson/people.ts'
import { subjects } from './names.ts'
import { begin } from './school.ts'
import { type AppWorld, type Contents, emptyContents, type Room } from './world.ts'

const lengthMs = 40 * 60_000
const students = 6
/** Composed rooms that are kept, so that the pages of one room do not compose it again and again. */
const kept = 64

/**
 * Many open rooms whose lessons fell silent before `now`, each with exactly `eventsPerRoom` events. A room's
 * log follows from its seed alone and is composed when someone reads it, so that a million events need no
 * memory. The app's feed tells of the first event of each room, as if they had all just begun.
 */
export function fillBacklog(
  { world, rules, seed }: { readonly world: AppWorld; readonly rules: Rules; readonly seed: string },
  { rooms, eventsPerRoom }: { readonly rooms: number; readonly eventsPerRoom: number },
  now: number,
): void {
  const compose = remember((room: Room, index: number, events: number) =>
    composeLesson({
      room,
      rules,
      seed: `${seed}/${index}`,
      before: index * eventsPerRoom * 4,
      events,
      eventsPerRoom,
    }),
  )
  const openedAt = now - lengthMs
  for (let index = 0; index < rooms; index++) {
    const uuid = `${subjects[index % subjects.length]}-${index}`
    const room: Room = world.open(uuid, openedAt, () => compose(room, index, eventsPerRoom))
    room.state = roomStates.started
    room.startedAt = openedAt
    world.eventsMade += eventsPerRoom
    const first = once(() => compose.afresh(room, index, 1).events[0]!)
    world.announce({ room, at: now, event: first })
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
}): Contents {
  const { room, rules, seed, events, eventsPerRoom } = lesson
  const agenda = new Agenda()
  const callId = drawFrom(seededRandom(`${seed}/call`)).id()
  const contents = emptyContents(room.uuid, callId, room.openedAt)
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
  return contents
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

import { seededRandom } from '../clock/seeded.ts'
import { cmds } from '../provider/classroom/index.ts'
import type { Agenda } from './agenda.ts'
import { type Draw, drawFrom } from './draw.ts'
import { type Oddities, spoil } from './oddities.ts'
import type { Switches } from './switches.ts'
import type { Contents, Member, Room, RoomEvent, Widget, WidgetEntry } from './world.ts'

export interface Pupil extends Member {
  /** ID in the call. */
  readonly uid: number
  readonly streamUuid: string
}

export interface Rules {
  readonly switches: Switches
  readonly oddities: Oddities
}

/** Gives the next number; rooms may count each for itself or all together. */
export interface Counter {
  last: number
}

/**
 * A class that is going on: who is there, what is still to come, and the log into which everything that
 * happens is written.
 */
export class Classroom {
  readonly room: Room
  readonly contents: Contents
  readonly agenda: Agenda
  readonly draw: Draw
  readonly rules: Rules
  readonly teacher: Pupil
  readonly students: readonly Pupil[]
  readonly present = new Map<string, Pupil>()
  readonly onStage = new Map<string, Pupil>()
  readonly waving = new Map<string, Pupil>()
  readonly rewards = new Map<string, number>()
  /** Widgets that run now: one quiz and one poll at most. */
  readonly running = new Set<Widget>()
  isOver = false
  readonly #published: (event: RoomEvent) => void
  readonly #nextSequence: () => number | bigint
  readonly #strange: Draw

  constructor(parts: {
    readonly room: Room
    readonly contents: Contents
    readonly agenda: Agenda
    readonly seed: string
    readonly rules: Rules
    readonly roster: readonly [teacher: Pupil, ...students: Pupil[]]
    readonly counter: Counter
    readonly publish: (event: RoomEvent) => void
  }) {
    const { roster, rules } = parts
    this.room = parts.room
    this.contents = parts.contents
    this.agenda = parts.agenda
    this.rules = rules
    this.draw = drawFrom(seededRandom(parts.seed))
    this.#strange = drawFrom(seededRandom(`${parts.seed}/strange`))
    const [teacher, ...students] = roster
    this.teacher = teacher
    this.students = students
    this.#published = parts.publish
    this.#nextSequence = numbering(parts.counter, rules, this.#strange)
  }

  /** Writes an event into the log and tells the app's feed. */
  tell(cmd: number, data: object, at: number): void {
    const content =
      cmd === cmds.chat ? spoil({ cmd, data }, this.rules.oddities, this.#strange) : { cmd, data }
    const event = { ...content, sequence: this.#nextSequence(), at }
    this.contents.events.push(event)
    this.#published(event)
  }

  note(widget: Widget, entry: Omit<WidgetEntry, 'sequence'>): void {
    const log = this.contents.widgets[widget]
    const share = entry.step === 'submission' ? this.rules.oddities.malformedWidgetItem : 0
    const isMalformed = share > 0 && this.#strange.chance(share)
    log.push({ ...entry, sequence: log.length + 1, ...(isMalformed && { malformed: true }) })
  }

  /** Something that happens later, unless the class is over by then. */
  later(time: number, act: (now: number) => void): void {
    this.agenda.at(time, now => {
      if (!this.isOver) act(now)
    })
  }
}

const aboveDoubles = 2n ** 53n
const shareOfHoles = 0.05

function numbering(counter: Counter, rules: Rules, draw: Draw): () => number | bigint {
  const isBig = rules.oddities.bigSequence > 0 && draw.chance(rules.oddities.bigSequence)
  const step =
    rules.switches.sequence === 'holes' ? () => (draw.chance(shareOfHoles) ? draw.whole(2, 4) : 1) : () => 1
  return () => {
    counter.last += step()
    return isBig ? aboveDoubles + BigInt(counter.last) : counter.last
  }
}

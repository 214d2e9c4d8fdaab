import { cmds } from '../../src/provider/classroom/index.ts'
import type { Agenda } from './agenda.ts'
import { type Draw, drawFrom } from './draw.ts'
import { befalls } from './hash.ts'
import { told } from './nameless.ts'
import { hold, hush, type Quirks, retell, spoil } from './quirks.ts'
import { seededRandom } from './seeded.ts'
import { otherVersion } from './served.ts'
import type { Switches } from './switches.ts'
import type { Contents, Member, Room, RoomEvent, Widget, WidgetEntry } from './world.ts'

export interface Pupil extends Member {
  /** ID in the call. */
  readonly uid: number
  /** ID of the stream, where the switch streamUuids has it differ from the uid. */
  readonly streamUuid: string
}

export interface Rules {
  readonly switches: Switches
  readonly quirks: Quirks
}

/** Gives the next number; rooms may count each for itself or all together. */
export interface Counter {
  last: number
}

type Act = (now: number) => void

/** Where a class takes its time and its numbers from, and who hears of its events. */
export interface Outlet {
  readonly agenda: Agenda
  readonly counter: Counter
  readonly publish: (event: RoomEvent) => void
}

/**
 * A class that is going on: who is there, what is still to come, and the log into which everything that
 * happens is written.
 */
export class Classroom {
  readonly room: Room
  readonly contents: Contents
  readonly draw: Draw
  readonly rules: Rules
  readonly teacher: Pupil
  readonly students: readonly Pupil[]
  readonly present = new Map<string, Pupil>()
  /** Everyone who has ever entered. */
  readonly known = new Set<string>()
  readonly onStage = new Map<string, Pupil>()
  readonly waving = new Map<string, Pupil>()
  readonly rewards = new Map<string, number>()
  /** Widgets that run now, one quiz and one poll at most, each with what ends it. */
  readonly running = new Map<Widget, (now: number) => void>()
  /** No class goes on: not yet, no longer, or it was interrupted. */
  isOver = true
  #lesson = 0
  #outlet: Outlet
  readonly #isBig: boolean
  /** How many events of the room the feed tells. */
  readonly #told: number
  readonly #strange: Draw

  constructor(
    parts: Outlet & {
      readonly room: Room
      readonly contents: Contents
      readonly seed: string
      readonly rules: Rules
      readonly roster: readonly [teacher: Pupil, ...students: Pupil[]]
    },
  ) {
    const { roster, rules } = parts
    this.room = parts.room
    this.contents = parts.contents
    this.rules = rules
    this.draw = drawFrom(seededRandom(parts.seed))
    this.#strange = drawFrom(seededRandom(`${parts.seed}/strange`))
    const [teacher, ...students] = roster
    this.teacher = teacher
    this.students = students
    this.#outlet = parts
    this.#isBig = rules.quirks.bigSequence > 0 && this.#strange.chance(rules.quirks.bigSequence)
    this.#told = hush(rules.quirks, this.#strange)
  }

  /** A class begins: whatever an earlier one in this room still had planned never happens. */
  open(): void {
    this.#lesson++
    this.running.clear()
    this.isOver = false
  }

  /** The class goes on elsewhere: what its former agenda still held never happens. */
  move(outlet: Outlet): void {
    this.#outlet = outlet
  }

  get agenda(): Agenda {
    return this.#outlet.agenda
  }

  /** Writes an event into the log and tells the app's feed. */
  tell(cmd: number, data: object, at: number): void {
    const content = cmd === cmds.chat ? spoil({ cmd, data }, this.rules.quirks, this.#strange) : { cmd, data }
    const { quirks, switches } = this.rules
    const how = { at, quirks, draw: this.#strange }
    const retold = retell(content, this.contents.events.length, how)
    const loggedFrom = retold ? undefined : hold(content, this.contents.events.length, how)
    const sequence = this.#nextSequence()
    const isOther = befalls(quirks.otherVersion, 'version', this.room.uuid, at, String(sequence))
    const event = {
      ...content,
      data: told(content.data, switches),
      sequence,
      at,
      ...(isOther && { version: otherVersion }),
      ...(retold && { retold: { ...retold, data: told(retold.data, switches) } }),
      ...(loggedFrom !== undefined && { loggedFrom }),
      ...(this.contents.events.length >= this.#told && ({ isUntold: true } as const)),
    }
    this.contents.events.push(event)
    this.#outlet.publish(event)
  }

  note(widget: Widget, entry: Omit<WidgetEntry, 'sequence'>): void {
    const log = this.contents.widgets[widget]
    const share = entry.step === 'submission' ? this.rules.quirks.malformedWidgetItem : 0
    const isMalformed = share > 0 && this.#strange.chance(share)
    log.push({ ...entry, sequence: log.length + 1, ...(isMalformed && { malformed: true }) })
  }

  /** Something that happens later, unless the class is over by then. */
  later(time: number, act: Act): void {
    const lesson = this.#lesson
    this.agenda.at(time, now => {
      if (!this.isOver && this.#lesson === lesson) act(now)
    })
  }

  /** Something that happens later, whatever becomes of the class, unless the room is gone by then. */
  whileThere(time: number, act: Act): void {
    this.agenda.at(time, now => {
      if (this.room.destroyedAt === undefined) act(now)
    })
  }

  #nextSequence(): number | bigint {
    const { counter } = this.#outlet
    const hasHoles = this.rules.switches.sequence === 'holes'
    counter.last += hasHoles && this.#strange.chance(shareOfHoles) ? this.#strange.whole(2, 4) : 1
    return this.#isBig ? aboveDoubles + BigInt(counter.last) : counter.last
  }
}

const aboveDoubles = 2n ** 53n
const shareOfHoles = 0.05

/** What the counter stood at when it gave this sequence. */
export function countOf(sequence: number | bigint): number {
  return Number(BigInt(sequence) % aboveDoubles)
}

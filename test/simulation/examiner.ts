import type { Sandbox } from '../../sandbox/src/index.ts'
import { borne, type DayMoments, type Lowered, zones } from './demands.ts'
import type { Drawn } from './draw.ts'
import type { Hands } from './hands.ts'
import type { Kernel } from './kernel.ts'
import { examineAges, kept, readKept } from './oracle/ages.ts'
import { examineAnalytics } from './oracle/analytics.ts'
import { examineAskers } from './oracle/askers.ts'
import { examineBounds } from './oracle/bounds.ts'
import { examineClassroom } from './oracle/classroom.ts'
import { examineDays } from './oracle/days.ts'
import type { Examination, Finding } from './oracle/examination.ts'
import { examineForEver, readForEver } from './oracle/for-ever.ts'
import { examineHands } from './oracle/hands.ts'
import { examineLessons } from './oracle/lessons.ts'
import { examineManners } from './oracle/manners.ts'
import { examineMarks } from './oracle/marks.ts'
import { examineMetrics, oldestExported, readStates, type Scrape } from './oracle/metrics.ts'
import { examineMoments } from './oracle/moments.ts'
import { examineNearness } from './oracle/nearness.ts'
import { examinePeople } from './oracle/people.ts'
import { examinePlayers } from './oracle/players.ts'
import { examineRepairedFeeds } from './oracle/repaired-feeds.ts'
import { readSchema } from './oracle/rows.ts'
import type { Selection } from './oracle/selection.ts'
import { examineSettledFeeds } from './oracle/settled-feeds.ts'
import { examineStreamOff } from './oracle/stream-off.ts'
import { examineSwitchedOff, type Off } from './oracle/switched-off.ts'
import { examineUnread } from './oracle/unread.ts'
import { examineViews } from './oracle/views.ts'
import { clockAt, type Turn } from './oracle/zones.ts'
import type { Processes, Running } from './processes.ts'
import type { Server } from './server.ts'
import { createWishes } from './wishes.ts'

const second = 1_000
const minute = 60 * second
/** The housekeeping comes by every ten minutes, and is done soon after. */
const longestRound = 12 * minute
const hour = 60 * minute
/** By then it is kept what came of the day in which the run began. */
const keptAfter = 12 * hour
/** Rooms are as old as they are kept then, and what came of their day is not kept yet. */
const beforeKept = 27 * hour
/** No answer changes what was so long ago: what is left is what days and rooms are judged by. */
const longAfter = 410 * 24 * hour
/** Shorter than anything is available: nothing is lost by it alone. */
const longestRest = 10 * minute
/** Whoever comes back has given up by then what has left the reach, and has read what had not. */
const untilTakenUp = 5 * minute
/** Until classes that go on are over, and others have begun. */
const furtherClasses = 16 * minute
/** What happened by then is read, an idle room as well. */
const untilRead = 12 * minute

const oracles = [
  ...[examineAnalytics, examineClassroom, examinePlayers, examineHands, examineAskers, examineManners],
  ...[examineNearness, examineBounds, examineMarks, examineLessons, examineDays, examineMoments],
  ...[examineViews, examineStreamOff, examineSwitchedOff, examineUnread],
  ...[examineRepairedFeeds, examineSettledFeeds],
]

/** What is looked at, and what somebody must know of it to judge. */
interface World {
  readonly kernel: Kernel
  readonly server: Server
  readonly sandbox: Sandbox
  readonly processes: Processes
  readonly drawn: Drawn
  /** ms since the epoch */
  readonly start: number
  /** Virtual time with faults, ms. */
  readonly length: number
  readonly rewound: NonNullable<Examination['rewound']>
  readonly hands: () => Hands | undefined
  readonly callLateness: Examination['callLateness']
  readonly feedEvery: Examination['feedEvery']
  readonly resourcesEvery: Examination['resourcesEvery']
  readonly answerBytes: Examination['answerBytes']
  readonly spares: Examination['spares']
  readonly callsAt: DayMoments | undefined
  readonly withoutServers: boolean | undefined
  /** When the configuration was changed, virtual ms. */
  readonly tightenedAt: number | undefined
  readonly lowered: Lowered | undefined
  /** From when to when streams were switched off, virtual ms. */
  readonly switchedOff: readonly Off[] | undefined
  /** What was found when this was played before: where all goes the same way, so would the oracles. */
  readonly before: readonly Findings[] | undefined
}

/** Of one examination, a sentence each. */
export type Findings = readonly string[]

/** Asks the oracles about a run. */
export class Examiner {
  readonly #world: World
  /** Of all examinations so far. */
  readonly found: Findings[] = []

  constructor(world: World) {
    this.#world = world
  }

  async #find(examine: () => Promise<readonly Finding[]>): Promise<Findings> {
    const { before } = this.#world
    // A repetition that needs more examinations has gone another way already, and its trace says so.
    const findings = before ? (before[this.found.length] ?? []) : told(await examine())
    this.found.push(findings)
    return findings
  }

  /** What is found by somebody who also does something: a repetition does it too. */
  async #after(act: () => Promise<readonly Finding[]>): Promise<Findings> {
    const found = await act()
    return this.#find(async () => found)
  }

  /** At the end nothing may be missing; before it all that is said must be true. */
  async examine(isEnd = true): Promise<Findings> {
    const { server } = this.#world
    await server.setTime()
    return this.#find(async () => {
      const examination = this.examination(isEnd)
      const findings: Finding[] = []
      for (const examine of oracles) findings.push(...(await examine(examination)))
      const breaches = await server.rows<{ said: string }>('select said from simulated.breach limit 20')
      return [...findings, ...breaches.map(({ said }) => ({ kind: 'fence', text: said }) as const)]
    })
  }

  /** Everybody sleeps until half of what happened is older than it is kept, then most of it, and the housekeeping comes by. */
  async age(): Promise<Findings> {
    const { kernel, start, length } = this.#world
    const before = await readKept(this.examination())
    const found = [await this.#changeDays()]
    await this.#sleepUntil(beforeKept)
    const early = { from: start + beforeKept, to: start + kernel.now }
    found.push(await this.#find(() => examineAges(this.examination(), before, early)))
    for (const share of [0.55, 0.85]) {
      const waking = Math.ceil(length * share) + kept
      await this.#sleepUntil(waking)
      const moments = { from: start + waking, to: start + kernel.now }
      found.push(await this.#find(() => examineAges(this.examination(), before, moments)))
    }
    const until = Math.floor((start + kernel.now) / hour) * (hour / second)
    const told = await readForEver(this.examination(), until)
    await this.#sleepUntil(kernel.now + longAfter)
    const after = await readForEver(this.examination(), until)
    found.push(await this.#find(async () => examineForEver(told, after)))
    return found.flat()
  }

  /** When it was kept who came on a day that is over, somebody changes one of its classes. */
  async #changeDays(): Promise<Findings> {
    const { kernel, server } = this.#world
    const judge = () => this.#judgePeople()
    await this.#sleepUntil(keptAfter)
    const found = [await judge()]
    await server.rows(
      `with first as (select app_id, room_uuid, incarnation from classroom.attendance where action = 'leave' order by at limit 1),
            stays as (update classroom.attendance a set action = 'enter' from first f
                      where (a.app_id, a.room_uuid, a.incarnation) = (f.app_id, f.room_uuid, f.incarnation) returning 1)
       select count(*) from stays`,
    )
    found.push(await judge())
    await kernel.runUntil(kernel.now + longestRound)
    return [...found, await judge()].flat()
  }

  async #judgePeople(): Promise<Findings> {
    return this.#find(async () => {
      const examination = this.examination()
      return examinePeople(examination, await readSchema(examination, 'classroom'))
    })
  }

  /** Nobody is there until another day, on which classes go on for a while. */
  async goOn(at: number): Promise<Findings> {
    const { kernel, sandbox } = this.#world
    await this.#sleepUntil(at)
    sandbox.universe.resume()
    await kernel.runUntil(kernel.now + furtherClasses)
    sandbox.universe.pause()
    await kernel.runUntil(kernel.now + untilRead)
    const days = await this.#find(async () => {
      const examination = this.examination()
      return [...(await examineDays(examination)), ...(await examineViews(examination))]
    })
    return [...(await this.#judgePeople()), ...days]
  }

  /** All end, come back at a moment, and the housekeeping comes by. */
  async #sleepUntil(waking: number): Promise<void> {
    const { kernel, server } = this.#world
    if (waking > kernel.now + hour) {
      await this.#sleep()
      await kernel.runUntil(waking)
      await this.#wake()
    }
    await kernel.runUntil(waking + longestRound)
    await server.setTime()
  }

  /** Everybody sleeps for a while from that moment on, ms: what leaves the reach meanwhile is given up at one time. */
  async rest(from: number): Promise<Findings> {
    const { kernel, server } = this.#world
    await kernel.runUntil(from)
    await this.#sleep()
    await kernel.runUntil(kernel.now + longestRest)
    await this.#wake()
    await kernel.runUntil(kernel.now + untilTakenUp)
    await server.setTime()
    return this.#find(() => examineAnalytics(this.examination()))
  }

  async #sleep(): Promise<void> {
    const { kernel, processes } = this.#world
    const ended = processes.sleep()
    await kernel.runUntil(kernel.now + 2 * minute)
    await ended
  }

  async #wake(): Promise<void> {
    const { processes, drawn } = this.#world
    if (processes.living().length > 0) return
    processes.wake()
    for (let n = 0; n < drawn.processes; n++) await processes.boot(`slot${n}`)
  }

  #wishes() {
    const { kernel, server, start, length } = this.#world
    return createWishes({
      ...{ kernel, server, hands: this.#world.hands()!, examination: () => this.examination() },
      ...{ from: start / second, to: (start + length) / second },
    })
  }

  /** An operator takes everyone out who was in a room, however often that was used. */
  async part(): Promise<Findings> {
    return this.#after(() => this.#wishes().forgetRoom())
  }

  /** An operator has fetched once more what was given up, and what there is; and then takes people out of all of it. */
  async grant(): Promise<Findings> {
    const wishes = this.#wishes()
    const owed = await this.#after(() => wishes.fetchAgain())
    const untrue = await this.examine()
    const rebuilt = await this.#after(() => wishes.replay())
    const forgotten = await this.#after(() => wishes.forget())
    return [...owed, ...untrue, ...rebuilt, ...forgotten, ...(await this.#after(() => wishes.forgetClass()))]
  }

  /** Whoever collects figures comes by long before they are judged: what is no more must not be told then as it was. */
  collect(): void {
    // Who is on the way to the database, or dies, tells nothing.
    for (const { daemon } of this.#world.processes.living()) daemon.scrape().catch(() => {})
  }

  /** What the daemons export while time stands nearly still: they ask the database for it. */
  async examineMetrics(): Promise<Findings> {
    const { kernel, processes } = this.#world
    // Figures that add up are right the first time.
    const first = Promise.all(processes.living().map(({ daemon }) => daemon.scrape()))
    await kernel.runUntil(kernel.now + 5 * second)
    await first
    const before = await readStates(this.examination())
    await kernel.runUntil(kernel.now + oldestExported)
    const scrapes: Scrape[] = []
    const scrape = async ({ process, daemon }: Running) => {
      const text = await daemon.scrape()
      const { verdict } = await daemon.status()
      const { name, requests = 0, arrived = [] } = process
      scrapes.push({ process: name, text, verdict, requests, arrived, now: kernel.clockOf(process).now() })
    }
    const scraped = Promise.all(processes.living().map(scrape))
    await kernel.runUntil(kernel.now + 5 * second)
    await scraped
    return this.#find(() => examineMetrics(this.examination(), scrapes, before))
  }

  examination(isEnd = true): Examination {
    const { kernel, server, sandbox, processes, drawn, start, length, rewound } = this.#world
    const { callLateness, feedEvery, tightenedAt, spares, callsAt, withoutServers = false } = this.#world
    const { lowered, switchedOff = [], answerBytes, resourcesEvery } = this.#world
    const { apps, spells, unreadable, classes, config, series, listEvery, roomsEvery } = drawn
    const { zone, users, selection } = drawn
    const hands = this.#world.hands()
    return {
      ...{ sandbox, rows: text => server.rows(text) as never, isEnd, faults: spells, unreadable, listEvery },
      roomsEvery,
      ...{ start, healed: start + length, end: start + kernel.now },
      ...(hands && {
        ...{ hands: hands.done, creates: hands.creates, byHand: hands.arrived },
        ...{ marks: hands.marks, lessons: hands.lessons },
        ...{ wanted: hands.wanted, closedLetters: hands.closedLetters() },
      }),
      apps: apps.map(({ id, contract }) => ({
        id,
        plan: lowered?.app === id ? lowered.plan : contract,
        regions: /region: \[/.test(config) ? ['eu', 'ap'] : ['eu'],
      })),
      ...{ isShared: true, rewound, outages: server.outages },
      askers: processes.all.map(({ name, arrived = [], stoodStill = [], diedAt = Infinity }) => ({
        ...{ name, arrived, diedAt: start + diedAt },
        stoodStill: stoodStill.map(({ from, to }) => ({ from: start + from, to: start + to })),
      })),
      clocks: processes.all.flatMap(({ clockSettings = [], diedAt = kernel.now }) =>
        clockSettings.map(({ from, ahead }, n) => {
          return { from: start + from, to: start + (clockSettings[n + 1]?.from ?? diedAt), ahead }
        }),
      ),
      ...(series && { series }),
      ...(selection && { selection: since(start, selection) }),
      ...(zone && { turns: zones[zone] }),
      ...{ users },
      ...(callLateness !== undefined && { callLateness }),
      ...(feedEvery !== undefined && { feedEvery }),
      ...(resourcesEvery !== undefined && { resourcesEvery }),
      ...(spares !== undefined && { spares }),
      ...(answerBytes !== undefined && { answerBytes }),
      withoutServers,
      ...(callsAt && { callsAt: momentsOf(callsAt, zone ? zones[zone] : [], [start, start + kernel.now]) }),
      ...(tightenedAt !== undefined && { tightenedAt: start + tightenedAt }),
      ...(lowered && {
        lowered: {
          app: lowered.app,
          at: start + lowered.at,
          from: apps.find(({ id }) => id === lowered.app)!.contract,
        },
      }),
      switchedOff: switchedOff.map(({ from, to, ...of }) => ({ ...of, from: start + from, to: start + to })),
      isDiscreet: /^store:/m.test(config),
      isCalm: classes.every(one => one === 'spells' || one === 'latency'),
      isUnbroken: classes.every(one => borne.has(one)),
      isPrompt: !classes.includes('latency') && !classes.includes('slow answer'),
      isPaused: classes.includes('stall'),
      isInterrupted: classes.some(one => one === 'kill' || one === 'stall' || one === 'hand-over'),
    }
  }
}

/** A moment of the run becomes one of the world. */
function since(start: number, { narrowed, ...selection }: Selection): Selection {
  return { ...selection, ...(narrowed && { narrowed: { ...narrowed, at: start + narrowed.at } }) }
}

/** Of some time, ms since the epoch, by the clocks of a place. */
function momentsOf(
  { hours, minutes }: DayMoments,
  turns: readonly Turn[],
  [from, to]: readonly [number, number],
): readonly number[] {
  const first = Math.ceil(from / minute) * minute
  const all = Array.from(
    { length: Math.max(0, Math.ceil((to - first) / minute)) },
    (_, n) => first + n * minute,
  )
  return all.filter(at => {
    const there = new Date(clockAt(turns, at))
    return hours.includes(there.getUTCHours()) && minutes.includes(there.getUTCMinutes())
  })
}

function told(findings: readonly Finding[]): Findings {
  return findings.map(({ kind, text }) => `${kind}: ${text}`)
}

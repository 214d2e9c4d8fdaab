import type { Clock } from '../clock/clock.ts'
import type { CursorStream } from '../streams/stream.ts'
import { type Agenda, createAgenda } from './agenda.ts'
import { createHeard, type Heard } from './heard.ts'
import type { Learnt } from './visit.ts'

/** The series of one stream of an app: which are due when, and which are being visited. */
export interface Lane {
  readonly stream: CursorStream
  readonly learnt: Learnt
  /** Plans a visit within `within` ms. An earlier plan stays; a series under visit is visited once more. */
  readonly want: (series: string, within: number) => void
  /**
   * Plans a visit for someone who may ask as often as he likes: at once, and then not again before `gap` ms have
   * passed, so that all who ask meanwhile are served together. After a failure the next try comes when it would anyway.
   */
  readonly wish: (series: string, gap: number) => void
  /** Plans a visit at once, unless one is under way. */
  readonly ensure: (series: string) => void
  /** Begins the visit that is due first where fewer than `concurrency` are under way; undefined when there is none. */
  readonly take: (concurrency: number) => string | undefined
  /** Ends a visit; `within` ms the next one is due, unless something asked for an earlier one meanwhile. */
  readonly end: (series: string, within: number | undefined) => void
  /** Whether the series is neither under visit nor due. */
  readonly rests: (series: string) => boolean
  /** Nothing is planned for the series any more. */
  readonly drop: (series: string) => void
  /** When a visit is due and has a free place, on the monotonic clock, ms; Infinity without one. */
  readonly next: (concurrency: number) => number
  /** How many series are due and wait for a place, and how late the first of them is, ms. */
  readonly lateness: () => { readonly series: number; readonly lateBy: number }
  /** Counts one more failed visit in a row, and answers how many there were. */
  readonly fail: (series: string) => number
  readonly succeed: (series: string) => void
  /** What a reading that has begun and not ended has asked so far; kept by the visits. */
  readonly asked: (series: string) => Set<string | null>
}

/** What is asked in one region; what waits there takes nothing from the others. */
interface Place {
  readonly agenda: Agenda<string>
  /** How many visits are under way. */
  visits: number
}

interface Underway {
  readonly place: Place
  /** When the series is due again by what was heard meanwhile. */
  again: number
}

/** `regionOf`: where a series is asked for by now. */
export function createLane(stream: CursorStream, clock: Clock, regionOf: (series: string) => string): Lane {
  const places = new Map<string, Place>()
  const visiting = new Map<string, Underway>()
  const failures = new Map<string, number>()
  /** When the last visits are or were due that were wished for. */
  const wishes = new Map<string, number>()
  const readings = new Map<string, Set<string | null>>()
  const heard = new Map<string, Heard>()

  function heardOf(series: string): Heard {
    const known = heard.get(series) ?? createHeard()
    heard.set(series, known)
    return known
  }

  function placeOf(series: string): Place {
    const region = regionOf(series)
    const known = places.get(region) ?? { agenda: createAgenda(), visits: 0 }
    places.set(region, known)
    return known
  }

  function agendas(): readonly Agenda<string>[] {
    return [...places.values()].map(({ agenda }) => agenda)
  }

  function dueOf(series: string): number {
    return Math.min(...agendas().map(agenda => agenda.dueOf(series) ?? Infinity))
  }

  function plan(series: string, due: number): void {
    const { agenda } = placeOf(series)
    const earlier = dueOf(series)
    if (earlier <= due && agenda.dueOf(series) === earlier) return
    for (const each of agendas()) each.remove(series)
    agenda.put(series, Math.min(due, earlier), series)
  }

  function want(series: string, due: number): void {
    const visit = visiting.get(series)
    if (visit) visit.again = Math.min(visit.again, due)
    else plan(series, due)
  }

  /** Where a visit may begin whose turn it is, and where one will be due. */
  function firstFree(concurrency: number): Place | undefined {
    const free = [...places.values()].filter(({ visits }) => visits < concurrency)
    return free.sort((a, b) => (a.agenda.next() ?? Infinity) - (b.agenda.next() ?? Infinity))[0]
  }

  return {
    stream,
    learnt: { refusedTails: 0, heard: heardOf },
    want: (series, within) => want(series, clock.monotonic() + within),
    wish: (series, gap) => {
      if (failures.has(series)) return
      const now = clock.monotonic()
      const last = wishes.get(series) ?? Number.NEGATIVE_INFINITY
      const due = last > now ? last : Math.max(now, last + gap)
      wishes.set(series, due)
      want(series, due)
    },
    ensure: series => {
      if (!visiting.has(series)) plan(series, clock.monotonic())
    },
    take: concurrency => {
      const place = firstFree(concurrency)
      const series = place?.agenda.take(clock.monotonic())
      if (!place || series === undefined) return undefined
      place.visits += 1
      visiting.set(series, { place, again: Infinity })
      return series
    },
    end: (series, within) => {
      const visit = visiting.get(series)
      if (visit) visit.place.visits -= 1
      visiting.delete(series)
      if (readings.get(series)?.size === 0) readings.delete(series)
      const due = Math.min(visit?.again ?? Infinity, clock.monotonic() + (within ?? Infinity))
      if (due < Infinity) plan(series, due)
    },
    rests: series => !visiting.has(series) && dueOf(series) > clock.monotonic(),
    drop: series => {
      for (const agenda of agendas()) agenda.remove(series)
      const visit = visiting.get(series)
      if (visit) visit.again = Infinity
      failures.delete(series)
      wishes.delete(series)
      readings.delete(series)
    },
    next: concurrency => firstFree(concurrency)?.agenda.next() ?? Infinity,
    lateness: () => {
      const now = clock.monotonic()
      const series = agendas().reduce((sum, agenda) => sum + agenda.countDue(now), 0)
      const next = Math.min(...agendas().map(agenda => agenda.next() ?? Infinity))
      return { series, lateBy: series > 0 ? now - next : 0 }
    },
    fail: series => {
      const row = (failures.get(series) ?? 0) + 1
      failures.set(series, row)
      return row
    },
    succeed: series => {
      failures.delete(series)
    },
    asked: series => {
      const known = readings.get(series)
      if (known) return known
      const none = new Set<string | null>()
      readings.set(series, none)
      return none
    },
  }
}

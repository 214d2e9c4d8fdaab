import type { Clock } from '../clock/clock.ts'
import type { CursorStream } from '../streams/stream.ts'
import { createAgenda } from './agenda.ts'
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
  /** Begins the visit that is due first, unless `concurrency` are under way; undefined when there is none. */
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

export function createLane(stream: CursorStream, clock: Clock): Lane {
  const agenda = createAgenda<string>()
  /** Series under visit, and when they are due again by what was heard meanwhile. */
  const visiting = new Map<string, number>()
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

  function plan(series: string, due: number): void {
    if (due < (agenda.dueOf(series) ?? Infinity)) agenda.put(series, due, series)
  }

  function want(series: string, due: number): void {
    const again = visiting.get(series)
    if (again === undefined) plan(series, due)
    else visiting.set(series, Math.min(again, due))
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
      if (visiting.size >= concurrency) return undefined
      const series = agenda.take(clock.monotonic())
      if (series !== undefined) visiting.set(series, Infinity)
      return series
    },
    end: (series, within) => {
      const asked = visiting.get(series) ?? Infinity
      visiting.delete(series)
      if (readings.get(series)?.size === 0) readings.delete(series)
      const due = Math.min(asked, clock.monotonic() + (within ?? Infinity))
      if (due < Infinity) plan(series, due)
    },
    rests: series => !visiting.has(series) && (agenda.dueOf(series) ?? Infinity) > clock.monotonic(),
    drop: series => {
      agenda.remove(series)
      if (visiting.has(series)) visiting.set(series, Infinity)
      failures.delete(series)
      wishes.delete(series)
      readings.delete(series)
    },
    next: concurrency => (visiting.size < concurrency ? (agenda.next() ?? Infinity) : Infinity),
    lateness: () => {
      const now = clock.monotonic()
      const series = agenda.countDue(now)
      return { series, lateBy: series > 0 ? now - agenda.next()! : 0 }
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

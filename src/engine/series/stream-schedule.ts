import type { Clock } from '../../clock/clock.ts'
import type { CursorStream } from '../../streams/stream.ts'
import { createDelayQueue, type DelayQueue } from './delay-queue.ts'
import { createHeard, type Heard } from './feed.ts'
import type { TailMemory } from './sync.ts'

/** The series of one stream of an app: which are due when, and which are being synced. */
export interface StreamSchedule {
  readonly stream: CursorStream
  readonly tailMemory: TailMemory
  /** Plans a sync within `within` ms. An earlier plan stays; a series under sync is synced once more. */
  readonly schedule: (series: string, within: number) => void
  /**
   * Plans a sync for someone who may ask as often as he likes: at once, and then not again before `gap` ms have
   * passed, so that all who ask meanwhile are served together. After a failure the next try comes when it would anyway.
   */
  readonly scheduleDebounced: (series: string, gap: number) => void
  /** Plans a sync at once, unless one is under way. */
  readonly scheduleIfIdle: (series: string) => void
  /** Begins the sync that is due first where there is a place for it; undefined when there is none. */
  readonly take: (places: Places) => string | undefined
  /** A page of the series is being stored from now on, and its place is free for another sync; or is so no more. */
  readonly stores: (series: string, isStoring: boolean) => void
  /** Ends a sync; `within` ms the next one is due, unless something asked for an earlier one meanwhile. */
  readonly end: (series: string, within: number | undefined) => void
  /** Whether the series is neither under sync nor due. */
  readonly rests: (series: string) => boolean
  /** Nothing is planned for the series any more. */
  readonly drop: (series: string) => void
  /** When a sync is due and has a free place, on the monotonic clock, ms; Infinity without one. */
  readonly next: (places: Places) => number
  /** How many series are due and wait for a place, and how late the first of them is, ms. */
  readonly lateness: () => { readonly series: number; readonly lateBy: number }
  /** Counts one more failed sync in a row, and answers how many there were. */
  readonly fail: (series: string) => number
  readonly succeed: (series: string) => void
  /** What a reading that has begun and not ended has asked so far; kept by the syncs. */
  readonly asked: (series: string) => Set<string | null>
}

/** How many syncs of a stream may be under way at one time, in each region. */
export interface Places {
  /** Those that ask. */
  readonly asking: number
  /** Those whose page is being stored meanwhile. */
  readonly storing: number
}

/** What is asked in one region; what waits there takes nothing from the others. */
interface Place {
  readonly delayQueue: DelayQueue<string>
  /** How many syncs are under way, and of how many of these a page is being stored. */
  syncs: number
  storing: number
}

interface Underway {
  readonly place: Place
  /** When the series is due again by what was heard meanwhile. */
  again: number
  isStoring: boolean
}

function hasRoom({ syncs, storing }: Place, most: Places): boolean {
  return syncs - storing < most.asking && syncs < most.asking + most.storing
}

/** `regionOf`: where a series is asked for by now. */
export function createStreamSchedule(
  stream: CursorStream,
  clock: Clock,
  regionOf: (series: string) => string,
): StreamSchedule {
  const places = new Map<string, Place>()
  const syncing = new Map<string, Underway>()
  const failures = new Map<string, number>()
  /** When the last syncs are or were due that were wished for. */
  const debounced = new Map<string, number>()
  const readings = new Map<string, Set<string | null>>()
  const heard = new Map<string, Heard>()

  function heardOf(series: string): Heard {
    const known = heard.get(series) ?? createHeard()
    heard.set(series, known)
    return known
  }

  function placeOf(series: string): Place {
    const region = regionOf(series)
    const known = places.get(region) ?? { delayQueue: createDelayQueue(), syncs: 0, storing: 0 }
    places.set(region, known)
    return known
  }

  function agendas(): readonly DelayQueue<string>[] {
    return [...places.values()].map(({ delayQueue }) => delayQueue)
  }

  function dueOf(series: string): number {
    return Math.min(...agendas().map(delayQueue => delayQueue.dueOf(series) ?? Infinity))
  }

  function plan(series: string, due: number): void {
    const { delayQueue } = placeOf(series)
    const earlier = dueOf(series)
    if (earlier <= due && delayQueue.dueOf(series) === earlier) return
    for (const each of agendas()) each.remove(series)
    delayQueue.put(series, Math.min(due, earlier), series)
  }

  function schedule(series: string, due: number): void {
    const sync = syncing.get(series)
    if (sync) sync.again = Math.min(sync.again, due)
    else plan(series, due)
  }

  /** Where a sync may begin whose turn it is, and where one will be due. */
  function firstFree(room: Places): Place | undefined {
    const free = [...places.values()].filter(place => hasRoom(place, room))
    return free.sort((a, b) => (a.delayQueue.next() ?? Infinity) - (b.delayQueue.next() ?? Infinity))[0]
  }

  return {
    stream,
    tailMemory: { refusedTails: 0, heard: heardOf, stands: new Map() },
    schedule: (series, within) => schedule(series, clock.monotonic() + within),
    scheduleDebounced: (series, gap) => {
      if (failures.has(series)) return
      const now = clock.monotonic()
      const last = debounced.get(series) ?? Number.NEGATIVE_INFINITY
      const due = last > now ? last : Math.max(now, last + gap)
      debounced.set(series, due)
      schedule(series, due)
    },
    scheduleIfIdle: series => {
      if (!syncing.has(series)) plan(series, clock.monotonic())
    },
    take: free => {
      const place = firstFree(free)
      const series = place?.delayQueue.take(clock.monotonic())
      if (!place || series === undefined) return undefined
      place.syncs += 1
      syncing.set(series, { place, again: Infinity, isStoring: false })
      return series
    },
    stores: (series, isStoring) => {
      const sync = syncing.get(series)
      if (!sync || sync.isStoring === isStoring) return
      sync.isStoring = isStoring
      sync.place.storing += isStoring ? 1 : -1
    },
    end: (series, within) => {
      const sync = syncing.get(series)
      if (sync) sync.place.syncs -= 1
      syncing.delete(series)
      if (readings.get(series)?.size === 0) readings.delete(series)
      const due = Math.min(sync?.again ?? Infinity, clock.monotonic() + (within ?? Infinity))
      if (due < Infinity) plan(series, due)
    },
    rests: series => !syncing.has(series) && dueOf(series) > clock.monotonic(),
    drop: series => {
      for (const delayQueue of agendas()) delayQueue.remove(series)
      const sync = syncing.get(series)
      if (sync) sync.again = Infinity
      failures.delete(series)
      debounced.delete(series)
      readings.delete(series)
    },
    next: free => firstFree(free)?.delayQueue.next() ?? Infinity,
    lateness: () => {
      const now = clock.monotonic()
      const series = agendas().reduce((sum, delayQueue) => sum + delayQueue.countDue(now), 0)
      const next = Math.min(...agendas().map(delayQueue => delayQueue.next() ?? Infinity))
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

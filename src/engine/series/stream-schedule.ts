import type { Clock } from '../../clock/clock.ts'
import type { CursorStream } from '../../streams/stream.ts'
import { createDelayQueue, type DelayQueue } from './delay-queue.ts'
import { createHeard, type Heard } from './feed.ts'
import type { TailMemory } from './sync.ts'

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

interface Failing {
  /** Failed syncs in a row. */
  row: number
  /** When the first of them ended, on the monotonic clock, ms. */
  readonly since: number
  /** The place where it reads is at fault: the next sync begins anew. */
  isStuck: boolean
}

interface Underway {
  readonly place: Place
  /** When the series is due again by what was heard meanwhile. */
  again: number
  isStoring: boolean
}

/**
 * The series of one stream of an app: which are due when, and which are being synced. There are many of these in which nothing
 * ever happens, so a map is made when it is needed.
 */
export class StreamSchedule {
  readonly stream: CursorStream
  readonly #clock: Clock
  readonly #memory: number
  readonly #regionOf: (series: string) => string
  #places: Map<string, Place> | undefined
  #syncing: Map<string, Underway> | undefined
  #failures: Map<string, Failing> | undefined
  /** When the last syncs are or were due that were wished for. */
  #debounced: Map<string, number> | undefined
  #readings: Map<string, Set<string | null>> | undefined
  #tailMemory: TailMemory | undefined

  /** `memory`: how long the provider remembers a room, ms; `regionOf`: where a series is asked for by now. */
  constructor(stream: CursorStream, clock: Clock, memory: number, regionOf: (series: string) => string) {
    this.stream = stream
    this.#clock = clock
    this.#memory = memory
    this.#regionOf = regionOf
  }

  get tailMemory(): TailMemory {
    if (this.#tailMemory) return this.#tailMemory
    const heard = new Map<string, Heard>()
    const heardOf = (series: string) => {
      const known = heard.get(series) ?? createHeard(this.#clock, this.#memory)
      heard.set(series, known)
      return known
    }
    this.#tailMemory = { refusedTails: 0, unaskedTails: 0, heard: heardOf, stands: new Map() }
    return this.#tailMemory
  }

  /** Plans a sync within `within` ms. An earlier plan stays; a series under sync is synced once more. */
  schedule(series: string, within: number): void {
    this.#scheduleAt(series, this.#clock.monotonic() + within)
  }

  /**
   * Plans a sync for someone who may ask as often as he likes: at once, and then not again before `gap` ms have
   * passed, so that all who ask meanwhile are served together. After a failure the next try comes when it would anyway.
   */
  scheduleDebounced(series: string, gap: number): void {
    if (this.isFailing(series)) return
    const now = this.#clock.monotonic()
    this.#debounced ??= new Map()
    const last = this.#debounced.get(series) ?? Number.NEGATIVE_INFINITY
    const due = last > now ? last : Math.max(now, last + gap)
    this.#debounced.set(series, due)
    this.#scheduleAt(series, due)
  }

  /** Plans a sync at once, unless one is under way. */
  scheduleIfIdle(series: string): void {
    if (!this.#syncing?.has(series)) this.#plan(series, this.#clock.monotonic())
  }

  /** Begins the sync that is due first where there is a place for it; undefined when there is none. */
  take(free: Places): string | undefined {
    const place = this.#firstFree(free)
    const series = place?.delayQueue.take(this.#clock.monotonic())
    if (!place || series === undefined) return undefined
    place.syncs += 1
    this.#syncing ??= new Map()
    this.#syncing.set(series, { place, again: Infinity, isStoring: false })
    return series
  }

  /** A page of the series is being stored from now on, and its place is free for another sync; or is so no more. */
  stores(series: string, isStoring: boolean): void {
    const sync = this.#syncing?.get(series)
    if (!sync || sync.isStoring === isStoring) return
    sync.isStoring = isStoring
    sync.place.storing += isStoring ? 1 : -1
  }

  /** Ends a sync; `within` ms the next one is due, unless something asked for an earlier one meanwhile. */
  end(series: string, within: number | undefined): void {
    const sync = this.#syncing?.get(series)
    if (sync) sync.place.syncs -= 1
    this.#syncing?.delete(series)
    if (this.#readings?.get(series)?.size === 0) this.#readings.delete(series)
    const due = Math.min(sync?.again ?? Infinity, this.#clock.monotonic() + (within ?? Infinity))
    if (due < Infinity) this.#plan(series, due)
  }

  /** In how many ms the series is due; 0 while it is under sync. */
  restsFor(series: string): number {
    return this.#syncing?.has(series) ? 0 : this.#dueOf(series) - this.#clock.monotonic()
  }

  /** Nothing is planned for the series any more. */
  drop(series: string): void {
    for (const delayQueue of this.#agendas()) delayQueue.remove(series)
    const sync = this.#syncing?.get(series)
    if (sync) sync.again = Infinity
    for (const known of [this.#failures, this.#debounced, this.#readings]) known?.delete(series)
  }

  /** When a sync is due and has a free place, on the monotonic clock, ms; Infinity without one. */
  next(free: Places): number {
    return this.#firstFree(free)?.delayQueue.next() ?? Infinity
  }

  /** How many series are due and wait for a place, and how late the first of them is, ms. */
  lateness(): { readonly series: number; readonly lateBy: number } {
    const now = this.#clock.monotonic()
    let series = 0
    let next = Infinity
    for (const { delayQueue } of this.#places?.values() ?? []) {
      series += delayQueue.countDue(now)
      next = Math.min(next, delayQueue.next() ?? Infinity)
    }
    return { series, lateBy: series > 0 ? now - next : 0 }
  }

  /** Counts one more failed sync in a row, and answers how many there were. */
  fail(series: string): number {
    this.#failures ??= new Map()
    const failing = this.#failures.get(series) ?? { row: 0, since: this.#clock.monotonic(), isStuck: false }
    this.#failures.set(series, failing)
    failing.row += 1
    return failing.row
  }

  /** Since when its syncs have failed, on the monotonic clock, ms; undefined where the last one did not. */
  failingSince(series: string): number | undefined {
    return this.#failures?.get(series)?.since
  }

  /** The reading that failed begins anew with the next sync. */
  leavePlace(series: string): void {
    const failing = this.#failures?.get(series)
    if (failing) failing.isStuck = true
  }

  /** Whether the sync that begins now is to begin anew. */
  takeAnew(series: string): boolean {
    const failing = this.#failures?.get(series)
    const isStuck = failing?.isStuck === true
    if (failing) failing.isStuck = false
    return isStuck
  }

  /** Whether its last sync failed. */
  isFailing(series: string): boolean {
    return this.#failures?.has(series) ?? false
  }

  succeed(series: string): void {
    this.#failures?.delete(series)
  }

  /** What a reading that has begun and not ended has asked so far; kept by the syncs. */
  asked(series: string): Set<string | null> {
    this.#readings ??= new Map()
    const known = this.#readings.get(series) ?? new Set<string | null>()
    this.#readings.set(series, known)
    return known
  }

  #placeOf(series: string): Place {
    const region = this.#regionOf(series)
    this.#places ??= new Map()
    const known = this.#places.get(region) ?? { delayQueue: createDelayQueue(), syncs: 0, storing: 0 }
    this.#places.set(region, known)
    return known
  }

  #agendas(): readonly DelayQueue<string>[] {
    return this.#places ? [...this.#places.values()].map(({ delayQueue }) => delayQueue) : []
  }

  #dueOf(series: string): number {
    return Math.min(...this.#agendas().map(delayQueue => delayQueue.dueOf(series) ?? Infinity))
  }

  #plan(series: string, due: number): void {
    const { delayQueue } = this.#placeOf(series)
    const earlier = this.#dueOf(series)
    if (earlier <= due && delayQueue.dueOf(series) === earlier) return
    for (const each of this.#agendas()) each.remove(series)
    delayQueue.put(series, Math.min(due, earlier), series)
  }

  #scheduleAt(series: string, due: number): void {
    const sync = this.#syncing?.get(series)
    if (sync) sync.again = Math.min(sync.again, due)
    else this.#plan(series, due)
  }

  /** Where a sync may begin whose turn it is, and where one will be due. */
  #firstFree(room: Places): Place | undefined {
    let first: Place | undefined
    let due = Infinity
    for (const place of this.#places?.values() ?? []) {
      const next = place.delayQueue.next() ?? Infinity
      if (!hasRoom(place, room) || (first && next >= due)) continue
      first = place
      due = next
    }
    return first
  }
}

function hasRoom({ syncs, storing }: Place, most: Places): boolean {
  return syncs - storing < most.asking && syncs < most.asking + most.storing
}

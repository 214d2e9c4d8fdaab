import { nextVisit } from '../planning/cadence.ts'
import type { FailureKind } from '../provider/errors.ts'
import type { CursorStream, CursorStreamName, Hint } from '../streams/stream.ts'
import { createAbsences } from './absence.ts'
import type { PollerContext } from './context.ts'
import { afterFault, SOON_MS } from './faults.ts'
import type { FeedGaps } from './feed-gaps.ts'
import type { Lane } from './lane.ts'
import { feedPause, seriesPause } from './reactions.ts'
import { gatekeeper, haveOthersClosed, type Rooms, seriesOf } from './rooms.ts'
import type { VisitResult } from './visit.ts'

/** What the end of a visit means for the visits to come. */
export interface Sequel {
  /** Answers in how many ms the series is visited next; undefined when it is not. */
  readonly after: (lane: Lane, series: string, result: VisitResult) => Promise<number | undefined>
  /** The same after a visit that threw. */
  readonly afterError: (lane: Lane, series: string, error: unknown) => number
  /** Holds a series back until the room's log has been read; false where the log may be trusted. */
  readonly waitsForLog: (stream: CursorStream, room: string) => boolean
}

export interface SequelContext {
  readonly context: PollerContext
  readonly rooms: Rooms
  readonly feedGaps: FeedGaps
  readonly want: (stream: CursorStreamName, series: string, within: number) => void
  /** Has the log of a room read at once, unless it is being read. */
  readonly readLog: (room: string) => void
  readonly drop: (room: string) => void
}

/** A stream that says so often in a row that its room is not there waits for news of the room. */
const DENIALS_THAT_CLOSE = 3

/** The nextId itself may be at fault, whatever the answers to it say. */
const TRIES_AT_A_PLACE = 3

/** Ways in which an answer came and cannot be read. */
const unreadable: ReadonlySet<FailureKind> = new Set(['malformed', 'too_large'])

export function createSequel({ context, rooms, feedGaps, want, readLog, drop }: SequelContext): Sequel {
  const { app, clock, random, store, log, health } = context
  const absences = createAbsences(clock)

  async function after(lane: Lane, series: string, result: VisitResult): Promise<number | undefined> {
    const { stream } = lane
    rooms.learn(series, result.life, result.opened)
    tell(result.hints, stream.name)
    switch (result.end) {
      case 'done':
      case 'more':
        health.worked()
        lane.succeed(series)
        return stream.scope === 'app' ? afterWhole(stream, result) : afterReading(stream.name, series, result)
      case 'failed':
      case 'looped':
        if (stream.kind === 'feed') feedGaps.suspect()
        if (stream.name === gatekeeper && (await showsRoom(series, result))) letOthersIn(series)
        if (isLogMissing(stream, result) && absences.missed(series, 'log')) return afterEnd(series)
        return pauseOf(stream)(result.failure, failuresOf(lane, series, result), random.next())
      case 'gone':
        return afterGone(lane, series, result)
      case 'unaskable':
        return afterUnaskable(stream.name, series)
      case 'busy':
        return random.next() * SOON_MS
      case 'late':
        return 0
      case 'unverified':
        rooms.distrust(series)
        return afterUnverified(lane, series)
      case 'fenced':
        if (stream.kind === 'feed') feedGaps.suspect()
        context.onFenced()
        // Whoever lost the shard is stopped by then; else it was ours again all the time.
        return context.settings.renewEvery
      case 'stopped':
        return undefined
    }
  }

  /** Failures in a row on which a reading came no further; who goes on at one place for long begins anew. */
  function failuresOf(lane: Lane, series: string, { isFurther }: VisitResult): number {
    if (isFurther) lane.succeed(series)
    const row = lane.fail(series)
    if (row % TRIES_AT_A_PLACE === 0) lane.asked(series).clear()
    return row
  }

  function isLogMissing({ name }: CursorStream, { failure }: VisitResult): boolean {
    return name === gatekeeper && failure?.kind === 'not_found'
  }

  /** Pages that were read show whose room it is; one that cannot be read shows no more than that there is one. */
  async function showsRoom(room: string, { end, failure }: VisitResult): Promise<boolean> {
    if (end === 'looped') return true
    if (!failure || !unreadable.has(failure.kind) || rooms.isVerified(room)) return false
    return store.vouchFor(context.fence(), app.id, room)
  }

  function pauseOf({ kind }: CursorStream): typeof seriesPause {
    return kind === 'feed' ? feedPause : seriesPause
  }

  /** What is of the whole app was read to its end, unless it is a feed that has more to tell. */
  function afterWhole({ kind, name }: CursorStream, { end }: VisitResult): number {
    if (kind === 'feed') feedGaps.heard(end === 'done' ? 'all' : 'a part')
    return end === 'more' ? 0 : rooms.settings(name).activeEvery
  }

  /** The log goes first, at once; where that did not help either, there is time. */
  function afterUnverified(lane: Lane, series: string): number | undefined {
    const row = lane.fail(series)
    if (row > 1) return seriesPause(undefined, row, random.next())
    return waitsForLog(lane.stream, series) ? undefined : SOON_MS
  }

  function tell(hints: readonly Hint[], from: CursorStreamName): void {
    for (const hint of hints) {
      for (const { stream, within } of rooms.heed(hint, from)) want(stream, hint.room, within)
    }
  }

  function waitsForLog({ scope, name }: CursorStream, room: string): boolean {
    if (scope === 'app' || name === gatekeeper || rooms.isVerified(room)) return false
    seriesOf(rooms.find(room) ?? rooms.add(room, 'hint'), name).held = true
    if (!absences.isDenied(room)) readLog(room)
    return true
  }

  async function afterReading(
    stream: CursorStreamName,
    name: string,
    { fresh, unfinished, undecided, end }: VisitResult,
  ): Promise<number | undefined> {
    const room = rooms.find(name) ?? rooms.add(name, 'hint')
    const memory = seriesOf(room, stream)
    if (stream === gatekeeper) absences.served(name)
    if (stream === gatekeeper && !undecided) letOthersIn(name)
    if (end === 'more') return 0
    const cadence = rooms.settings(stream)
    const state = { quiet: memory.quiet, endedAt: room.life?.endedAt }
    const next = nextVisit(cadence, state, { news: fresh > 0, unfinished }, clock.now(), random.next())
    if (next.kind === 'visit') {
      memory.quiet = next.quiet
      return next.after
    }
    if (stream === gatekeeper && !haveOthersClosed(room)) return cadence.idleEvery
    await store.closeSeries(context.fence(), app.id, stream, name)
    memory.closed = true
    if (stream === gatekeeper) forget(name)
    return undefined
  }

  /** The log was read: streams that waited for it, or that have not met the room yet, may go. */
  function letOthersIn(name: string): void {
    const room = rooms.find(name) ?? rooms.add(name, 'hint')
    room.verifiedAt = clock.monotonic()
    for (const stream of rooms.streams()) {
      if (stream === gatekeeper) continue
      const isNew = !room.series.has(stream)
      const memory = seriesOf(room, stream)
      if (!isNew && !memory.held) continue
      memory.held = false
      want(stream, name, 0)
    }
  }

  /**
   * Only the log of a room decides whether it is gone, and not by one answer alone; a room of which no more than its name
   * is known need not be there.
   */
  async function afterGone({ stream, fail }: Lane, name: string, { failure }: VisitResult) {
    const room = rooms.find(name)
    if (stream.name === gatekeeper) {
      if (!room || absences.missed(name, 'room')) return afterEnd(name)
      rooms.distrust(name)
      return seriesPause(failure, fail(name), random.next())
    }
    if (!room) return undefined
    readLog(name)
    const row = fail(name)
    if (row < DENIALS_THAT_CLOSE) return seriesPause(failure, row, random.next())
    seriesOf(room, stream.name).closed = true
    return undefined
  }

  async function afterEnd(name: string): Promise<undefined> {
    await store.forgetRoom(context.fence(), app.id, name)
    forget(name)
    log.info('the provider no longer knows a room; its log is final', { app: app.id })
  }

  /** Nothing of the room can be read; what the feed tells of it is stored all the same. */
  async function afterUnaskable(stream: CursorStreamName, name: string): Promise<undefined> {
    if (stream !== gatekeeper) {
      readLog(name)
      return
    }
    for (const one of rooms.streams()) await store.closeSeries(context.fence(), app.id, one, name)
    forget(name)
  }

  function forget(room: string): void {
    rooms.forget(room)
    absences.forget(room)
    drop(room)
  }

  function afterError(lane: Lane, series: string, error: unknown): number {
    if (lane.stream.kind === 'feed') feedGaps.suspect()
    return afterFault(context, lane.stream.name, error, () => lane.fail(series))
  }

  return { after, afterError, waitsForLog }
}

import { nextSync } from '../../planning/cadence.ts'
import type { Failure, FailureKind } from '../../provider/errors.ts'
import type { CursorStream, Hint, StreamName } from '../../streams/stream.ts'
import { feedPause, seriesPause } from '../admission/retry-rules.ts'
import { afterFault, SOON_MS } from '../failures.ts'
import type { FeedGaps } from './feed.ts'
import {
  haveOthersClosed,
  type PollerContext,
  parentStream,
  type RoomMemory,
  type Rooms,
  seriesOf,
} from './rooms.ts'
import type { StreamSchedule } from './stream-schedule.ts'
import type { SyncResult } from './sync.ts'
import { createAbsences } from './whereabouts.ts'

/** What the end of a sync means for the syncs to come. */
export interface Rescheduler {
  /** Answers in how many ms the series is synced next; undefined when it is not. */
  readonly after: (
    schedule: StreamSchedule,
    series: string,
    result: SyncResult,
  ) => Promise<number | undefined>
  /** The same after a sync that threw. */
  readonly afterError: (schedule: StreamSchedule, series: string, error: unknown) => number
  /** Holds a series back until the room's log has been read; false where the log may be trusted. */
  readonly waitsForLog: (stream: CursorStream, room: string) => boolean
}

export interface ReschedulerContext {
  readonly context: PollerContext
  readonly rooms: Rooms
  /** Of each feed. */
  readonly feedGaps: (series: string) => FeedGaps
  readonly schedule: (stream: StreamName, series: string, within: number) => void
  /** Has the log of a room read at once, unless it is being read. */
  readonly readLog: (room: string) => void
  readonly drop: (room: string) => void
}

/** A stream that says so often in a row that its room is not there waits for news of the room. */
const DENIALS_THAT_CLOSE = 3

/** No pause that only we chose is longer than this share of the provider's memory of a room. */
const PAUSE_SHARE = 1 / 4

/** The nextId itself may be at fault, whatever the answers to it say. */
const TRIES_AT_A_PLACE = 3

/** Ways in which an answer came and cannot be read. */
const unreadable: ReadonlySet<FailureKind> = new Set(['malformed', 'too_large'])

export function createRescheduler({
  context,
  rooms,
  feedGaps,
  schedule,
  readLog,
  drop,
}: ReschedulerContext): Rescheduler {
  const { app, clock, random, store, log, health } = context
  const regions = app.regions?.map(({ name }) => name) ?? []
  /** Of each region. */
  const absences = new Map([app.region, ...regions].map(region => [region, createAbsences(clock)]))

  async function after(
    schedule: StreamSchedule,
    series: string,
    result: SyncResult,
  ): Promise<number | undefined> {
    const { stream } = schedule
    rooms.learn(series, result.life, result.opened)
    tell(result.hints, stream, series)
    switch (result.end) {
      case 'done':
      case 'more':
        health.worked()
        schedule.succeed(series)
        return stream.scope === 'app'
          ? afterWhole(stream, series, result)
          : afterReading(stream.name, series, result)
      case 'failed':
      case 'looped':
        if (stream.kind === 'feed') feedGaps(series).suspect()
        if (stream.name === parentStream && (await afterNoReading(series, result)) === 'over')
          return afterEnd(series, result.region)
        return pauseAfter(stream, result.failure, failuresOf(schedule, series, result))
      case 'gone':
        return afterGone(schedule, series, result)
      case 'unaskable':
        return afterUnaskable(stream.name, series)
      case 'busy':
        return random.next() * SOON_MS
      case 'late':
        return 0
      case 'unverified':
        rooms.distrust(series)
        return afterUnverified(schedule, series)
      case 'fenced':
        if (stream.kind === 'feed') feedGaps(series).suspect()
        context.onFenced()
        // Whoever lost the shard is stopped by then; else it was ours again all the time.
        return context.settings.renewEvery
      case 'stopped':
        return undefined
    }
  }

  /** Failures in a row on which a reading came no further; who goes on at one place for long begins anew. */
  function failuresOf(schedule: StreamSchedule, series: string, { isFurther }: SyncResult): number {
    if (isFurther) schedule.succeed(series)
    const row = schedule.fail(series)
    if (row % TRIES_AT_A_PLACE === 0) schedule.asked(series).clear()
    return row
  }

  async function afterNoReading(name: string, result: SyncResult): Promise<'over' | 'unread'> {
    const { end, failure, region } = result
    const whereabouts = placed(name)?.whereabouts
    if (failure?.kind === 'not_found' && isMissing(name, 'log', region)) return 'over'
    if (failure?.kind === 'not_found') whereabouts?.followsRumour(region)
    if (end === 'looped') whereabouts?.found(region)
    if (!whereabouts?.isTriedElsewhere() && (await showsRoom(name, result))) letOthersIn(name)
    return 'unread'
  }

  /** Where a room is looked for in several regions, also one of which only the name is known is remembered. */
  function placed(name: string): RoomMemory | undefined {
    return rooms.find(name) ?? (absences.size > 1 ? rooms.add(name, 'name') : undefined)
  }

  /** Whether so many answers of the region say so that the room is over there. */
  function isMissing(name: string, missing: 'log' | 'room', region: string): boolean {
    // Where the room never was, logs that others serve show that the answer speaks of the room alone.
    const witnesses = rooms.find(name)?.whereabouts.wasElsewhere(region) ? [...absences.values()] : []
    const servedAt = Math.max(...witnesses.map(each => each.servedAt()))
    return absences.get(region)!.missed(name, missing, servedAt)
  }

  function forgetAbsences(name: string): void {
    for (const each of absences.values()) each.forget(name)
  }

  /** Pages that were read show whose room it is; one that cannot be read shows no more than that there is one. */
  async function showsRoom(room: string, { end, failure, region, isShown }: SyncResult): Promise<boolean> {
    if (end === 'looped' || isShown) return true
    if (!failure || !unreadable.has(failure.kind) || rooms.isVerified(room)) return false
    return store.vouchFor(context.fence(), app.id, room, region)
  }

  /** What is of a room is asked for again while the provider remembers the room. */
  function pauseAfter(
    { kind, scope, name }: CursorStream,
    failure: Failure | undefined,
    row: number,
  ): number {
    if (kind === 'feed') return feedPause(failure, row, random.next())
    const longest = scope === 'room' ? rooms.settings(name).memory * PAUSE_SHARE : undefined
    return seriesPause(failure, row, random.next(), longest)
  }

  /** What is of the whole app was read to its end, unless it is a feed that has more to tell. */
  function afterWhole({ kind, name }: CursorStream, series: string, { end }: SyncResult): number {
    if (kind === 'feed') feedGaps(series).heard(end === 'done' ? 'all' : 'a part')
    return end === 'more' ? 0 : rooms.settings(name).activeEvery
  }

  /** The log goes first, at once; where that did not help either, there is time. */
  function afterUnverified(schedule: StreamSchedule, series: string): number | undefined {
    const row = schedule.fail(series)
    if (row > 1) return seriesPause(undefined, row, random.next())
    return waitsForLog(schedule.stream, series) ? undefined : SOON_MS
  }

  function tell(hints: readonly Hint[], { kind, name }: CursorStream, series: string): void {
    const region = kind === 'feed' ? series : ''
    for (const hint of hints) {
      for (const { stream, within } of rooms.applyHint(hint, name, region))
        schedule(stream, hint.room, within)
    }
  }

  function waitsForLog({ scope, name }: CursorStream, room: string): boolean {
    if (scope === 'app' || name === parentStream || rooms.isVerified(room)) return false
    seriesOf(rooms.find(room) ?? rooms.add(room, 'hint'), name).held = true
    const region = rooms.find(room)?.whereabouts.region ?? app.region
    if (!absences.get(region)!.isDenied(room)) readLog(room)
    return true
  }

  async function afterReading(
    stream: StreamName,
    name: string,
    { fresh, unfinished, undecided, end, region }: SyncResult,
  ): Promise<number | undefined> {
    const room = rooms.find(name) ?? rooms.add(name, 'hint')
    const memory = seriesOf(room, stream)
    if (stream === parentStream) {
      room.whereabouts.found(region)
      forgetAbsences(name)
      absences.get(region)!.served(name)
    }
    if (stream === parentStream && !undecided) letOthersIn(name)
    if (end === 'more') return 0
    const cadence = rooms.settings(stream)
    const state = { quiet: memory.quiet, endedAt: room.life?.endedAt }
    const next = nextSync(cadence, state, { news: fresh > 0, unfinished }, clock.now(), random.next())
    if (next.kind === 'sync') {
      memory.quiet = next.quiet
      return next.after
    }
    if (stream === parentStream && !haveOthersClosed(room)) return cadence.idleEvery
    await store.closeSeries(context.fence(), app.id, stream, name)
    memory.closed = true
    if (stream === parentStream) forget(name)
    return undefined
  }

  /** The log was read: streams that waited for it, or that have not met the room yet, may go. */
  function letOthersIn(name: string): void {
    const room = rooms.find(name) ?? rooms.add(name, 'hint')
    room.verifiedAt = clock.monotonic()
    for (const stream of rooms.streams()) {
      if (stream === parentStream) continue
      const isNew = !room.series.has(stream)
      const memory = seriesOf(room, stream)
      if (!isNew && !memory.held) continue
      memory.held = false
      schedule(stream, name, 0)
    }
  }

  /**
   * Only the log of a room decides whether it is gone, and not by one answer alone; a room of which no more than its name
   * is known need not be there.
   */
  async function afterGone({ stream, fail }: StreamSchedule, name: string, { failure, region }: SyncResult) {
    if (stream.name === parentStream) {
      const room = placed(name)
      const isNameOnly = room === undefined || (room.from === 'name' && !room.whereabouts.isFound)
      if (isNameOnly || isMissing(name, 'room', region)) return afterEnd(name, region)
      rooms.distrust(name)
      const row = fail(name)
      const isNew = room.whereabouts.isTriedElsewhere() && row < absences.size
      return isNew || room.whereabouts.followsRumour(region) ? 0 : seriesPause(failure, row, random.next())
    }
    const room = rooms.find(name)
    if (!room) return undefined
    readLog(name)
    const row = fail(name)
    if (row < DENIALS_THAT_CLOSE) return seriesPause(failure, row, random.next())
    seriesOf(room, stream.name).closed = true
    return undefined
  }

  /** The room is over in the region; another one may know it. */
  async function afterEnd(name: string, region: string): Promise<number | undefined> {
    if (rooms.find(name)?.whereabouts.isElsewhere(region)) return 0
    await store.forgetRoom(context.fence(), app.id, name)
    forget(name)
    log.info('the provider no longer knows a room; its log is final', { app: app.id })
    return undefined
  }

  /** Nothing of the room can be read; what the feed tells of it is stored all the same. */
  async function afterUnaskable(stream: StreamName, name: string): Promise<undefined> {
    if (stream !== parentStream) {
      readLog(name)
      return
    }
    for (const one of rooms.streams()) await store.closeSeries(context.fence(), app.id, one, name)
    forget(name)
  }

  function forget(room: string): void {
    rooms.forget(room)
    forgetAbsences(room)
    drop(room)
  }

  function afterError(schedule: StreamSchedule, series: string, error: unknown): number {
    if (schedule.stream.kind === 'feed') feedGaps(series).suspect()
    return afterFault(context, schedule.stream.name, error, () => schedule.fail(series))
  }

  return { after, afterError, waitsForLog }
}

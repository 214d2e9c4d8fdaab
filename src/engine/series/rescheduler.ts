import { nextFeed, nextSync, nextTurn, quietSince, restOf } from '../../planning/cadence.ts'
import type { Failure, FailureKind } from '../../provider/errors.ts'
import type { Hint } from '../../streams/page.ts'
import type { CursorStream, StreamName } from '../../streams/stream.ts'
import { feedPause, isOfTheQuestion, seriesPause } from '../admission/retry-rules.ts'
import { afterFault, SOON_MS } from '../failures.ts'
import type { FeedGaps } from './feed.ts'
import type { PollerContext, RoomMemory, Rooms } from './rooms.ts'
import type { StreamSchedule } from './stream-schedule.ts'
import type { SyncResult } from './sync.ts'
import { type Absences, createAbsences } from './whereabouts.ts'

/** What a poller does when a sync asks for others. */
export interface Plans {
  /** Of each feed. */
  readonly feedGaps: (series: string) => FeedGaps
  readonly schedule: (stream: StreamName, series: string, within: number) => void
  /** Has the log of a room read at once, unless it is being read. */
  readonly readLog: (room: string) => void
  readonly drop: (room: string) => void
  /** Has rooms for which there is no place wait in the store for their turn. */
  readonly leaveWaiting: (rooms: readonly string[]) => void
}

/** The interval of a feed is from one question to the next; where a page takes long to store, so much of it is spent at most. */
const MOST_OF_A_PAUSE = 1 / 2

/**
 * What takes no longer than this, ms, shortens no pause: a feed that kept exact time would meet the logs of its rooms, which
 * do so too, each time anew, and have them read once more for what they were just telling.
 */
const AT_ONCE_MS = 100

/** A stream that says so often in a row that its room is not there waits for news of the room. */
const DENIALS_THAT_CLOSE = 3

/** No pause that only we chose is longer than this share of the provider's memory of a room. */
const PAUSE_SHARE = 1 / 4

/** The nextId itself may be at fault, whatever the answers to it say. */
const TRIES_AT_A_PLACE = 3

/** Where nobody else is answered it may be the provider, and from the beginning more is read once more: that is tried more seldom. */
const TRIES_ALONE = 12

/** Ways in which an answer came and cannot be read. */
const unreadable: ReadonlySet<FailureKind> = new Set(['malformed', 'too_large'])

/** Whether it begins as the provider's answers do; a page of a maintenance stands in front of every room, also of none. */
function isOfProvider({ kind, body }: Failure): boolean {
  return (
    unreadable.has(kind) &&
    (body === undefined || /^\s*[[{]/.test(Buffer.from(body.subarray(0, 64)).toString()))
  )
}

/** What the end of a sync means for the syncs to come. */
export class Rescheduler {
  readonly #context: PollerContext
  readonly #rooms: Rooms
  readonly #poller: Plans
  /** Of each region. */
  readonly #absences: ReadonlyMap<string, Absences>
  /** How often in a row each feed told nothing. */
  readonly #quietFeeds = new Map<string, number>()
  /** When any series of a stream was read last in a region, on the monotonic clock, ms. */
  readonly #readAt = new Map<string, number>()

  constructor(context: PollerContext, rooms: Rooms, poller: Plans) {
    this.#context = context
    this.#rooms = rooms
    this.#poller = poller
    const { app, clock } = context
    const regions = [app.region, ...app.regions.map(({ name }) => name)]
    this.#absences = new Map(regions.map(region => [region, createAbsences(clock)]))
  }

  /** Answers in how many ms the series is synced next; undefined when it is not. `took`: how long it was synced, ms. */
  async after(
    schedule: StreamSchedule,
    series: string,
    result: SyncResult,
    took: number,
  ): Promise<number | undefined> {
    const { random, health } = this.#context
    const { feedGaps } = this.#poller
    const { stream } = schedule
    this.#rooms.learn(series, result.life, result.opened)
    this.#tell(result.hints, stream, series)
    switch (result.end) {
      case 'done':
      case 'more':
        health.worked()
        schedule.succeed(series)
        this.#readAt.set(`${stream.name} ${result.region}`, this.#context.clock.monotonic())
        return stream.scope === 'app'
          ? this.#afterWhole(stream, series, result, took)
          : this.#afterReading(stream, series, result)
      case 'failed':
      case 'looped':
        if (stream.kind === 'feed') feedGaps(series).suspect()
        if (stream.isParent && (await this.#afterNoReading(series, result)) === 'over')
          return this.#afterEnd(series, result.region)
        return this.#pauseAfter(stream, result.failure, this.#failuresOf(schedule, series, result))
      case 'gone':
        return this.#afterGone(schedule, series, result)
      case 'unaskable':
        return this.#afterUnaskable(stream, series)
      case 'busy':
        // Its place has moved, or the database's history went back: nobody stored what the feed told.
        if (stream.kind === 'feed') feedGaps(series).suspect()
        return random.next() * SOON_MS
      case 'late':
        return 0
      case 'unverified':
        this.#rooms.distrust(series)
        if (result.isFurther) schedule.succeed(series)
        return this.#afterUnverified(schedule, series)
      case 'fenced':
        if (stream.kind === 'feed') feedGaps(series).suspect()
        this.#context.onFenced()
        // Whoever lost the shard is stopped by then; else it was ours again all the time.
        return this.#context.settings.renewEvery
      case 'stopped':
        return undefined
    }
  }

  /** Failures in a row on which a reading came no further; who goes on at one place for long begins anew. */
  #failuresOf(schedule: StreamSchedule, series: string, result: SyncResult): number {
    const { isFurther, end, failure, region } = result
    if (isFurther) schedule.succeed(series)
    const row = schedule.fail(series)
    if (row % TRIES_AT_A_PLACE > 0) return row
    schedule.asked(series).clear()
    const areOthersRead =
      (this.#readAt.get(`${schedule.stream.name} ${region}`) ?? -1) > schedule.failingSince(series)!
    const isOfPlace = areOthersRead || row % TRIES_ALONE === 0 || (failure && isOfTheQuestion(failure.kind))
    if (end === 'failed' && isOfPlace) schedule.leavePlace(series)
    return row
  }

  async #afterNoReading(name: string, result: SyncResult): Promise<'over' | 'unread'> {
    const { end, failure, region } = result
    const whereabouts = this.#placed(name)?.whereabouts
    if (failure?.kind === 'not_found' && this.#isMissing(name, 'log', region)) return 'over'
    if (failure?.kind === 'not_found') whereabouts?.followsRumour(region)
    if (end === 'looped') whereabouts?.found(region)
    if (!whereabouts?.isTriedElsewhere() && (await this.#showsRoom(name, result))) this.#letOthersIn(name)
    return 'unread'
  }

  /** Where a room is looked for in several regions, also one of which only the name is known is remembered. */
  #placed(name: string): RoomMemory | undefined {
    return this.#rooms.find(name) ?? (this.#absences.size > 1 ? this.#rooms.add(name, 'name') : undefined)
  }

  /** Whether so many answers of the region say so that the room is over there. */
  #isMissing(name: string, missing: 'log' | 'room', region: string): boolean {
    // Where the room never was, logs that others serve show that the answer speaks of the room alone.
    const witnesses = this.#rooms.find(name)?.whereabouts.wasElsewhere(region)
      ? [...this.#absences.values()]
      : []
    const servedAt = Math.max(...witnesses.map(each => each.servedAt()))
    return this.#absences.get(region)!.missed(name, missing, servedAt)
  }

  #forgetAbsences(name: string): void {
    for (const each of this.#absences.values()) each.forget(name)
  }

  /**
   * Pages that were read show whose room it is; one that cannot be read shows no more than that there is one, and of a
   * name that a player's channel or a call told not even that.
   */
  async #showsRoom(room: string, { end, failure, region, isShown }: SyncResult): Promise<boolean> {
    const { app, store } = this.#context
    if (end === 'looped' || isShown) return true
    const { from } = this.#rooms.find(room) ?? { from: 'name' }
    if (from === 'name' || !failure || !isOfProvider(failure) || this.#rooms.isVerified(room)) return false
    return store.vouchFor(this.#context.fence(), app.id, room, region)
  }

  /** What is of a room is asked for again while the provider remembers the room. */
  #pauseAfter({ kind, scope, name }: CursorStream, failure: Failure | undefined, row: number): number {
    const { random } = this.#context
    if (kind === 'feed') return feedPause(failure, row, random.next())
    const longest = scope === 'room' ? this.#rooms.settings(name).memory * PAUSE_SHARE : undefined
    return seriesPause(failure, row, random.next(), longest)
  }

  /** What is of the whole app was read to its end, unless it is a feed that has more to tell. */
  #afterWhole(
    { kind, name }: CursorStream,
    series: string,
    { end, hints }: SyncResult,
    took: number,
  ): number {
    const now = this.#context.clock.now()
    const cadence = this.#rooms.settings(name)
    if (kind === 'feed') this.#poller.feedGaps(series).heard(end === 'done' ? 'all' : 'a part')
    if (kind !== 'feed') return end === 'more' ? 0 : nextTurn(cadence, now)
    // The answer that ends a telling has nothing new most often, and is no silence.
    const heard = end === 'more' ? -1 : 0
    const quiet = hints.length > 0 ? heard : (this.#quietFeeds.get(series) ?? 0) + 1
    this.#quietFeeds.set(series, quiet)
    if (end === 'more') return 0
    const { busyHours, commonMoments } = this.#context
    const pause = nextFeed(cadence, quiet, now, busyHours?.())
    const isIdle = !cadence.moments && pause > cadence.activeEvery
    if (isIdle && commonMoments) return commonMoments.join(pause)
    return cadence.moments ? pause : pause - Math.min(Math.max(0, took - AT_ONCE_MS), pause * MOST_OF_A_PAUSE)
  }

  /** The log goes first, at once; where that did not help either, there is time. */
  #afterUnverified(schedule: StreamSchedule, series: string): number | undefined {
    const row = schedule.fail(series)
    if (row > 1) return seriesPause(undefined, row, this.#context.random.next())
    return this.waitsForLog(schedule.stream, series) ? undefined : SOON_MS
  }

  #tell(hints: readonly Hint[], from: CursorStream, series: string): void {
    const region = from.kind === 'feed' ? series : ''
    for (const hint of hints) {
      for (const { stream, within } of this.#rooms.applyHint(hint, region, from))
        this.#poller.schedule(stream, hint.room, within)
    }
    // Of what could not be read, or a player's channel, nothing is stored by which the room would be known.
    const waiting = hints.filter(({ room }) => this.#rooms.isCrowded && !this.#rooms.find(room))
    if (waiting.length > 0) this.#poller.leaveWaiting(waiting.map(({ room }) => room))
  }

  /** Holds a series back until the room's log has been read; false where the log may be trusted. */
  waitsForLog({ scope, name, isParent }: CursorStream, room: string): boolean {
    if (scope === 'app' || isParent || this.#rooms.isVerified(room)) return false
    this.#rooms.seriesOf(this.#rooms.find(room) ?? this.#rooms.add(room, 'hint'), name).held = true
    const region = this.#rooms.find(room)?.whereabouts.region ?? this.#context.app.region
    if (!this.#absences.get(region)!.isDenied(room)) this.#poller.readLog(room)
    return true
  }

  async #afterReading(
    stream: CursorStream,
    name: string,
    { fresh, unfinished, undecided, end, region, isFirst, hints, opened }: SyncResult,
  ): Promise<number | undefined> {
    const { app, clock, random, store } = this.#context
    const room = this.#rooms.find(name) ?? this.#rooms.add(name, 'hint')
    const memory = this.#rooms.seriesOf(room, stream.name)
    if (stream.isParent) {
      room.whereabouts.found(region)
      this.#forgetAbsences(name)
      this.#absences.get(region)!.served(name)
    }
    const isSilent = end === 'done' && fresh === 0 && hints.length === 0 && !unfinished && !opened && !isFirst
    if (stream.isParent && !undecided) this.#letOthersIn(name, isSilent)
    if (end === 'more') return 0
    const cadence = this.#rooms.settings(stream.name)
    const news = stream.isParent ? 'log' : stream.isAnnounced ? 'told' : 'untold'
    const now = clock.now()
    // Of what is met only now all is new, however long ago it happened. The log tells how long, and what is read of a room for
    // the first time is as quiet as its log.
    const isOfLog = stream.isParent && hints.length > 0
    const age = isOfLog ? now - Math.max(...hints.map(({ at }) => at)) : 0
    if (isFirst) memory.quiet = Math.max(memory.quiet, this.#rooms.seriesOf(room, this.#rooms.parent).quiet)
    const quiet = isFirst && !stream.isParent ? memory.quiet : quietSince(cadence.activeEvery, age)
    const state = { quiet: memory.quiet, endedAt: room.life?.endedAt, news } as const
    const next = nextSync(cadence, state, { news: fresh > 0, quiet, unfinished }, now, random.next())
    if (next.kind === 'sync') {
      memory.quiet = next.quiet
      return next.after
    }
    if (stream.isParent && !this.#rooms.haveOthersClosed(room)) return cadence.idleEvery
    await store.closeSeries(this.#context.fence(), app.id, stream.name, name)
    memory.closed = true
    if (stream.isParent) this.#forget(name)
    return undefined
  }

  /**
   * The log was read: streams that waited for it, or that have not met the room yet, may go. `isSilent`: it told that nothing
   * happened, so that what processes before this one read of an idle room need not be read sooner than they would have.
   */
  #letOthersIn(name: string, isSilent = false): void {
    const { clock, random } = this.#context
    const room = this.#rooms.find(name) ?? this.#rooms.add(name, 'hint')
    room.verifiedAt = clock.monotonic()
    const ago = isSilent && room.besideReadAt !== undefined ? clock.monotonic() - room.besideReadAt : Infinity
    room.besideReadAt = undefined
    for (const stream of this.#rooms.streams) {
      if (stream === this.#rooms.parent) continue
      const isNew = !room.series[stream]
      const memory = this.#rooms.seriesOf(room, stream)
      if (!isNew && !memory.held) continue
      const isDue = memory.held || ago === Infinity
      memory.held = false
      const rest = isDue ? 0 : restOf(this.#rooms.settings(stream), memory.quiet, ago, random.next())
      this.#poller.schedule(stream, name, rest)
    }
  }

  /**
   * Only the log of a room decides whether it is gone, and not by one answer alone; a room of which no more than its name
   * is known need not be there.
   */
  async #afterGone(schedule: StreamSchedule, name: string, { failure, region }: SyncResult) {
    const { random } = this.#context
    const { stream } = schedule
    if (stream.isParent) {
      const room = this.#placed(name)
      // What failed before says nothing of the room: it is asked again as soon as after any first denial.
      if (!this.#absences.get(region)!.isDenied(name)) schedule.succeed(name)
      if (!room || isNameOnly(room) || this.#isMissing(name, 'room', region))
        return this.#afterEnd(name, region)
      this.#rooms.distrust(name)
      const row = schedule.fail(name)
      const { size: regions } = this.#absences
      const isNew = room.whereabouts.isTriedElsewhere() && row < regions
      if (isNew || room.whereabouts.followsRumour(region)) return 0
      // Each region says so for itself: together they need not be asked ever more rarely.
      return seriesPause(failure, Math.ceil(row / regions), random.next())
    }
    const room = this.#rooms.find(name)
    if (!room) return undefined
    this.#poller.readLog(name)
    const row = schedule.fail(name)
    if (row < DENIALS_THAT_CLOSE) return seriesPause(failure, row, random.next())
    this.#rooms.seriesOf(room, stream.name).closed = true
    // No next try comes by itself, for which whoever wants it read would wait.
    schedule.succeed(name)
    return undefined
  }

  /** The room is over in the region; another one may know it. */
  async #afterEnd(name: string, region: string): Promise<number | undefined> {
    const { app, store, log } = this.#context
    const room = this.#rooms.find(name)
    const wasRoom = room !== undefined && !isNameOnly(room)
    if (room?.whereabouts.isElsewhere(region)) return 0
    await store.forgetRoom(this.#context.fence(), app.id, name)
    this.#forget(name)
    if (wasRoom)
      log.info('the provider no longer knows a room; what was not read of it is lost', { app: app.id })
    // Most calls of some apps are in channels that are no rooms.
    else log.debug('the provider knows no room of the name of a channel', { app: app.id })
    return undefined
  }

  /** Nothing of the room can be read; what the feed tells of it is stored all the same. */
  async #afterUnaskable({ isParent }: CursorStream, name: string): Promise<undefined> {
    const { app, store } = this.#context
    if (!isParent) {
      this.#poller.readLog(name)
      return
    }
    for (const one of this.#rooms.streams) await store.closeSeries(this.#context.fence(), app.id, one, name)
    this.#forget(name)
  }

  #forget(room: string): void {
    this.#rooms.forget(room)
    this.#forgetAbsences(room)
    this.#poller.drop(room)
  }

  /** The same after a sync that threw, of whose pages those that were stored told these. */
  afterError(schedule: StreamSchedule, series: string, error: unknown, hints: readonly Hint[]): number {
    this.#tell(hints, schedule.stream, series)
    if (schedule.stream.kind === 'feed') this.#poller.feedGaps(series).suspect()
    return afterFault(this.#context, schedule.stream.name, error, () => schedule.fail(series))
  }
}

/** Nothing but a list of the app, such as that of calls, ever named it. */
function isNameOnly({ from, whereabouts }: RoomMemory): boolean {
  return from === 'name' && !whereabouts.isFound
}

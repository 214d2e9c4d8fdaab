import { retryDelay } from '../../planning/retry.ts'
import type { Purpose } from '../../planning/shares.ts'
import { spacingOf } from '../../provider/limits.ts'
import type { Hint } from '../../streams/page.ts'
import type { CursorStream, StreamName } from '../../streams/stream.ts'
import { REACH_MARGIN_MS } from '../admission/admission.ts'
import { contentionBackoff, faultBackoff } from '../admission/retry-rules.ts'
import { hasMet } from '../failures.ts'
import { StoreUnavailable, type WantedRoom } from '../ports.ts'
import { createWakeup, type Wakeup } from '../waiting.ts'
import { Discovery } from './discovery.ts'
import { createFeedGaps, type FeedGaps } from './feed.ts'
import { Rescheduler } from './rescheduler.ts'
import { type PollerContext, Rooms } from './rooms.ts'
import { type Places, StreamSchedule } from './stream-schedule.ts'
import { type SyncResult, syncSeries } from './sync.ts'
import { feedSeries, inRegion } from './whereabouts.ts'

/** While something is under way, or cannot begin, the poller looks at its schedules this often, ms: its gauges are no older. */
const LONGEST_NAP_MS = 10_000

/** With nothing to do it sleeps until something is due: a look at each of ten thousand apps would be most of what they cost. */
const LONGEST_REST_MS = 3_600_000

/** Share of what the limits allow that is spent, at most, on what others want. */
const SHARE_FOR_WISHES = 0.5

/** Syncs of a stream, in each region, whose page is being stored while others ask: as many as go together. */
const MOST_STORING = 64

/** The gauges of the schedule are not set more often than this, ms. */
const GAUGE_EVERY_MS = 1_000

/** Keeps one app's series synced in time: a schedule for each stream, and what each sync says about the next one. */
export class Poller {
  readonly #context: PollerContext
  readonly #wakeup: Wakeup
  readonly #rooms: Rooms
  /** Of each feed. */
  readonly #feeds: ReadonlyMap<string, FeedGaps>
  readonly #schedules: ReadonlyMap<StreamName, StreamSchedule>
  readonly #rescheduler: Rescheduler
  readonly #discovery: Discovery
  readonly #inHand = new Set<Promise<void>>()
  #gaugedAt = Number.NEGATIVE_INFINITY
  #isDueTold = false
  /** Resolves when the poller has stopped and every page in hand is finished or given up. */
  readonly done: Promise<void>

  constructor(context: PollerContext) {
    this.#context = context
    const { app, clock, streams, settings } = context
    this.#wakeup = createWakeup(clock)
    this.#rooms = new Rooms(context)
    this.#feeds = new Map(feedSeries(app).map(series => [series, this.#gapsOf(series)]))
    this.#schedules = new Map(
      streams.map(stream => [
        stream.name,
        new StreamSchedule(stream, clock, settings.roomMemory, this.#regionOf(stream)),
      ]),
    )
    this.#rescheduler = new Rescheduler(context, this.#rooms, {
      feedGaps: series => this.#feeds.get(series)!,
      schedule: (stream, series, within) => this.#plan(stream, series, within),
      readLog: room => this.#readLog(room),
      drop: room => this.#drop(room),
      leaveWaiting: rooms => void this.#leaveWaiting(rooms),
    })
    this.#discovery = new Discovery(context, this.#rooms, {
      look: (room, within) => this.#plan(this.#rooms.parent, room, within),
      restsFor: room => Math.min(...this.#schedules.values().map(schedule => schedule.restsFor(room))),
      drop: room => this.#drop(room),
    })
    this.done = this.#run()
  }

  /** Looks at once at what may be done now. */
  wake(): void {
    this.#wakeup.notify()
  }

  /** Where the series of a stream are asked for; '' is where the app is. */
  #regionOf({ scope }: CursorStream): (series: string) => string {
    return scope === 'app'
      ? series => series
      : room => this.#rooms.find(room)?.whereabouts.region ?? this.#context.app.region
  }

  #gapsOf(series: string): FeedGaps {
    const { app, clock, store, settings } = this.#context
    return createFeedGaps({
      ...{ app: app.id, series, store, fence: this.#context.fence, clock },
      arrivesWithin: settings.deadline + REACH_MARGIN_MS,
      memory: settings.roomMemory,
    })
  }

  #plan(stream: StreamName, series: string, within: number): void {
    this.#schedules.get(stream)?.schedule(series, within)
    this.#wakeup.notify()
  }

  #readLog(room: string): void {
    this.#schedules.get(this.#rooms.parent)?.scheduleIfIdle(room)
    this.#wakeup.notify()
  }

  #drop(room: string): void {
    for (const schedule of this.#schedules.values()) schedule.drop(room)
  }

  /** While it is uncertain whether the database is well, one sync of each stream tries it. */
  #placesOf({ stream }: StreamSchedule): Places {
    if (this.#context.health.state() !== 'up') return { asking: 1, storing: 0 }
    return { asking: this.#rooms.settings(stream.name).concurrency, storing: MOST_STORING }
  }

  #startDue(): void {
    if (this.#context.health.state() === 'down') return
    for (const schedule of this.#schedules.values()) {
      for (let series = this.#take(schedule); series !== undefined; series = this.#take(schedule))
        this.#start(schedule, series)
    }
  }

  #take(schedule: StreamSchedule): string | undefined {
    return schedule.take(this.#placesOf(schedule))
  }

  #start(schedule: StreamSchedule, series: string): void {
    if (this.#rescheduler.waitsForLog(schedule.stream, series)) {
      schedule.end(series, undefined)
      return
    }
    const run = this.#runSync(schedule, series).finally(() => {
      this.#inHand.delete(run)
      this.#wakeup.notify()
    })
    this.#inHand.add(run)
  }

  async #runSync(schedule: StreamSchedule, series: string): Promise<void> {
    const { clock } = this.#context
    const hints: Hint[] = []
    let within: number | undefined
    try {
      if (schedule.stream.kind === 'feed') await this.#reviewFeed(series)
      const began = clock.monotonic()
      const result = await this.#look(schedule, series, hints)
      within = await this.#rescheduler.after(schedule, series, result, clock.monotonic() - began)
    } catch (error) {
      within = this.#rescheduler.afterError(schedule, series, error, hints)
    }
    schedule.end(series, within)
  }

  async #leaveWaiting(names: readonly string[]): Promise<void> {
    const { app, store, log } = this.#context
    this.#rooms.crowd(true)
    await store.discoverRooms(this.#context.fence(), app.id, names).catch((error: unknown) => {
      for (const name of names) this.#rooms.unmark(name)
      log.error('rooms that others told of could not be set down', { app: app.id, error })
    })
  }

  async #relieveCrowd(): Promise<void> {
    const { app, log, health } = this.#context
    try {
      await this.#discovery.relieve()
    } catch (error) {
      if (hasMet(this.#context, error)) return
      if (error instanceof StoreUnavailable) health.failed(error.fault)
      else log.error('rooms that wait could not be found; trying again', { app: app.id, error })
    }
  }

  #look(schedule: StreamSchedule, series: string, hints: Hint[]): Promise<SyncResult> {
    const { stream, tailMemory } = schedule
    const purpose: Purpose = stream.scope === 'app' || stream.isParent ? 'live' : 'revisit'
    const room = stream.scope === 'room' && this.#rooms.isDoubtful(series) ? 'doubtful' : 'known'
    return syncSeries(
      {
        ...this.#context,
        storing: isStoring => {
          schedule.stores(series, isStoring)
          if (isStoring) this.#wakeup.notify()
        },
        app: inRegion(this.#context.app, this.#regionOf(stream)(series)),
        fence: this.#context.fence(),
        stream,
        series,
        purpose,
      },
      { tailMemory, room, asked: schedule.asked(series), isStuck: schedule.takeAnew(series), hints },
    )
  }

  /** A consuming answer that nobody stored may have held events of any room. */
  async #reviewFeed(series: string): Promise<void> {
    const { random } = this.#context
    if ((await this.#feeds.get(series)!.review()) === 'nothing new' || !this.#rooms.areFollowed) return
    const { activeEvery } = this.#rooms.settings(this.#rooms.parent)
    for (const room of this.#rooms.names()) this.#plan(this.#rooms.parent, room, random.next() * activeEvery)
  }

  async #begin(): Promise<void> {
    const { app, store, names, signal } = this.#context
    // Its turn may have come when it was told to stop.
    if (signal.aborted) return
    const isOn = (name: StreamName) => [app.streams, app.windows, app.details].some(part => name in part)
    const [on, off] = [names.filter(isOn), names.filter(name => !isOn(name))]
    const { timeZone, userLink } = app
    await store.noteApp(this.#context.fence(), app.id, { timeZone, userLink, on, off })
    for (const { stream } of this.#schedules.values())
      if (stream.kind === 'feed') await this.#changeFeeds(stream.name)
    for (const { stream } of this.#schedules.values()) {
      if (stream.kind === 'feed') for (const series of this.#feeds.keys()) this.#plan(stream.name, series, 0)
      else if (stream.scope === 'app') this.#plan(stream.name, '', 0)
    }
    if (this.#rooms.areFollowed) await this.#discovery.followAll()
  }

  /**
   * Feeds of regions in which the app is no more: what they handed out last is set down, and nothing waits for them. One
   * that comes back has no backlog of the time between.
   */
  async #changeFeeds(feed: StreamName): Promise<void> {
    const { app, store } = this.#context
    for (const series of this.#feeds.keys()) await store.follow(this.#context.fence(), app.id, feed, series)
    for (const { series } of await store.openSeries(app.id, feed)) {
      if (this.#feeds.has(series)) continue
      await store.recordUnread(this.#context.fence(), app.id, series)
      await store.closeSeries(this.#context.fence(), app.id, feed, series)
    }
  }

  async #beginWhenPossible(): Promise<void> {
    const { app, clock, random, log, signal, health, beginnings } = this.#context
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await (beginnings ? beginnings(() => this.#begin()) : this.#begin())
      } catch (error) {
        if (hasMet(this.#context, error))
          await clock.sleep(retryDelay(contentionBackoff, failures, random.next()), signal)
        else if (error instanceof StoreUnavailable) health.failed(error.fault)
        else {
          log.error('an app could not be started; trying again', { app: app.id, error })
          await clock.sleep(retryDelay(faultBackoff, failures, random.next()), signal)
        }
      }
      while (health.state() === 'down' && !signal.aborted) await this.#wakeup.wait(LONGEST_NAP_MS)
    }
  }

  /** Answers in how many ms what was told may be too much: it would stand while this sleeps. */
  #gauge(): number {
    const { app, clock, meter } = this.#context
    const left = this.#gaugedAt + GAUGE_EVERY_MS - clock.monotonic()
    if (left > 0) return this.#isDueTold ? left : Infinity
    this.#gaugedAt = clock.monotonic()
    this.#isDueTold = false
    for (const schedule of this.#schedules.values()) {
      const lateness = schedule.lateness()
      this.#isDueTold ||= lateness.series > 0
      meter.schedule({ app: app.id, stream: schedule.stream.name }, lateness)
    }
    return Infinity
  }

  /** How long nothing can be begun, as far as is known, ms. */
  #nap(): number {
    const { clock, health } = this.#context
    if (health.state() === 'down') return LONGEST_NAP_MS
    let due = Infinity
    for (const schedule of this.#schedules.values())
      due = Math.min(due, schedule.next(this.#placesOf(schedule)))
    const isAtRest = this.#inHand.size === 0 && !this.#rooms.isCrowded
    return Math.min(Math.max(0, due - clock.monotonic()), isAtRest ? LONGEST_REST_MS : LONGEST_NAP_MS)
  }

  async #run(): Promise<void> {
    const { signal, health } = this.#context
    signal.addEventListener('abort', this.#wakeup.notify, { once: true })
    await this.#beginWhenPossible()
    while (!signal.aborted) {
      if (health.state() !== 'down') await this.#relieveCrowd()
      this.#startDue()
      const stands = this.#gauge()
      await this.#wakeup.wait(Math.min(stands, this.#nap()))
    }
    await this.finished()
  }

  /** Resolves when every page in hand is finished or given up. */
  async finished(): Promise<void> {
    await Promise.all(this.#inHand)
  }

  /** Rooms that others have heard of; those that are not known yet are looked at. */
  discover(names: readonly string[]): void {
    if (!this.#rooms.areFollowed) return
    const met = names.filter(name => this.#rooms.markSeen(name))
    const waiting = met.splice(this.#rooms.places)
    for (const name of met) this.#plan(this.#rooms.parent, name, 0)
    if (waiting.length > 0) void this.#leaveWaiting(waiting)
  }

  /**
   * Has a room read again that someone wants read from its beginning, where it was found last if that is known. To be said
   * until it is: what fails comes when it would anyway, and while the log does, the others wait for it.
   */
  reread({ room, region, streams }: WantedRoom): void {
    const isFailing = (stream: StreamName) => this.#schedules.get(stream)?.isFailing(room) ?? false
    if (!this.#rooms.areFollowed || isFailing(this.#rooms.parent)) return
    const wanted = this.#rooms.streams.filter(stream => streams.includes(stream) && !isFailing(stream))
    if (wanted.length === 0) return
    const hint = { room, change: 'hole', at: this.#context.clock.now(), streams: wanted } as const
    for (const { stream } of this.#rooms.applyHint(hint, region ?? ''))
      if (wanted.includes(stream)) this.#plan(stream, room, 0)
  }

  /**
   * Has the whole app read anew by a stream, because something is said to have happened. Those who ask again soon are
   * served together; while the provider or the database fails, the next try comes as it would without them.
   */
  schedule(stream: StreamName): void {
    const schedule = this.#schedules.get(stream)
    if (schedule?.stream.scope !== 'app') return
    const rates = this.#context.app.limits[schedule.stream.operation.limitGroup]?.rates ?? []
    schedule.scheduleDebounced('', (spacingOf(rates) * 1_000) / SHARE_FOR_WISHES)
    this.#wakeup.notify()
  }
}

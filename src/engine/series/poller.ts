import { retryDelay } from '../../planning/retry.ts'
import type { Purpose } from '../../planning/shares.ts'
import type { CursorStream, StreamName } from '../../streams/stream.ts'
import { REACH_MARGIN_MS } from '../admission/admission.ts'
import { faultBackoff } from '../admission/retry-rules.ts'
import { StoreUnavailable } from '../ports.ts'
import { createWakeup } from '../waiting.ts'
import { createRelief, discover } from './discovery.ts'
import { createFeedGaps, type FeedGaps } from './feed.ts'
import { createRescheduler } from './rescheduler.ts'
import { type PollerContext, parentStream, Rooms } from './rooms.ts'
import { createStreamSchedule, type StreamSchedule } from './stream-schedule.ts'
import { type SyncResult, syncSeries } from './sync.ts'
import { feedSeries, inRegion } from './whereabouts.ts'

/**
 * Keeps one app's series synced in time: a lane for each stream, and what each sync says about the next one.
 */
export interface Poller {
  /** Resolves when the poller has stopped and every page in hand is finished or given up. */
  readonly done: Promise<void>
  /** Looks at once at what may be done now. */
  readonly wake: () => void
  /** Rooms that others have heard of; those that are not known yet are looked at. */
  readonly discover: (rooms: readonly string[]) => void
  /** Has a room read again that someone wants read from its beginning, where it was found last if that is known. */
  readonly reread: (room: string, region: string | null) => void
  /**
   * Has the whole app read anew by a stream, because something is said to have happened. Those who ask again soon are
   * served together; while the provider or the database fails, the next try comes as it would without them.
   */
  readonly schedule: (stream: StreamName) => void
}

/** The poller looks at its lanes at least this often, ms, so that its gauges are never older. */
const LONGEST_NAP_MS = 10_000

/** Share of what the limits allow that is spent, at most, on what others want. */
const SHARE_FOR_WISHES = 0.5

/** The gauges of the schedule are not set more often than this, ms. */
const GAUGE_EVERY_MS = 1_000

export function startPoller(context: PollerContext): Poller {
  const { app, clock, random, store, log, meter, signal, settings, health } = context
  const wakeup = createWakeup(clock)
  const rooms = new Rooms(app, context.streams, clock, settings.roomMemory, settings.mostRooms)
  const feeds = new Map<string, FeedGaps>(feedSeries(app).map(series => [series, gapsOf(series)]))
  const feedGaps = (series: string) => feeds.get(series)!
  const schedules = new Map<StreamName, StreamSchedule>(
    context.streams.map(stream => [stream.name, createStreamSchedule(stream, clock, regionOf(stream))]),
  )
  const rescheduler = createRescheduler({ context, rooms, feedGaps, schedule, readLog, drop })
  const relieve = createRelief(context, rooms, room => schedule(parentStream, room, 0))
  const inHand = new Set<Promise<void>>()
  let gaugedAt = Number.NEGATIVE_INFINITY

  /** Where the series of a stream are asked for; '' is where the app is. */
  function regionOf({ scope }: CursorStream): (series: string) => string {
    return scope === 'app' ? series => series : room => rooms.find(room)?.whereabouts.region ?? app.region
  }

  function gapsOf(series: string): FeedGaps {
    return createFeedGaps({
      ...{ app: app.id, series, store, fence: context.fence, clock },
      arrivesWithin: settings.deadline + REACH_MARGIN_MS,
      memory: settings.roomMemory,
    })
  }

  function schedule(stream: StreamName, series: string, within: number): void {
    schedules.get(stream)?.schedule(series, within)
    wakeup.notify()
  }

  function readLog(room: string): void {
    schedules.get(parentStream)?.scheduleIfIdle(room)
    wakeup.notify()
  }

  function drop(room: string): void {
    for (const schedule of schedules.values()) schedule.drop(room)
  }

  /** While it is uncertain whether the database is well, one sync of each stream tries it. */
  function concurrencyOf({ stream }: StreamSchedule): number {
    return health.state() === 'up' ? rooms.settings(stream.name).concurrency : 1
  }

  function startDue(): void {
    if (health.state() === 'down') return
    for (const schedule of schedules.values()) {
      for (let series = take(schedule); series !== undefined; series = take(schedule)) start(schedule, series)
    }
  }

  function take(schedule: StreamSchedule): string | undefined {
    return schedule.take(concurrencyOf(schedule))
  }

  function start(schedule: StreamSchedule, series: string): void {
    if (rescheduler.waitsForLog(schedule.stream, series)) {
      schedule.end(series, undefined)
      return
    }
    const run = runSync(schedule, series).finally(() => {
      inHand.delete(run)
      wakeup.notify()
    })
    inHand.add(run)
  }

  async function runSync(schedule: StreamSchedule, series: string): Promise<void> {
    let within: number | undefined
    try {
      if (schedule.stream.kind === 'feed') await reviewFeed(series)
      within = await rescheduler.after(schedule, series, await look(schedule, series))
    } catch (error) {
      within = rescheduler.afterError(schedule, series, error)
    }
    schedule.end(series, within)
    if (schedule.stream.scope === 'room') makeRoom(series)
  }

  /** While others wait, a room of which all has been read for now makes room; its turn comes again. */
  function makeRoom(room: string): void {
    if (!rooms.isCrowded || ![...schedules.values()].every(schedule => schedule.rests(room))) return
    rooms.rest(room)
    drop(room)
  }

  async function leaveWaiting(names: readonly string[]): Promise<void> {
    rooms.crowd(true)
    await store.discoverRooms(context.fence(), app.id, names).catch((error: unknown) => {
      log.error('rooms that calls told of could not be set down', { app: app.id, error })
    })
  }

  async function relieveCrowd(): Promise<void> {
    try {
      await relieve()
    } catch (error) {
      if (error instanceof StoreUnavailable) health.failed(error.fault)
      else log.error('rooms that wait could not be found; trying again', { app: app.id, error })
    }
  }

  function look(schedule: StreamSchedule, series: string): Promise<SyncResult> {
    const { stream, tailMemory } = schedule
    const purpose: Purpose = stream.scope === 'app' || stream.name === parentStream ? 'live' : 'revisit'
    const room = stream.scope === 'room' && rooms.isDoubtful(series) ? 'doubtful' : 'known'
    return syncSeries(
      {
        ...context,
        app: inRegion(app, regionOf(stream)(series)),
        fence: context.fence(),
        stream,
        series,
        purpose,
      },
      { tailMemory, room, asked: schedule.asked(series) },
    )
  }

  /** A consuming answer that nobody stored may have held events of any room. */
  async function reviewFeed(series: string): Promise<void> {
    if ((await feedGaps(series).review()) === 'nothing new' || !schedules.has(parentStream)) return
    const { activeEvery } = rooms.settings(parentStream)
    for (const room of rooms.names()) schedule(parentStream, room, random.next() * activeEvery)
  }

  async function begin(): Promise<void> {
    const isOn = (name: StreamName) => [app.streams, app.windows, app.details].some(part => name in part)
    const [on, off] = [context.names.filter(isOn), context.names.filter(name => !isOn(name))]
    await store.noteStreams(context.fence(), app.id, { on, off })
    if (schedules.has('app-events')) await changeFeeds()
    for (const { stream } of schedules.values()) {
      if (stream.kind === 'feed') for (const series of feeds.keys()) schedule(stream.name, series, 0)
      else if (stream.scope === 'app') schedule(stream.name, '', 0)
    }
    if (schedules.has(parentStream)) await discover(context, rooms, schedule)
  }

  /**
   * Feeds of regions in which the app is no more: what they handed out last is set down, and nothing waits for them. One
   * that comes back owes nothing of the time between.
   */
  async function changeFeeds(): Promise<void> {
    for (const series of feeds.keys()) await store.follow(context.fence(), app.id, 'app-events', series)
    for (const { series } of await store.openSeries(app.id, 'app-events')) {
      if (feeds.has(series)) continue
      await store.recordUnread(context.fence(), app.id, series)
      await store.closeSeries(context.fence(), app.id, 'app-events', series)
    }
  }

  async function beginWhenPossible(): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await begin()
      } catch (error) {
        if (error instanceof StoreUnavailable) health.failed(error.fault)
        else {
          log.error('an app could not be started; trying again', { app: app.id, error })
          await clock.sleep(retryDelay(faultBackoff, failures, random.next()), signal)
        }
      }
      while (health.state() === 'down' && !signal.aborted) await wakeup.wait(LONGEST_NAP_MS)
    }
  }

  function gauge(): void {
    if (clock.monotonic() - gaugedAt < GAUGE_EVERY_MS) return
    gaugedAt = clock.monotonic()
    for (const { stream, lateness } of schedules.values()) {
      meter.schedule({ app: app.id, stream: stream.name }, lateness())
    }
  }

  async function run(): Promise<void> {
    signal.addEventListener('abort', wakeup.notify, { once: true })
    await beginWhenPossible()
    while (!signal.aborted) {
      if (health.state() !== 'down') await relieveCrowd()
      startDue()
      gauge()
      const due = Math.min(...schedules.values().map(schedule => schedule.next(concurrencyOf(schedule))))
      const nap = health.state() === 'down' ? LONGEST_NAP_MS : Math.max(0, due - clock.monotonic())
      await wakeup.wait(Math.min(nap, LONGEST_NAP_MS))
    }
    await Promise.all(inHand)
  }

  function discoverRooms(names: readonly string[]): void {
    if (!schedules.has(parentStream)) return
    const met = names.filter(name => rooms.markSeen(name))
    const waiting = met.splice(rooms.places)
    for (const name of met) schedule(parentStream, name, 0)
    if (waiting.length > 0) void leaveWaiting(waiting)
  }

  function reread(room: string, region: string | null): void {
    const hint = { room, change: 'hole', at: clock.now(), streams: rooms.streams() } as const
    for (const { stream } of rooms.applyHint(hint, 'app-events', region ?? '')) schedule(stream, room, 0)
  }

  function scheduleApp(stream: StreamName): void {
    const schedule = schedules.get(stream)
    if (schedule?.stream.scope !== 'app') return
    const rates = app.limits[schedule.stream.operation.limitGroup]?.rates ?? []
    const pace = Math.max(0, ...rates.map(({ window, requests }) => (window * 1_000) / requests))
    schedule.scheduleDebounced('', pace / SHARE_FOR_WISHES)
    wakeup.notify()
  }

  return { wake: wakeup.notify, discover: discoverRooms, reread, schedule: scheduleApp, done: run() }
}

import { nextVisit } from '../planning/cadence.ts'
import { retryDelay } from '../planning/retry.ts'
import type { Hint, Stream, StreamName } from '../streams/stream.ts'
import { createAgenda } from './agenda.ts'
import type { PollContext } from './poll.ts'
import { type Fence, StoreUnavailable } from './ports.ts'
import type { Priority } from './queue.ts'
import { reactions } from './reactions.ts'
import { gatekeeper, Rooms } from './rooms.ts'
import { type Learnt, type VisitResult, visit } from './visit.ts'

/**
 * Keeps one app's series visited in time: an agenda of what is due, a bound on how many series of a stream are
 * visited at once, and what each visit says about the next one.
 */
export interface Poller {
  /** Resolves when the poller has stopped and every page in hand is finished or given up. */
  readonly done: Promise<void>
  readonly app: string
}

export interface PollerContext extends Omit<PollContext, 'stream' | 'series' | 'priority' | 'fence'> {
  readonly fence: () => Fence
  readonly random: { readonly next: () => number }
  readonly streams: readonly Stream[]
  /** The shard belongs to another process now. */
  readonly onFenced: () => void
}

interface Task {
  readonly stream: Stream
  readonly series: string
}

interface Lane {
  readonly stream: Stream
  readonly ready: { readonly task: Task; readonly due: number }[]
  running: number
  readonly learnt: Learnt
}

/** Waits after the database could not be reached, and after a fault of our own. */
const storeBackoff = { first: 250, cap: 5_000 }
const faultBackoff = { first: 5_000, cap: 300_000 }

/** SQLSTATEs of a statement that stood in another's way: serialization, deadlock, lock time-out, cancelled. */
const contention: ReadonlySet<string | undefined> = new Set(['40001', '40P01', '55P03', '57014'])

export function startPoller(context: PollerContext): Poller {
  const { app, clock, random, store, log, meter, signal, settings } = context
  const agenda = createAgenda<Task>()
  const rooms = new Rooms(app)
  const lanes = new Map<StreamName, Lane>()
  const visiting = new Map<string, number>()
  const inHand = new Set<Promise<void>>()
  /** Visits in a row that failed, by series. */
  const failed = new Map<string, number>()
  const feed = { unread: true, gapsOpen: true }
  const outage = { failures: 0, until: 0 }
  let wake = new AbortController()

  for (const stream of context.streams) {
    lanes.set(stream.name, { stream, ready: [], running: 0, learnt: { tailRefused: false } })
  }

  /** Plans a visit within `within` ms; an earlier plan stays, and a series under visit is visited again. */
  function want(stream: StreamName, series: string, within: number): void {
    const lane = lanes.get(stream)
    if (!lane) return
    const key = `${stream} ${series}`
    const due = clock.monotonic() + within
    const under = visiting.get(key)
    if (under !== undefined) visiting.set(key, Math.min(under, due))
    else if (due < (agenda.dueOf(key) ?? Infinity)) agenda.put(key, due, { stream: lane.stream, series })
    wake.abort()
  }

  function hint(hints: readonly Hint[], from: StreamName): void {
    for (const each of hints) {
      for (const { stream, within } of rooms.heed(each, from)) want(stream, each.room, within)
    }
  }

  async function begin(): Promise<void> {
    const fence = context.fence()
    if (app.rooms.length > 0) await store.discoverRooms(fence, app.id, app.rooms)
    if (lanes.has('app-events')) want('app-events', '', 0)
    if (!lanes.has(gatekeeper)) return
    const open = await store.openSeries(app.id, gatekeeper)
    const spread = Math.min(rooms.settings(gatekeeper).activeEvery, open.length * 10)
    for (const { series, endedAt } of open) {
      rooms.get(series).endedAt = endedAt ?? undefined
      rooms.series(series, gatekeeper)
      want(gatekeeper, series, random.next() * spread)
    }
  }

  function startDue(): void {
    const now = clock.monotonic()
    if (outage.until > now) return
    for (let task = agenda.take(now); task; task = agenda.take(now)) {
      lanes.get(task.stream.name)!.ready.push({ task, due: now })
    }
    for (const lane of lanes.values()) {
      const { concurrency } = app.streams[lane.stream.name]!
      while (lane.running < concurrency && lane.ready.length > 0) start(lane, lane.ready.shift()!.task)
      const lateBy = lane.ready.length > 0 ? now - lane.ready[0]!.due : 0
      meter.schedule({ app: app.id, stream: lane.stream.name }, { series: lane.ready.length, lateBy })
    }
  }

  function start(lane: Lane, task: Task): void {
    const { stream, series } = task
    if (stream.scope === 'room' && stream.name !== gatekeeper && waitsForLog(stream.name, series)) return
    const key = `${stream.name} ${series}`
    lane.running += 1
    visiting.set(key, Infinity)
    const run = runVisit(lane, task).finally(() => {
      lane.running -= 1
      inHand.delete(run)
      wake.abort()
    })
    inHand.add(run)
  }

  /** The log of the room goes first: it alone can tell whether the roomUuid still means the same room. */
  function waitsForLog(stream: StreamName, room: string): boolean {
    if (rooms.verified(room, clock.monotonic(), settings.roomMemory)) return false
    rooms.series(room, stream).held = true
    want(gatekeeper, room, 0)
    return true
  }

  async function runVisit(lane: Lane, task: Task): Promise<void> {
    const { stream, series } = task
    let within: number | undefined
    try {
      if (stream.kind === 'feed') await beforeFeed()
      const result = await visit(
        { ...context, fence: context.fence(), stream, series, priority: priorityOf(stream) },
        lane.learnt,
      )
      outage.failures = 0
      within = await after(stream, series, result)
    } catch (error) {
      within = afterError(stream, series, error)
    }
    const again = visiting.get(`${stream.name} ${series}`) ?? Infinity
    visiting.delete(`${stream.name} ${series}`)
    const hinted = again - clock.monotonic()
    if (within !== undefined || hinted < Infinity)
      want(stream.name, series, Math.min(within ?? Infinity, hinted))
  }

  /** A consuming answer that nobody stored may have held events of any room: all logs are read again. */
  async function beforeFeed(): Promise<void> {
    if (feed.unread && (await store.recordUnread(context.fence(), app.id)) > 0) {
      feed.gapsOpen = true
      const { activeEvery } = rooms.settings(gatekeeper)
      for (const room of rooms.names()) want(gatekeeper, room, random.next() * activeEvery)
    }
    feed.unread = false
    if (feed.gapsOpen) feed.gapsOpen = (await store.settleFeedGaps(context.fence(), app.id)) > 0
  }

  /** Answers in how many ms the series is visited next; undefined when it is not. */
  async function after(stream: Stream, series: string, result: VisitResult): Promise<number | undefined> {
    if (result.opened) rooms.get(series).endedAt = undefined
    hint(result.hints, stream.name)
    const { activeEvery } = app.streams[stream.name]!
    switch (result.end) {
      case 'done':
        failed.delete(`${stream.name} ${series}`)
        return stream.scope === 'app'
          ? afterFeed(activeEvery, result)
          : afterReading(stream.name, series, result)
      case 'failed':
      case 'looped':
        if (stream.kind === 'feed') feed.unread = true
        return afterFailure(stream, series, result)
      case 'gone':
        return afterGone(stream.name, series)
      case 'busy':
        return random.next() * 1_000
      case 'unverified':
        rooms.get(series).verifiedAt = undefined
        return waitsForLog(stream.name, series) ? undefined : activeEvery
      case 'fenced':
        context.onFenced()
        return undefined
      case 'stopped':
        return undefined
    }
  }

  async function afterReading(
    stream: StreamName,
    room: string,
    result: VisitResult,
  ): Promise<number | undefined> {
    const memory = rooms.series(room, stream)
    if (stream === gatekeeper) openRoom(room)
    const { endedAt } = rooms.get(room)
    const finding = { news: result.fresh > 0, unfinished: result.unfinished }
    const cadence = rooms.settings(stream)
    const next = nextVisit(cadence, { quiet: memory.quiet, endedAt }, finding, clock.now(), random.next())
    if (next.kind === 'visit') {
      memory.quiet = next.quiet
      return next.after
    }
    if (stream === gatekeeper && !rooms.othersClosed(room)) return cadence.activeEvery
    memory.closed = true
    await store.closeSeries(context.fence(), app.id, stream, room)
    if (stream === gatekeeper) rooms.forget(room)
    return undefined
  }

  /** The log was read: streams that waited for it, or that have not met the room yet, may go. */
  function openRoom(room: string): void {
    const memory = rooms.get(room)
    memory.verifiedAt = clock.monotonic()
    for (const stream of rooms.streams()) {
      if (stream === gatekeeper) continue
      const series = memory.series.get(stream)
      if (series && !series.held) continue
      rooms.series(room, stream).held = false
      want(stream, room, 0)
    }
  }

  function afterFailure(stream: Stream, series: string, { failure }: VisitResult): number {
    const backoff = failure ? reactions[failure.kind] : faultBackoff
    return retryDelay(backoff, countFailure(stream, series), random.next(), failure?.retryAfter)
  }

  async function afterGone(stream: StreamName, room: string): Promise<number | undefined> {
    if (stream !== gatekeeper) {
      rooms.series(room, stream).closed = true
      want(gatekeeper, room, 0)
      return undefined
    }
    await store.forgetRoom(context.fence(), app.id, room)
    rooms.forget(room)
    log.info('the provider no longer knows a room; its log is final', { app: app.id })
    return undefined
  }

  function afterError(stream: Stream, series: string, error: unknown): number {
    const labels = { app: app.id, stream: stream.name }
    if (stream.kind === 'feed') feed.unread = true
    if (error instanceof StoreUnavailable && contention.has(error.code)) {
      log.info('two commits met; one of them is tried again', { ...labels, code: error.code })
      return random.next() * 1_000
    }
    if (error instanceof StoreUnavailable) {
      meter.page(labels, 'store_unavailable')
      if (outage.until <= clock.monotonic()) {
        outage.failures += 1
        outage.until = clock.monotonic() + retryDelay(storeBackoff, outage.failures, random.next())
        log.error('the database is not available; nothing is asked until it is', {
          ...labels,
          code: error.code,
        })
      }
      return 0
    }
    log.error('a visit failed by a fault of this program; it is tried again', { ...labels, error })
    return retryDelay(faultBackoff, countFailure(stream, series), random.next())
  }

  function countFailure(stream: Stream, series: string): number {
    const key = `${stream.name} ${series}`
    const failures = (failed.get(key) ?? 0) + 1
    failed.set(key, failures)
    return failures
  }

  async function loop(): Promise<void> {
    await beginWhenPossible()
    while (!signal.aborted) {
      startDue()
      const now = clock.monotonic()
      const until = Math.max(agenda.next() ?? Infinity, outage.until)
      wake = new AbortController()
      await clock.sleep(
        Math.max(0, Math.min(until - now, LONGEST_NAP_MS)),
        AbortSignal.any([signal, wake.signal]),
      )
    }
    await Promise.all(inHand)
  }

  async function beginWhenPossible(): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        return await begin()
      } catch (error) {
        log.error('an app could not be started; trying again', { app: app.id, error })
        await clock.sleep(retryDelay(storeBackoff, failures, random.next()), signal)
      }
    }
  }

  return { app: app.id, done: loop() }
}

function afterFeed(every: number, { fresh, unfinished }: VisitResult): number {
  return unfinished && fresh > 0 ? 0 : every
}

/** The poller looks at its agenda at least this often, ms, so that its gauges are never older. */
const LONGEST_NAP_MS = 10_000

function priorityOf(stream: Stream): Priority {
  return stream.kind === 'feed' || stream.name === gatekeeper ? 'live' : 'revisit'
}

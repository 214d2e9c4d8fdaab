import { expired, owed } from '../planning/coverage.ts'
import { LIVE_PATIENCE } from '../planning/live-channels.ts'
import { lengthOf, subtract } from '../planning/ranges.ts'
import { boundsOf, frameOf, type WindowRules } from '../planning/windows.ts'
import type { RangeLimits } from '../provider/limits.ts'
import { detailStreamNames, type WindowSeries, type WindowStream } from '../streams/stream.ts'
import type { DrainContext } from './drain.ts'
import { afterFault, SOON_MS } from './faults.ts'
import type { Found, Job, Source } from './job.ts'
import type { LiveChoice } from './live-choice.ts'
import type { LiveChannel, Purpose, WindowProgress } from './ports.ts'
import type { RangeRules } from './range-rules.ts'
import type { WindowSettings } from './settings.ts'
import { type Offer, offersOf, waitOf } from './window-offers.ts'
import { settleWindow } from './window-outcome.ts'
import { readWindow, toldBy } from './window-reading.ts'
import { newSeries, type SeriesState } from './window-series.ts'

export interface WindowSourceContext {
  readonly context: DrainContext
  readonly stream: WindowStream
  readonly settings: WindowSettings
  /** The channels that are asked about while something goes on in them. */
  readonly choice: LiveChoice
  readonly rules: RangeRules
  /** What the plan allows of the details of a call; undefined where they are not drained. */
  readonly details: RangeLimits | undefined
  /** How long one round of the limit group takes at its fastest, seconds. */
  readonly round: number
}

interface Followed {
  readonly one: WindowSeries
  readonly state: SeriesState
  /** Of a channel that is asked about while something goes on in it: whether that is over. */
  passing?: 'going on' | 'over'
}

/** What has left the reach is moved to the gap ledger at least this often, ms, and before each reading. */
const EXPIRE_EVERY_MS = 600_000

/** A first start goes back as far as the plan reaches, less what leaves the reach until it is read, seconds. */
export const FIRST_LEAD = 60

/** Someone may have asked for ranges to be read again: they are looked for at least this often, ms. */
export const LOOK_EVERY_MS = 60_000

const noSeries: ReadonlySet<string> = new Set()

/** The series of one window stream of an app: what is owed of each, and how to get it. */
export function createWindowSource(source: WindowSourceContext): Source {
  const { context, stream, settings, choice, rules, details, round } = source
  const { app, clock, store, meter, log } = context
  const labels = { app: app.id, stream: stream.name }
  const followed = new Map<string, Followed>(
    settings.series.map(one => [
      one.key,
      { one, state: newSeries(clock.monotonic(), settings.revisitEvery) },
    ]),
  )
  let expiredAt = Number.NEGATIVE_INFINITY
  let chosen: readonly LiveChannel[] = []

  const { frame, finalAfter } = settings
  const rulesOf = ({ step }: Pick<WindowSeries, 'step'>): WindowRules => rules.of({ step, frame, finalAfter })

  async function begin(): Promise<void> {
    const fence = context.fence()
    // Details of calls that were out of their reach before anyone asked are owed by nobody.
    for (const name of details ? detailStreamNames : []) {
      await store.beginWindows(fence, app.id, name, [''], rules.now() - details!.reach)
    }
    await beginSeries(settings.series, 'lasting')
    const open = new Set((await store.windows(app.id, stream.name)).map(({ series }) => series))
    await choose(open)
    for (const series of open) {
      if (!followed.has(series)) await store.leaveWindows(fence, app.id, stream.name, series)
    }
  }

  /** All that can be had of the past is owed, or nothing of it. */
  async function beginSeries(all: readonly WindowSeries[], kind: 'lasting' | 'passing'): Promise<void> {
    const alike = Map.groupBy(all, ({ step, expects }) => `${step} ${expects}`)
    for (const series of alike.values()) {
      const { step, expects } = series[0]!
      const from =
        kind === 'lasting'
          ? frameOf(rulesOf({ step }), rules.now() + FIRST_LEAD + round).edge
          : frameOf(rulesOf({ step }), rules.now()).horizon
      const keys = series.map(({ key }) => key)
      const valueEach = expects === 'each' ? step : undefined
      await store.beginWindows(
        context.fence(),
        app.id,
        stream.name,
        keys,
        from,
        valueEach,
        kind === 'passing',
      )
    }
  }

  /** Follows the channels in which something goes on, and no longer those in which it is over. `open`: series that were. */
  async function choose(open: ReadonlySet<string>): Promise<void> {
    const { live } = settings
    if (!live) return
    const isAsked = (channel: string) => live.of(channel).some(({ key }) => open.has(key))
    const now = await choice.now(live.most, isAsked)
    if (now === chosen) return
    const wanted = new Map(
      now.flatMap(({ channel, endedAt }) =>
        live.of(channel).map(one => [one.key, { one, endedAt }] as const),
      ),
    )
    const fresh = [...wanted.values()].filter(({ one }) => !followed.has(one.key))
    await beginSeries(
      fresh.map(({ one }) => one),
      'passing',
    )
    for (const { one } of fresh) {
      const state = newSeries(clock.monotonic(), settings.revisitEvery)
      // Nothing is owed yet of one that is new.
      if (!open.has(one.key)) state.liveAt += settings.every
      followed.set(one.key, { one, state, passing: 'going on' })
    }
    for (const [key, each] of followed) {
      const still = wanted.get(key)
      if (still && each.passing) each.passing = still.endedAt === null ? 'going on' : 'over'
      if (still || !each.passing || each.state.isBusy) continue
      await store.leaveWindows(context.fence(), app.id, stream.name, key)
      followed.delete(key)
    }
    chosen = now
  }

  async function find(): Promise<Found> {
    if (followed.size === 0) return { jobs: [], again: LOOK_EVERY_MS }
    await choose(noSeries)
    // What ends while progress is being read stands in it as it did before.
    const wasBusy = new Set([...followed].filter(([, { state }]) => state.isBusy).map(([key]) => key))
    const known = await progressOfAll()
    const progress = (await expire(known)) ? await progressOfAll() : known
    gauge(progress)
    const jobs = progress.filter(({ series }) => !wasBusy.has(series)).flatMap(jobsOf)
    const waits = [...followed.values()].map(({ state }) => waitOf(state, clock.monotonic()))
    return { jobs, again: Math.min(LOOK_EVERY_MS, ...waits) }
  }

  async function progressOfAll(): Promise<readonly WindowProgress[]> {
    return (await store.windows(app.id, stream.name)).filter(({ series }) => followed.has(series))
  }

  /** Whether something left the reach unread. */
  async function expire(progress: readonly WindowProgress[]): Promise<boolean> {
    const isTime = clock.monotonic() - expiredAt >= EXPIRE_EVERY_MS
    const moved = { lost: 0, absent: 0 }
    for (const each of progress) {
      const { one, state } = followed.get(each.series)!
      const edge = rules.gone(one.step)
      const isDue = isTime || state.liveAt <= clock.monotonic()
      // A window that is being read would find its series moved on.
      if (!isDue || state.isBusy || expired(each, edge).length === 0) continue
      const { lost, absent } = await store.expireWindows(
        context.fence(),
        app.id,
        stream.name,
        each.series,
        edge,
      )
      moved.lost += lost
      moved.absent += absent
    }
    if (isTime) expiredAt = clock.monotonic()
    if (moved.lost > 0) log.warn('data left the reach of the plan unread', { ...labels, gaps: moved.lost })
    if (moved.absent > 0) log.info('promised values were never served', { ...labels, gaps: moved.absent })
    return moved.lost + moved.absent > 0
  }

  function jobsOf(progress: WindowProgress): readonly Job[] {
    const each = followed.get(progress.series)!
    const { one, state } = each
    const at = clock.monotonic()
    if (state.isBusy || state.notBefore > at) return []
    const offers = offersOf({ progress, state, rules: rulesOf(one), settings, now: rules.now(), at })
    return offers.map(offer => {
      // What fails is asked again at the cost of repairs, and not of the series that are well.
      const purpose = state.isFailing ? 'repair' : claimOf(each, offer)
      return {
        ...{ purpose, expiresAt: offer.expiresAt, completes: false, isFailing: state.failures > 0 },
        run: () => run(each, offer, purpose, progress),
      }
    })
  }

  /** A channel that goes on has the lowest claim on the budget, as long as nothing of it may be lost by that. */
  function claimOf({ passing }: Followed, { purpose, expiresAt }: Offer): Purpose {
    if (passing !== 'going on' || purpose !== 'live') return purpose
    const left = expiresAt - rules.now()
    return left > rulesOf({ step: 1 }).reach * (1 - LIVE_PATIENCE) ? 'backfill' : 'live'
  }

  async function run(
    { one, state }: Followed,
    { purpose, range }: Offer,
    paidFor: Purpose,
    { version }: WindowProgress,
  ): Promise<void> {
    state.isBusy = true
    const began = clock.monotonic()
    try {
      const reading = {
        ...{ stream, series: one, rules: rulesOf(one), range, version, details },
        ...{ plannedAt: rules.now(), unfinished: [], isUncertain: false, number: 1 },
      }
      const attempt = rules.begin(boundsOf(reading.rules, range))
      if (!attempt) {
        state.notBefore = began + SOON_MS
        return
      }
      const page = { ...context, fence: context.fence(), purpose: paidFor }
      const result = await attempt.of(readWindow(page, rules, reading), toldBy)
      const states = () => followed.values().map(each => each.state)
      await settleWindow(
        { context, settings, rules, followed: states },
        { reading, state, purpose, began, result },
      )
    } catch (error) {
      state.notBefore = clock.monotonic() + afterFault(context, stream.name, error, () => ++state.failures)
    } finally {
      state.isBusy = false
    }
  }

  function gauge(progress: readonly WindowProgress[]): void {
    const [now, at] = [rules.now(), clock.monotonic()]
    // What the provider was asked for and does not serve is no backlog.
    const left = progress.flatMap(each =>
      subtract(owed(each, frameOf(rulesOf(followed.get(each.series)!.one), now)), each.missing),
    )
    const oldest = Math.min(...left.map(({ from }) => from))
    // Channels that come and go are asked about as far as the budget goes, and never late.
    const lasting = [...followed.values()].filter(({ passing }) => !passing)
    const late = lasting.map(({ state }) => at - state.liveAt).filter(ms => ms > 0)
    meter.schedule(labels, { series: late.length, lateBy: Math.max(0, ...late) })
    meter.owed(labels, {
      seconds: lengthOf(left),
      expiresIn: left.length > 0 ? (oldest + rulesOf({ step: 1 }).reach - now) * 1_000 : null,
    })
  }

  return { begin, find }
}

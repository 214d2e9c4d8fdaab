import { expired, owed } from '../planning/coverage.ts'
import { planWindow } from '../planning/plan-window.ts'
import type { Range } from '../planning/range.ts'
import { intersect, lengthOf } from '../planning/ranges.ts'
import { boundsOf, expiryOf, frameOf, type WindowRules } from '../planning/windows.ts'
import type { RangeLimits } from '../provider/limits.ts'
import type { WindowSeries, WindowStream } from '../streams/stream.ts'
import type { DrainContext } from './drain.ts'
import { afterFault } from './faults.ts'
import type { Found, Job, Source } from './job.ts'
import type { Purpose, WindowProgress } from './ports.ts'
import type { RangeRules } from './range-rules.ts'
import { rejectedSeriesPause, seriesPause } from './reactions.ts'
import { reportFailure } from './refusals.ts'
import type { WindowSettings } from './settings.ts'
import { readWindow, type WindowResult } from './window-reading.ts'
import { newSeries, noteOverfull, noteWhole, type SeriesState } from './window-series.ts'

export interface WindowSourceContext {
  readonly context: DrainContext
  readonly stream: WindowStream
  readonly settings: WindowSettings
  readonly rules: RangeRules
  /** What the plan allows of the details of a call; undefined where they are not drained. */
  readonly details: RangeLimits | undefined
  /** How long one round of the limit group takes at its fastest, seconds. */
  readonly round: number
}

/** What has left the reach is moved to the gap ledger at least this often, ms, and before each reading. */
const EXPIRE_EVERY_MS = 600_000

/** A first start goes back as far as the plan reaches, less what leaves the reach until it is read, seconds. */
const FIRST_LEAD = 60

/** Someone may have asked for ranges to be read again: they are looked for at least this often, ms. */
const LOOK_EVERY_MS = 60_000

/** When nothing is new the newest data are looked for again after this, ms, at the latest. */
const NOTHING_NEW_MS = 20_000

/** The series of one window stream of an app: what is owed of each, and how to get it. */
export function createWindowSource(source: WindowSourceContext): Source {
  const { context, stream, settings, rules, details, round } = source
  const { app, clock, random, store, meter, log } = context
  const labels = { app: app.id, stream: stream.name }
  const states = new Map<string, SeriesState>(
    settings.series.map(({ key }) => [key, newSeries(clock.monotonic())]),
  )
  const series = new Map<string, WindowSeries>(settings.series.map(each => [each.key, each]))
  let expiredAt = Number.NEGATIVE_INFINITY

  const { frame, finalAfter } = settings
  const rulesOf = ({ step }: Pick<WindowSeries, 'step'>): WindowRules => rules.of({ step, frame, finalAfter })

  async function begin(): Promise<void> {
    const fence = context.fence()
    for (const step of new Set(settings.series.map(each => each.step))) {
      const keys = settings.series.filter(each => each.step === step).map(each => each.key)
      const { edge } = frameOf(rulesOf({ step }), rules.now() + FIRST_LEAD + round)
      await store.beginWindows(fence, app.id, stream.name, keys, edge)
    }
    for (const { series: key } of await store.windows(app.id, stream.name)) {
      if (!series.has(key)) await store.closeSeries(fence, app.id, stream.name, key)
    }
  }

  async function find(): Promise<Found> {
    // What ends while progress is being read stands in it as it did before.
    const wasBusy = new Set([...states].filter(([, { isBusy }]) => isBusy).map(([key]) => key))
    const known = (await store.windows(app.id, stream.name)).filter(each => series.has(each.series))
    const progress = (await expire(known)) ? await store.windows(app.id, stream.name) : known
    const now = rules.now()
    const jobs = progress.filter(each => !wasBusy.has(each.series)).flatMap(each => jobsOf(each, now))
    gauge(progress, now)
    return { jobs, again: Math.min(LOOK_EVERY_MS, ...[...states.values()].map(waitOf)) }
  }

  /** Whether something left the reach unread. */
  async function expire(progress: readonly WindowProgress[]): Promise<boolean> {
    const isTime = clock.monotonic() - expiredAt >= EXPIRE_EVERY_MS
    let moved = 0
    for (const each of progress) {
      const edge = rules.gone(series.get(each.series)!.step)
      const isDue = isTime || states.get(each.series)!.liveAt <= clock.monotonic()
      // A window that is being read would find its series moved on.
      if (!isDue || states.get(each.series)!.isBusy || expired(each, edge).length === 0) continue
      moved += await store.expireWindows(context.fence(), app.id, stream.name, each.series, edge)
    }
    if (isTime) expiredAt = clock.monotonic()
    if (moved > 0) log.warn('data left the reach of the plan unread', { ...labels, gaps: moved })
    return moved > 0
  }

  function jobsOf(progress: WindowProgress, now: number): readonly Job[] {
    const state = states.get(progress.series)
    const one = series.get(progress.series)
    if (!state || !one || state.isBusy || state.notBefore > clock.monotonic()) return []
    const limits = rulesOf(one)
    const askable = frameOf(limits, now)
    const stillOwed = owed(progress, askable)
    const job = (purpose: Purpose, range: Range): Job => ({
      purpose,
      // What is not owed costs nothing when it goes.
      expiresAt: expiryOf(limits, intersect(stillOwed, [range])[0] ?? range),
      completes: false,
      run: () => run(state, one, purpose, range, progress),
    })
    state.parts = state.parts.filter(part =>
      stillOwed.some(each => each.from < part.to && part.from < each.to),
    )
    const [part] = state.parts.filter(each => each.from >= askable.edge)
    if (part) return [job('repair', part)]
    let newest: Range | undefined
    return purposesNow(state).flatMap(purpose => {
      const range = planWindow(limits, progress, now, purpose, state.longest)
      if (purpose === 'live') newest = range
      // What lies beside the newest window grows with it until that is read: it would be asked for bit by bit.
      if (range && !(purpose === 'backfill' && range.to === newest?.from)) return [job(purpose, range)]
      if (purpose === 'live') state.liveAt = clock.monotonic() + Math.min(NOTHING_NEW_MS, settings.every)
      if (purpose === 'revisit') state.revisitAt = clock.monotonic() + settings.revisitEvery
      return []
    })
  }

  /** In how many ms a series may have something to ask for that it has not now. */
  function waitOf({ isBusy, notBefore, liveAt, revisitAt }: SeriesState): number {
    if (isBusy) return Number.POSITIVE_INFINITY
    const at = clock.monotonic()
    const next = [notBefore, liveAt, revisitAt].filter(time => time > at)
    return Math.min(...next) - at
  }

  function purposesNow({ liveAt, revisitAt }: SeriesState): readonly ('live' | 'revisit' | 'backfill')[] {
    const at = clock.monotonic()
    return [
      ...(at >= liveAt ? (['live'] as const) : []),
      ...(at >= revisitAt ? (['revisit'] as const) : []),
      'backfill',
    ]
  }

  async function run(
    state: SeriesState,
    one: WindowSeries,
    purpose: Purpose,
    range: Range,
    { version }: WindowProgress,
  ): Promise<void> {
    state.isBusy = true
    try {
      const reading = {
        ...{ stream, series: one, rules: rulesOf(one), range, version, details },
        ...{ plannedAt: rules.now(), unfinished: [], number: 1 },
      }
      const began = clock.monotonic()
      await after(
        state,
        one,
        purpose,
        range,
        began,
        await readWindow({ ...context, fence: context.fence(), purpose }, rules, reading),
      )
    } catch (error) {
      state.notBefore = clock.monotonic() + afterFault(context, stream.name, error, () => ++state.failures)
    } finally {
      state.isBusy = false
    }
  }

  async function after(
    state: SeriesState,
    one: WindowSeries,
    purpose: Purpose,
    range: Range,
    began: number,
    { end, failure, hints, madeWork }: WindowResult,
  ): Promise<void> {
    if (hints.length > 0) context.onRooms(hints)
    if (madeWork) context.onWork()
    switch (end) {
      case 'whole':
      case 'overflow':
        context.health.worked()
        state.failures = 0
        noteWhole(state, range)
        if (end === 'overflow')
          log.error('one second holds more than the provider lists; it is in the gap ledger', labels)
        if (purpose === 'live') state.liveAt = began + settings.every
        if (purpose === 'revisit') state.revisitAt = began + settings.revisitEvery
        return
      case 'narrow':
        context.health.worked()
        noteOverfull(state, range, one.step)
        if (purpose === 'live') state.liveAt = began + settings.every
        return
      case 'failed':
        return afterFailure(state, one, range, failure!)
      case 'fenced':
        context.onFenced()
        state.notBefore = clock.monotonic() + context.settings.renewEvery
        return
      case 'busy':
      case 'late':
      case 'stopped':
        return
    }
  }

  async function afterFailure(
    state: SeriesState,
    one: WindowSeries,
    range: Range,
    failure: NonNullable<WindowResult['failure']>,
  ): Promise<void> {
    state.failures += 1
    rules.tighten(failure.kind, boundsOf(rulesOf(one), range))
    const pause =
      failure.kind === 'bad_request'
        ? rejectedSeriesPause(state.failures, random.next())
        : seriesPause(failure, state.failures, random.next())
    state.notBefore = clock.monotonic() + pause
    await reportFailure({ ...context, stream, series: one.key }, failure)
  }

  function gauge(progress: readonly WindowProgress[], now: number): void {
    const left = progress.flatMap(each => {
      const one = series.get(each.series)
      return one ? owed(each, frameOf(rulesOf(one), now)) : []
    })
    const oldest = Math.min(...left.map(range => range.from))
    const { reach } = rulesOf({ step: 1 })
    const late = [...states.values()].map(({ liveAt }) => clock.monotonic() - liveAt).filter(ms => ms > 0)
    meter.schedule(labels, { series: late.length, lateBy: Math.max(0, ...late) })
    meter.owed(labels, {
      seconds: lengthOf(left),
      expiresIn: left.length > 0 ? (oldest + reach - now) * 1_000 : null,
    })
  }

  return { begin, find }
}

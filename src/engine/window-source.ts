import { expired, owed } from '../planning/coverage.ts'
import { planWindow } from '../planning/plan-window.ts'
import type { Range } from '../planning/range.ts'
import { between, intersect, lengthOf, union } from '../planning/ranges.ts'
import { boundsOf, expiryOf, frameOf, type WindowRules } from '../planning/windows.ts'
import type { FailureKind } from '../provider/errors.ts'
import type { RangeLimits } from '../provider/limits.ts'
import { detailStreamNames, type WindowSeries, type WindowStream } from '../streams/stream.ts'
import type { DrainContext } from './drain.ts'
import { afterFault, SOON_MS } from './faults.ts'
import type { Found, Job, Source } from './job.ts'
import type { Purpose, WindowProgress } from './ports.ts'
import type { RangeRules } from './range-rules.ts'
import { questionPause } from './reactions.ts'
import { reportFailure } from './refusals.ts'
import type { WindowSettings } from './settings.ts'
import { readWindow, type WindowResult } from './window-reading.ts'
import { newSeries, noteOverfull, noteTooLong, noteWhole, type SeriesState } from './window-series.ts'

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

/** Answers that cannot be used, though the question was allowed: a part of the range may be what spoils them. */
const unreadable: ReadonlySet<FailureKind> = new Set<FailureKind>(['malformed', 'too_large'])

/** After so many of them in a row the range is asked for in parts. */
const FAILURES_THAT_PART = 2

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
    // Details of calls that were out of their reach before anyone asked are owed by nobody.
    for (const name of details ? detailStreamNames : []) {
      await store.beginWindows(fence, app.id, name, [''], rules.now() - details!.reach)
    }
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
    if (series.size === 0) return { jobs: [], again: LOOK_EVERY_MS }
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
      isFailing: state.failures > 0,
      run: () => run(state, one, purpose, range, progress),
    })
    state.parts = state.parts.filter(part => intersect(stillOwed, [part]).length > 0)
    const [part] = state.parts.filter(({ from, to }) => from >= askable.edge && to <= askable.horizon)
    let newest: Range | undefined
    const planned = purposesNow(state).flatMap(purpose => {
      const range = planWindow(
        limits,
        purpose === 'revisit' ? onwards(progress, state) : progress,
        now,
        purpose,
        state.longest,
      )
      if (purpose === 'live') newest = range
      if (!range) {
        rest(state, one, purpose, now)
        return []
      }
      // What lies beside the newest window grows with it until that is read: it would be asked for bit by bit.
      if (purpose === 'backfill' && range.to === newest?.from) return []
      return [job(purpose, range)]
    })
    if (!part) return planned
    // Where halves wait, only what is newer than all of them is asked for beside.
    const after = Math.max(...state.parts.map(({ to }) => to))
    const beside =
      newest && newest.to > after ? [job('live', { from: Math.max(newest.from, after), to: newest.to })] : []
    return [job('repair', part), ...beside]
  }

  /** There is nothing to do for a purpose: when to look again. */
  function rest(
    state: SeriesState,
    one: WindowSeries,
    purpose: 'live' | 'revisit' | 'backfill',
    now: number,
  ): void {
    const at = clock.monotonic()
    if (purpose === 'live') {
      const { delay, margin } = rulesOf(one)
      const next = frameOf(rulesOf(one), now).horizon + one.step + delay + margin.end - now
      state.liveAt = at + Math.min(settings.every, Math.max(NOTHING_NEW_MS, next * 1_000))
    }
    if (purpose === 'revisit') {
      // The round is over; the next one begins with the oldest again.
      state.revisitAt = at + settings.revisitEvery
      state.revisitedTo = 0
    }
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
        if (purpose === 'revisit') state.revisitedTo = range.to
        return
      case 'narrow':
        context.health.worked()
        noteOverfull(state, range, one.step)
        if (purpose === 'live') state.liveAt = began + settings.every
        return
      case 'endless':
        noteTooLong(state, range, one.step)
        return
      case 'failed':
        return afterFailure(state, one, range, failure!)
      case 'fenced':
        context.onFenced()
        state.notBefore = clock.monotonic() + context.settings.renewEvery
        return
      case 'busy':
      case 'late':
        state.notBefore = clock.monotonic() + SOON_MS
        return
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
    state.notBefore = clock.monotonic() + questionPause(failure, state.failures, random.next())
    await reportFailure({ ...context, stream, series: one.key }, failure)
    if (!unreadable.has(failure.kind) || state.failures < FAILURES_THAT_PART) return
    if (range.to - range.from > one.step) noteOverfull(state, range, one.step)
    else await giveUp(one, range)
  }

  /** One step that can never be read must not keep the others from being read. */
  async function giveUp(one: WindowSeries, range: Range): Promise<void> {
    const known = (await store.windows(app.id, stream.name)).find(each => each.series === one.key)
    if (!known) return
    await store.commitWindow({
      ...{
        app: app.id,
        stream: stream.name,
        series: one.key,
        fence: context.fence(),
        version: known.version,
      },
      ...{
        covers: [],
        sees: [range],
        loses: [{ ...range, reason: 'refused' }],
        rows: {},
        rejects: [],
        work: [],
      },
    })
    log.error('a range cannot be read in any size; it is in the gap ledger', labels)
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

/** Progress without what this round has looked at again: a call that never ends must not keep it at its beginning. */
function onwards(progress: WindowProgress, { revisitedTo }: SeriesState): WindowProgress {
  return { ...progress, lost: union(progress.lost, between(progress.owedFrom, revisitedTo)) }
}

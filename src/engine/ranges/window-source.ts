import { expired, owed } from '../../planning/coverage.ts'
import { LIVE_PATIENCE } from '../../planning/live-channels.ts'
import { lengthOf, subtract } from '../../planning/ranges.ts'
import type { Purpose } from '../../planning/shares.ts'
import { boundsOf, frameOf, type WindowRules } from '../../planning/windows.ts'
import type { Failure, FailureKind } from '../../provider/errors.ts'
import type { WindowSeries, WindowSettings } from '../../streams/stream.ts'
import { isOfTheQuestion, questionPause } from '../admission/retry-rules.ts'
import { afterFault, reportFailure, SOON_MS } from '../failures.ts'
import type { WindowProgress } from '../ports.ts'
import type { GroupContext, PendingRequest, PendingWork, WorkSource } from './group-scheduler.ts'
import type { RangeRules } from './range-rules.ts'
import { type Followed, followWindows, type WindowSourceContext } from './window-following.ts'
import { type ReadingResult, readWindow, toldBy, type WindowReading } from './window-reading.ts'
import {
  noteMalformed,
  noteOverfull,
  noteTooLong,
  noteWhole,
  type Offer,
  offersOf,
  type SeriesState,
  trustSeries,
  waitOf,
} from './window-series.ts'

/** What has left the reach is moved to the gap ledger at least this often, ms, and before each reading. */
const EXPIRE_EVERY_MS = 600_000

/** Someone may have asked for ranges to be read again: they are looked for at least this often, ms. */
export const LOOK_EVERY_MS = 60_000

export interface WindowSource extends WorkSource {
  /** A window of the app that could not be read is read again. */
  readonly trust: () => void
}

/** The series of one window stream of an app: what is owed of each, and how to get it. */
export function createWindowSource(source: WindowSourceContext): WindowSource {
  const { context, stream, settings, rules, details } = source
  const { app, clock, store, meter, log } = context
  const labels = { app: app.id, stream: stream.name }
  const { series: followed, begin, renew } = followWindows(source)
  let expiredAt = Number.NEGATIVE_INFINITY

  const { frame, allowedLateness } = settings
  const rulesOf = ({ step }: Pick<WindowSeries, 'step'>): WindowRules =>
    rules.of({ step, frame, allowedLateness })

  async function find(): Promise<PendingWork> {
    if (followed.size === 0) return { requests: [], again: LOOK_EVERY_MS }
    await renew()
    // What ends while progress is being read stands in it as it did before.
    const wasBusy = new Set([...followed].filter(([, { state }]) => state.isBusy).map(([key]) => key))
    const known = await progressOfAll()
    const progress = (await expire(known)) ? await progressOfAll() : known
    gauge(progress)
    const requests = progress.filter(({ series }) => !wasBusy.has(series)).flatMap(requestsOf)
    const waits = [...followed.values()].map(({ state }) => waitOf(state, clock.monotonic()))
    return { requests, again: Math.min(LOOK_EVERY_MS, ...waits) }
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
      const upperBound = rules.gone(one.step)
      const isDue = isTime || state.liveAt <= clock.monotonic()
      // A window that is being read would find its series moved on.
      if (!isDue || state.isBusy || expired(each, upperBound).length === 0) continue
      const { lost, absent } = await store.expireWindows(
        context.fence(),
        app.id,
        stream.name,
        each.series,
        upperBound,
      )
      moved.lost += lost
      moved.absent += absent
    }
    if (isTime) expiredAt = clock.monotonic()
    if (moved.lost > 0) log.warn('data left the reach of the plan unread', { ...labels, gaps: moved.lost })
    if (moved.absent > 0) log.info('promised values were never served', { ...labels, gaps: moved.absent })
    return moved.lost + moved.absent > 0
  }

  function requestsOf(progress: WindowProgress): readonly PendingRequest[] {
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
    return left > rulesOf({ step: 1 }).availableData * (1 - LIVE_PATIENCE) ? 'backfill' : 'live'
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
      await settleWindow({ context, settings, rules }, { reading, state, purpose, began, result })
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
      expiresIn: left.length > 0 ? (oldest + rulesOf({ step: 1 }).availableData - now) * 1_000 : null,
    })
  }

  function trust(): void {
    const states = followed.values().map(({ state }) => state)
    trustSeries(states, clock.monotonic())
  }

  return { begin, find, trust }
}

export interface OutcomeContext {
  readonly context: GroupContext
  readonly settings: WindowSettings
  readonly rules: RangeRules
}

/** A reading that has ended, and what it was for. */
export interface Ended {
  readonly reading: WindowReading
  readonly state: SeriesState
  readonly purpose: Purpose
  /** When it began, on the monotonic clock, ms. */
  readonly began: number
  readonly result: ReadingResult
}

/** After so many answers in a row that cannot be used, though the question was allowed, it is asked in parts. */
const FAILURES_THAT_PART = 2

/** What the end of a reading means for the windows to come. Throws StoreUnavailable. */
async function settleWindow(outcome: OutcomeContext, ended: Ended): Promise<void> {
  const { context, settings } = outcome
  const { reading, state, purpose, began, result } = ended
  const { range, series, stream } = reading
  const labels = { app: context.app.id, stream: stream.name }
  if (result.hints.length > 0) context.onRooms(result.hints)
  if (result.madeWork) context.onWork()
  switch (result.end) {
    case 'whole':
    case 'overflow':
      if (result.end === 'overflow') {
        context.log.error('one second holds more than the provider lists; it is in the gap ledger', labels)
      }
      context.health.worked()
      noteAnswered(outcome, state)
      noteWhole(state, range)
      if (purpose === 'live') state.liveAt = began + settings.every
      if (purpose === 'revisit') state.revisitedTo = range.to
      if (purpose === 'repair') state.repairedTo = range.to
      return
    case 'narrow':
      context.health.worked()
      noteAnswered(outcome, state)
      noteOverfull(state, range, series.step)
      if (purpose === 'live') state.liveAt = began + settings.every
      return
    case 'endless':
      noteTooLong(state, range, series.step)
      return
    case 'failed':
      return afterFailure(outcome, ended, result.failure!)
    case 'fenced':
      context.onFenced()
      state.notBefore = context.clock.monotonic() + context.settings.renewEvery
      return
    case 'busy':
    case 'late':
      state.notBefore = context.clock.monotonic() + SOON_MS
      return
    case 'stopped':
      return
  }
}

function noteAnswered({ context }: OutcomeContext, state: SeriesState): void {
  const wasFailing = state.isFailing
  state.failures = 0
  state.isFailing = false
  state.wasTrusted = false
  if (wasFailing) context.onRecovered()
}

async function afterFailure({ context }: OutcomeContext, ended: Ended, failure: Failure): Promise<void> {
  const { reading, state } = ended
  const { stream, series } = reading
  const isOfQuestion = isOfTheQuestion(failure.kind)
  // Refusals of a range and failures of the group are passed within minutes: they make no first failure of the question late.
  state.failures = isOfQuestion && !state.isFailing ? 1 : state.failures + 1
  state.isFailing = isOfQuestion
  const patience = { available: reading.rules.availableData, chance: context.random.next() }
  state.notBefore = context.clock.monotonic() + questionPause(failure, state.failures, patience)
  await reportFailure({ ...context, stream, series: series.key }, failure)
  if (state.failures < FAILURES_THAT_PART) return
  if (isUnreadable(failure.kind, ended)) await giveUp(context, reading)
}

/** Asks for less where that may be read; whether it is one step that cannot be. */
function isUnreadable(kind: FailureKind, { reading: { range, series }, state }: Ended): boolean {
  if (kind === 'malformed') return noteMalformed(state, range, series.step) === 'spoilt'
  if (kind !== 'too_large') return false
  if (range.to - range.from <= series.step) return true
  noteOverfull(state, range, series.step)
  return false
}

/** One step that can never be read must not keep the others from being read. */
async function giveUp(
  { app, store, fence, log }: GroupContext,
  { stream, series, range }: WindowReading,
): Promise<void> {
  const known = (await store.windows(app.id, stream.name)).find(each => each.series === series.key)
  if (!known) return
  await store.commitWindow({
    ...{ app: app.id, stream: stream.name, series: series.key, fence: fence(), version: known.version },
    ...{ covers: [], sees: [range], misses: [], loses: [{ ...range, reason: 'refused' }] },
    ...{ rows: {}, rejects: [], work: [] },
  })
  log.error('a range cannot be read in any size; it is in the gap ledger', {
    app: app.id,
    stream: stream.name,
  })
}

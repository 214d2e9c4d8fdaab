import { pauseOf } from '../../planning/cadence.ts'
import { expired } from '../../planning/coverage.ts'
import { LIVE_PATIENCE } from '../../planning/live-channels.ts'
import type { Purpose } from '../../planning/shares.ts'
import { boundsOf, type WindowRules } from '../../planning/windows.ts'
import type { Failure, FailureKind } from '../../provider/errors.ts'
import type { WindowSeries } from '../../streams/page.ts'
import { isOfTheQuestion, mayBeOfTheQuestion, questionPause } from '../admission/retry-rules.ts'
import { afterFault, reportFailure, SOON_MS } from '../failures.ts'
import type { LostRange, StreamLabels, WindowProgress } from '../ports.ts'
import {
  type GroupContext,
  heldAlone,
  type PendingRequest,
  type PendingWork,
  type WorkSource,
} from './group-scheduler.ts'
import { WindowBacklog } from './window-backlog.ts'
import { type Followed, WindowFollowing, type WindowSourceContext } from './window-following.ts'
import { type Offer, offersOf, timeOfferOf, waitOf } from './window-offers.ts'
import { type ReadingResult, readWindow, toldBy, type WindowReading } from './window-reading.ts'
import {
  isBehindOthers,
  isMalformedAgain,
  noteAnswered,
  noteFailedAsGroup,
  noteMalformed,
  noteOverfull,
  noteTooLarge,
  noteTooLong,
  noteWhole,
  type SeriesState,
  trustSeries,
} from './window-series.ts'

/** What has expired is moved to the gap ledger at least this often, ms, and before each reading. */
const EXPIRE_EVERY_MS = 600_000

/** Someone may have asked for ranges to be read again: they are looked for at least this often, ms. */
export const LOOK_EVERY_MS = 60_000

/** A reading that has ended, and what it was for. */
export interface Ended {
  readonly reading: WindowReading
  readonly state: SeriesState
  readonly purpose: Purpose
  /** When it began, on the monotonic clock, ms. */
  readonly began: number
  readonly result: ReadingResult
}

/** So many pages are not read in vain again: where some fail by chance, a window of more might never come to its end. */
const MANY_PAGES = 10

/** So much more, seconds, is worth a question before its time. */
const FURTHER = 60

/** The series of one window stream of an app: what each still lacks, and how to get it. */
export class WindowSource implements WorkSource {
  readonly #source: WindowSourceContext
  readonly #context: GroupContext
  readonly #labels: StreamLabels
  readonly #following: WindowFollowing
  readonly #backlog: WindowBacklog
  #expiredAt = Number.NEGATIVE_INFINITY

  constructor(source: WindowSourceContext) {
    this.#source = source
    this.#context = source.context
    this.#labels = { app: source.context.app.id, stream: source.stream.name }
    this.#following = new WindowFollowing(source)
    this.#backlog = new WindowBacklog(source, this.#followed, series => this.#rulesOf(series))
  }

  get #followed(): ReadonlyMap<string, Followed> {
    return this.#following.series
  }

  /** Makes its series known. */
  begin(): Promise<void> {
    return this.#following.begin()
  }

  async find(): Promise<PendingWork> {
    const { clock } = this.#context
    if (this.#followed.size === 0) return { requests: [], again: LOOK_EVERY_MS }
    await this.#following.renew()
    // What ends while progress is being read stands in it as it did before.
    const wasBusy = new Set([...this.#followed].filter(([, { state }]) => state.isBusy).map(([key]) => key))
    const known = await this.#progressOfAll()
    const progress = (await this.#expire(known)) ? await this.#progressOfAll() : known
    this.#backlog.tell(progress)
    const isBusy = [...this.#followed.values()].some(({ state }) => state.isBusy)
    const held = heldAlone(this.#context, this.#source.stream.operation, isBusy)
    if (held !== undefined) return { requests: [], again: Math.min(held, LOOK_EVERY_MS) }
    const free = progress.filter(({ series }) => !wasBusy.has(series))
    const toTellTime = isBusy ? undefined : this.#timeRequestOf(free)
    const wanted = free.flatMap(each => this.#requestsOf(each))
    const requests = wanted.length === 0 && toTellTime ? [toTellTime()] : wanted
    const waits = [...this.#followed.values()].map(({ state }) => waitOf(state, clock.monotonic()))
    return { requests, again: Math.min(LOOK_EVERY_MS, ...waits) }
  }

  async #progressOfAll(): Promise<readonly WindowProgress[]> {
    const { stream, rules } = this.#source
    const { app, store } = this.#context
    const known = await store.windows(app.id, stream.name, rules.gone(1))
    return known.filter(({ series }) => this.#followed.has(series))
  }

  /** Whether something expired unread. */
  async #expire(progress: readonly WindowProgress[]): Promise<boolean> {
    const { stream, rules } = this.#source
    const { app, clock, store, log } = this.#context
    const isTime = clock.monotonic() - this.#expiredAt >= EXPIRE_EVERY_MS
    const moved = { lost: 0, absent: 0 }
    for (const each of progress) {
      const { one, state } = this.#followed.get(each.series)!
      const lowerBound = rules.gone(one.step)
      const isDue = isTime || state.liveAt <= clock.monotonic()
      // A window that is being read would find its series moved on.
      if (!isDue || state.isBusy || expired(each, lowerBound).length === 0) continue
      const { lost, absent } = await store.expireWindows(
        this.#context.fence(),
        app.id,
        stream.name,
        each.series,
        lowerBound,
      )
      moved.lost += lost
      moved.absent += absent
    }
    if (isTime) this.#expiredAt = clock.monotonic()
    if (moved.lost > 0) log.warn('data expired unread', { ...this.#labels, gaps: moved.lost })
    if (moved.absent > 0)
      log.info('promised values were never served', { ...this.#labels, gaps: moved.absent })
    return moved.lost + moved.absent > 0
  }

  #requestsOf(progress: WindowProgress): readonly PendingRequest[] {
    const { settings, rules, answered } = this.#source
    const { clock } = this.#context
    const each = this.#followed.get(progress.series)!
    const { one, state } = each
    const at = clock.monotonic()
    if (state.isBusy || state.notBefore > at) return []
    const offers = offersOf({ progress, state, rules: this.#rulesOf(one), settings, now: rules.now(), at })
    return offers.map(offer => {
      // What fails is asked again at the cost of repairs, and not of the series that are well.
      const purpose = state.isFailing ? 'repair' : this.#claimOf(each, offer)
      return {
        ...{ purpose, completes: false, isFailing: state.failures > 0 },
        isBehindOthers: isBehindOthers(state, answered.count),
        ...{ expiresAt: offer.expiresAt, askedAt: state.askedAt },
        run: () => this.#run(each, offer, purpose, progress),
      }
    })
  }

  /** A question of one of the series whose answer tells the time, where each of them would wait for it until it is old. */
  #timeRequestOf(progress: readonly WindowProgress[]): (() => PendingRequest) | undefined {
    const { settings, rules } = this.#source
    const at = this.#context.clock.monotonic()
    for (const known of progress) {
      const each = this.#followed.get(known.series)!
      const { one, state, passing } = each
      const told = rules.onceTold(this.#cutOf(one))
      if (!told) return undefined
      if (passing || state.isBusy || state.notBefore > at) continue
      const context = { progress: known, state, rules: this.#rulesOf(one), settings, now: rules.now(), at }
      const offer = timeOfferOf(context, told)
      if (!offer) continue
      return () => {
        // What the series itself may ask for then is due as it was.
        state.liveAt = at
        return {
          ...{ purpose: offer.purpose, completes: false, isFailing: state.failures > 0 },
          ...{ expiresAt: offer.expiresAt, askedAt: state.askedAt },
          run: () => this.#run(each, offer, offer.purpose, known),
        }
      }
    }
    return undefined
  }

  /** A channel that goes on has the lowest claim on the budget, as long as nothing of it may be lost by that. */
  #claimOf({ passing }: Followed, { purpose, expiresAt }: Offer): Purpose {
    const { rules } = this.#source
    if (passing !== 'going on' || purpose !== 'live') return purpose
    const left = expiresAt - rules.now()
    return left > this.#rulesOf({ step: 1 }).availableData * (1 - LIVE_PATIENCE) ? 'backfill' : 'live'
  }

  async #run(
    { one, state }: Followed,
    { purpose, range }: Offer,
    paidFor: Purpose,
    { version }: WindowProgress,
  ): Promise<void> {
    const { stream, rules, details } = this.#source
    const { clock } = this.#context
    state.isBusy = true
    const began = clock.monotonic()
    state.askedAt = began
    try {
      const reading = {
        ...{ stream, series: one, rules: this.#rulesOf(one), range, version, details },
        ...{ plannedAt: rules.now(), unfinished: [], isUncertain: false, number: 1 },
        ...{ before: [], listed: 0, hasMore: false },
      }
      const attempt = rules.begin(boundsOf(reading.rules, range))
      if (!attempt) {
        state.notBefore = began + SOON_MS
        return
      }
      const page = { ...this.#context, fence: this.#context.fence(), purpose: paidFor }
      const result = await attempt.of(readWindow(page, rules, reading, attempt.isOutdated), toldBy)
      await this.#settle({ reading, state, purpose, began, result })
    } catch (error) {
      state.notBefore =
        clock.monotonic() + afterFault(this.#context, stream.name, error, () => ++state.failures)
    } finally {
      state.isBusy = false
    }
  }

  /** A window of the app that could not be read is read again. */
  trust(): void {
    const { clock } = this.#context
    const states = this.#followed.values().map(({ state }) => state)
    trustSeries(states, clock.monotonic())
  }

  /** What the end of a reading means for the windows to come. Throws StoreUnavailable. */
  async #settle(ended: Ended): Promise<void> {
    const { settings } = this.#source
    const { reading, state, purpose, began, result } = ended
    const { range, series } = reading
    const context = this.#context
    const { clock } = context
    const next = began + pauseOf(settings, clock.now() - (clock.monotonic() - began))
    if (result.hints.length > 0) context.onRooms(result.hints)
    if (result.madeWork) context.onWork()
    switch (result.end) {
      case 'whole':
      case 'overflow':
        if (result.end === 'overflow') {
          context.log.error(
            'one second holds more than the provider lists; it is in the gap ledger',
            this.#labels,
          )
        }
        context.health.worked()
        this.#noteAnswered(state)
        noteWhole(state, range)
        this.#backlog.noteRead(series.key, range, began)
        if (purpose === 'live' && !this.#reachesFurther(reading)) state.liveAt = next
        if (purpose === 'revisit') state.revisitedTo = range.to
        if (purpose === 'repair') state.repairedTo = range.to
        return
      case 'narrow':
        context.health.worked()
        this.#noteAnswered(state)
        noteOverfull(state, range, series.step)
        if (purpose === 'live') state.liveAt = next
        return
      case 'endless':
        noteTooLong(state, range, series.step)
        return
      case 'failed':
        return this.#afterFailure(ended, result.failure!)
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

  /** Planned before the provider had told the time, a window ends long before what may be asked for now. */
  #reachesFurther({ rules, series }: WindowReading): boolean {
    return rules.margin.end > this.#rulesOf(series).margin.end + FURTHER
  }

  #noteAnswered(state: SeriesState): void {
    this.#source.answered.count += 1
    if (noteAnswered(state)) this.#context.onRecovered()
  }

  async #afterFailure(ended: Ended, failure: Failure): Promise<void> {
    const { reading, state } = ended
    const { stream, series } = reading
    const alone = mayBeOfTheQuestion(failure.kind) && noteFailedAsGroup(state, this.#source.answered.count)
    const isOfQuestion = alone || isOfTheQuestion(failure.kind)
    // Refusals of a range and failures of the group are passed within minutes: they make no first failure of the question late.
    state.failures = isOfQuestion && !state.isFailing ? 1 : state.failures + 1
    state.isFailing = isOfQuestion
    const reason = unreadable(failure.kind, ended)
    if ((ended.result.pages ?? 0) >= MANY_PAGES) noteTooLong(state, reading.range, series.step)
    const patience = {
      available: reading.rules.availableData,
      chance: this.#context.random.next(),
      round: this.#source.pacer.evenRound(),
      alone,
    }
    state.notBefore = this.#context.clock.monotonic() + questionPause(failure, state.failures, patience)
    await reportFailure({ ...this.#context, stream, series: series.key }, failure)
    if (reason) await this.#giveUp(reading, reason)
  }

  /** One step that can never be read must not keep the others from being read. */
  async #giveUp({ stream, series, range }: WindowReading, reason: LostRange['reason']): Promise<void> {
    const { app, store, log } = this.#context
    const known = (await this.#progressOfAll()).find(each => each.series === series.key)
    if (!known) return
    await store.commitWindow({
      app: app.id,
      stream: stream.name,
      series: series.key,
      fence: this.#context.fence(),
      version: known.version,
      ...{ covers: [], sees: [range], misses: [], loses: [{ ...range, reason }] },
      ...{ rows: {}, rejects: [], work: [] },
    })
    log.error('a range cannot be read in any size; it is in the gap ledger', this.#labels)
  }

  #rulesOf(series: Pick<WindowSeries, 'step'>): WindowRules {
    return this.#source.rules.of(this.#cutOf(series))
  }

  #cutOf({ step }: Pick<WindowSeries, 'step'>) {
    const { frame, allowedLateness } = this.#source.settings
    return { step, frame, allowedLateness }
  }
}

/** Asks for less where that may be read; why one step that cannot be is given up. */
function unreadable(
  kind: FailureKind,
  { reading: { range, series }, state }: Ended,
): LostRange['reason'] | undefined {
  if (kind === 'malformed') {
    const isSpoilt = isMalformedAgain(state, range) && noteMalformed(state, range, series.step) === 'spoilt'
    return isSpoilt ? 'unreadable' : undefined
  }
  if (kind !== 'too_large') return undefined
  return noteTooLarge(state, range, series.step) === 'spoilt' ? 'too_large' : undefined
}

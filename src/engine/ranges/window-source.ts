import { expired, owed } from '../../planning/coverage.ts'
import { LIVE_PATIENCE } from '../../planning/live-channels.ts'
import { lengthOf, subtract } from '../../planning/ranges.ts'
import type { Purpose } from '../../planning/shares.ts'
import { boundsOf, frameOf, type WindowRules } from '../../planning/windows.ts'
import type { WindowSeries } from '../../streams/stream.ts'
import { afterFault, SOON_MS } from '../faults.ts'
import type { WindowProgress } from '../ports.ts'
import type { PendingRequest, PendingWork, WorkSource } from './pending-work.ts'
import { type Followed, followWindows, type WindowSourceContext } from './window-following.ts'
import { type Offer, offersOf, waitOf } from './window-offers.ts'
import { settleWindow } from './window-outcome.ts'
import { readWindow, toldBy } from './window-reading.ts'

/** What has left the reach is moved to the gap ledger at least this often, ms, and before each reading. */
const EXPIRE_EVERY_MS = 600_000

/** Someone may have asked for ranges to be read again: they are looked for at least this often, ms. */
export const LOOK_EVERY_MS = 60_000

/** The series of one window stream of an app: what is owed of each, and how to get it. */
export function createWindowSource(source: WindowSourceContext): WorkSource {
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
      expiresIn: left.length > 0 ? (oldest + rulesOf({ step: 1 }).availableData - now) * 1_000 : null,
    })
  }

  return { begin, find }
}

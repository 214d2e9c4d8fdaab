import { pauseOf } from '../../planning/cadence.ts'
import type { Failure } from '../../provider/errors.ts'
import { questionPause } from '../admission/retry-rules.ts'
import { afterFault, isBlocked } from '../failures.ts'
import { type ItemBounds, type OpenItem, StoreUnavailable, type StreamLabels } from '../ports.ts'
import type { SubstreamSettings } from '../settings.ts'
import { Expiry } from './expiry.ts'
import {
  type GroupContext,
  heldAlone,
  type PendingRequest,
  type PendingWork,
  type WorkSource,
} from './group-scheduler.ts'
import { type ItemContext, ItemReader, keyOf } from './item-reading.ts'
import { PutOff } from './put-off.ts'
import type { Shortage } from './shortage.ts'

interface ItemSourceContext extends ItemContext {
  readonly context: GroupContext
  readonly settings: SubstreamSettings
  readonly shortage: Shortage
}

/** What ended longer ago than this share of the available data, or than this, seconds, is past: newer work goes first. */
const LIVE_SHARE = 0.25
const LIVE_SECONDS = 6 * 3_600

/** The backlog is measured at most this often, ms: while it is large, the list is long. */
const MEASURE_EVERY_MS = 30_000

/** A round is over when for so long, ms, nothing was there to fetch. */
const ROUND_QUIET_MS = 600_000

/** The work queue is looked at again after this, ms, when nobody said that there is work. */
const LOOK_EVERY_MS = 60_000

/** What was asked for and could not be stored costs as much as what could not be read. */
const unstored: Failure = { kind: 'malformed', text: 'the page could not be stored' }

/** The work queue of one stream of an app. */
export class ItemSource implements WorkSource {
  readonly #source: ItemSourceContext
  readonly #context: GroupContext
  readonly #labels: StreamLabels
  /** Items that are being fetched. */
  readonly #busy = new Set<string>()
  /** Items whose page could not be stored, though the database is well. */
  readonly #unstored: PutOff
  readonly #reader: ItemReader
  readonly #expiry: Expiry
  #measuredAt = Number.NEGATIVE_INFINITY
  /** When the next round begins, and when there was last something to fetch, on the monotonic clock, ms. */
  #roundAt = Number.NEGATIVE_INFINITY
  #workedAt = Number.NEGATIVE_INFINITY
  /** Until it is known whose the app is nothing of it is fetched, on the monotonic clock, ms. */
  #fencedUntil = Number.NEGATIVE_INFINITY

  constructor(source: ItemSourceContext) {
    this.#source = source
    this.#context = source.context
    this.#labels = { app: source.context.app.id, stream: source.stream.name }
    this.#unstored = new PutOff(source.context.clock)
    this.#expiry = new Expiry(source.context, source.stream)
    this.#reader = new ItemReader(source, () => this.#fence())
  }

  /** Its items are made known by other streams. */
  async begin(): Promise<void> {}

  async find(): Promise<PendingWork> {
    const { stream, rules, availableData, settings, shortage } = this.#source
    const { clock } = this.#context
    const now = rules.now()
    const bounds = rules.bounds()
    await this.#expiry.run(rules.gone(1))
    this.#unstored.forget(availableData * 1_000)
    await this.#measure(now)
    const held = heldAlone(this.#context, stream.operation, this.#busy.size > 0)
    if (held !== undefined) return { requests: [], again: Math.min(held, LOOK_EVERY_MS) }
    const rest = Math.max(this.#roundAt, this.#fencedUntil) - clock.monotonic()
    if (rest > 0) return { requests: [], again: Math.min(rest, LOOK_EVERY_MS) }
    await shortage.look()
    // What ends while the list is being read is in it as it was before.
    const wasBusy = new Set(this.#busy)
    const recent = now - Math.min(availableData * LIVE_SHARE, LIVE_SECONDS)
    const limit = settings.concurrency + this.#busy.size + this.#unstored.waiting().length
    const since = clock.monotonic()
    const isShort = shortage.isShort()
    const young = { ...bounds, after: Math.max(bounds.after, recent) }
    const live = await this.#list(young, limit, isShort ? 'newest' : 'oldest')
    const after = bounds.after + (stream.part === 'begins' ? shortage.lead() : 0)
    const past = await this.#list({ ...bounds, after, upTo: recent }, limit)
    const isFree = (item: OpenItem) =>
      !this.#busy.has(keyOf(item)) && !wasBusy.has(keyOf(item)) && !this.#unstored.isWaiting(keyOf(item))
    // Where the newest go first it alone is offered: of several, what expires first would be chosen.
    const newest = isShort ? live.find(item => this.#failuresOf(item) === 0 && isFree(item)) : undefined
    const offered = newest ? live.filter(item => item === newest || this.#failuresOf(item) > 0) : live
    const free = [...offered, ...past].filter(isFree)
    this.#noteRound(free.length > 0 || wasBusy.size > 0)
    return {
      requests: free.map(item => this.#requestOf(item, recent, now - bounds.after)),
      again: free.length > 0 ? LOOK_EVERY_MS : await this.#idle(bounds, since),
    }
  }

  /** Items that may be fetched. Those that fail must not fill the list each time: beside them stand as many that do not. */
  async #list(bounds: ItemBounds, limit: number, first?: 'newest' | 'oldest'): Promise<readonly OpenItem[]> {
    const { stream } = this.#source
    const { app, store } = this.#context
    const listed = await store.items(app.id, stream.name, bounds, limit, first)
    const failing = listed.filter(({ failures }) => failures > 0)
    if (failing.length === 0 || listed.length < limit) return listed
    const well = { ...bounds, isWell: true }
    return [...failing, ...(await store.items(app.id, stream.name, well, limit, first))]
  }

  /** A round goes on for a while when nothing is left, since other streams may just be making the work of it. */
  #noteRound(hasWork: boolean): void {
    const { settings } = this.#source
    const { clock } = this.#context
    const now = clock.monotonic()
    if (hasWork || this.#workedAt <= this.#roundAt) this.#workedAt = now
    if (now - this.#workedAt < Math.min(ROUND_QUIET_MS, settings.every / 2)) return
    this.#roundAt = now + pauseOf(settings, clock.now())
  }

  /** For how many ms there is nothing to fetch, where there was nothing `since` (monotonic ms). */
  async #idle(bounds: ItemBounds, since: number): Promise<number> {
    const { stream } = this.#source
    const { app, clock, store } = this.#context
    const wait = await store.itemDueIn(app.id, stream.name, bounds, clock.monotonic() - since)
    return Math.min(LOOK_EVERY_MS, wait ?? LOOK_EVERY_MS, this.#unstored.next())
  }

  /** Failures in a row, those included that stand in the memory of this process alone. */
  #failuresOf(item: OpenItem): number {
    return item.failures + this.#unstored.failures(keyOf(item))
  }

  async #measure(now: number): Promise<void> {
    const { stream, availableData } = this.#source
    const { app, clock, store, meter } = this.#context
    if (clock.monotonic() - this.#measuredAt < MEASURE_EVERY_MS) return
    const { seconds, oldest } = await store.backlogItems(app.id, stream.name)
    this.#measuredAt = clock.monotonic()
    meter.backlog(this.#labels, {
      seconds,
      expiresIn: oldest === null ? null : (oldest + availableData - now) * 1_000,
    })
  }

  /** `reach`: how far back questions may go now, seconds, which a refusal may have taught. */
  #requestOf(item: OpenItem, recent: number, reach: number): PendingRequest {
    const { stream } = this.#source
    const isLive = item.origin === 'live' && item.from > recent
    const isFailing = this.#failuresOf(item) > 0
    const purpose = isFailing ? 'repair' : isLive ? 'live' : 'backfill'
    // What someone wants once more was not begun lately, and has no more than its share.
    const completes = stream.part === 'completes' && item.origin === 'live'
    return {
      ...{ purpose, completes, isFailing },
      isBehindOthers: this.#reader.isBehindOthers,
      expiresAt: item.from + reach,
      run: () => this.#run(item, purpose),
    }
  }

  async #run(item: OpenItem, purpose: PendingRequest['purpose']): Promise<void> {
    const { stream } = this.#source
    const failures = () => this.#failuresOf(item) + 1
    this.#busy.add(keyOf(item))
    try {
      await this.#reader.read(item, purpose)
      this.#unstored.done(keyOf(item))
    } catch (error) {
      if (isBlocked(this.#context, error, this.#labels)) this.#putOff(item)
      else {
        afterFault(this.#context, stream.name, error, failures)
        // The database is waited for by all; what this program fails on would cost a request each time.
        if (!(error instanceof StoreUnavailable)) this.#waitFor(item)
      }
    } finally {
      this.#busy.delete(keyOf(item))
    }
  }

  /** Whoever lost the shard is stopped by then; else it was ours again all the time. */
  #fence(): void {
    const { clock, settings } = this.#context
    this.#context.onFenced()
    this.#fencedUntil = clock.monotonic() + settings.renewEvery
  }

  /** The others have their turn. A call may be so large that it can never be stored in time. */
  #putOff(item: OpenItem): void {
    const { log } = this.#context
    log.warn('what was told of a call could not be stored; it is asked for again later', this.#labels)
    this.#waitFor(item)
  }

  #waitFor(item: OpenItem): void {
    const { availableData } = this.#source
    const { random } = this.#context
    this.#unstored.add(keyOf(item), failures =>
      questionPause(unstored, item.failures + failures, { available: availableData, chance: random.next() }),
    )
  }
}

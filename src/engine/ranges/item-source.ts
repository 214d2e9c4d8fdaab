import type { Failure, FailureKind } from '../../provider/errors.ts'
import { requestLine } from '../../provider/operation.ts'
import type { SubstreamPage, SubstreamResult, WorkItem } from '../../streams/page.ts'
import type { Substream } from '../../streams/stream.ts'
import { LARGE_ANSWER } from '../admission/load.ts'
import { questionPause } from '../admission/retry-rules.ts'
import type { PageContext, Task } from '../context.ts'
import { afterFault, reportFailure } from '../failures.ts'
import { poll } from '../poll-page.ts'
import {
  type Grant,
  type ItemBounds,
  type ItemCommit,
  type ItemLoss,
  type OpenItem,
  StoreUnavailable,
  type StreamLabels,
} from '../ports.ts'
import type { GroupContext, PendingRequest, PendingWork, WorkSource } from './group-scheduler.ts'
import type { RangeRules } from './range-rules.ts'
import type { Shortage } from './shortage.ts'

export interface ItemSourceContext {
  readonly context: GroupContext
  readonly stream: Substream
  readonly rules: RangeRules
  /** How far back details are served, seconds. */
  readonly availableData: number
  /** Items that are fetched at the same time. */
  readonly concurrency: number
  readonly shortage: Shortage
}

/** What ended longer ago than this share of the available data, or than this, seconds, is past: newer work goes first. */
const LIVE_SHARE = 0.25
const LIVE_SECONDS = 6 * 3_600

/** What has expired is moved to the gap ledger this often, ms. */
const EXPIRE_EVERY_MS = 300_000

/** The backlog is measured at most this often, ms: while it is large, the list is long. */
const MEASURE_EVERY_MS = 30_000

/** The work queue is looked at again after this, ms, when nobody said that there is work. */
const LOOK_EVERY_MS = 60_000

/** What a failure says of an item that expires with it; of the others it only expired. */
const losses: Readonly<Partial<Record<FailureKind, ItemLoss>>> = {
  bad_request: 'refused',
  not_found: 'vanished',
  too_large: 'too_large',
}

/** An answer that was served but not understood in whole is met like one that was not understood at all. */
const unread: Failure = { kind: 'malformed', text: 'something was set aside' }

/** Pages of one item at most. */
const MOST_PAGES = 10_000

/** The work queue of one stream of an app. */
export class ItemSource implements WorkSource {
  readonly #source: ItemSourceContext
  readonly #context: GroupContext
  readonly #labels: StreamLabels
  /** Items that are being fetched. */
  readonly #busy = new Set<string>()
  readonly #weights = createWeights()
  #expiredAt = Number.NEGATIVE_INFINITY
  #measuredAt = Number.NEGATIVE_INFINITY

  constructor(source: ItemSourceContext) {
    this.#source = source
    this.#context = source.context
    this.#labels = { app: source.context.app.id, stream: source.stream.name }
  }

  /** Its items are made known by other streams. */
  async begin(): Promise<void> {}

  async find(): Promise<PendingWork> {
    const { stream, rules, availableData, concurrency, shortage } = this.#source
    const { app, clock, store } = this.#context
    const now = rules.now()
    const bounds = rules.bounds()
    await this.#expire(rules.gone(1))
    await this.#measure(now)
    await shortage.look()
    // What ends while the list is being read is in it as it was before.
    const wasBusy = new Set(this.#busy)
    const recent = now - Math.min(availableData * LIVE_SHARE, LIVE_SECONDS)
    const limit = concurrency + this.#busy.size
    const since = clock.monotonic()
    const isShort = shortage.isShort()
    const young = { ...bounds, after: Math.max(bounds.after, recent) }
    const live = await store.items(app.id, stream.name, young, limit, isShort ? 'newest' : 'oldest')
    const after = bounds.after + (stream.part === 'begins' ? shortage.lead() : 0)
    const past = await store.items(app.id, stream.name, { ...bounds, after, upTo: recent }, limit)
    const isFree = (item: OpenItem) => !this.#busy.has(keyOf(item)) && !wasBusy.has(keyOf(item))
    // Where the newest go first it alone is offered: of several, what expires first would be chosen.
    const newest = isShort ? live.find(item => item.failures === 0 && isFree(item)) : undefined
    const offered = newest ? live.filter(item => item === newest || item.failures > 0) : live
    const free = [...offered, ...past].filter(isFree)
    return {
      requests: free.map(item => this.#requestOf(item, recent)),
      again: free.length > 0 ? LOOK_EVERY_MS : await this.#idle(bounds, since),
    }
  }

  /** For how many ms there is nothing to fetch, where there was nothing `since` (monotonic ms). */
  async #idle(bounds: ItemBounds, since: number): Promise<number> {
    const { stream } = this.#source
    const { app, clock, store } = this.#context
    const wait = await store.itemDueIn(app.id, stream.name, bounds, clock.monotonic() - since)
    return Math.min(LOOK_EVERY_MS, wait ?? LOOK_EVERY_MS)
  }

  async #expire(lowerBound: number): Promise<void> {
    const { stream } = this.#source
    const { app, clock, store, log } = this.#context
    if (clock.monotonic() - this.#expiredAt < EXPIRE_EVERY_MS) return
    const lost = await store.expireItems(this.#context.fence(), app.id, stream.name, lowerBound)
    this.#expiredAt = clock.monotonic()
    if (lost > 0) log.warn('details of calls expired unread', { ...this.#labels, gaps: lost })
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

  #requestOf(item: OpenItem, recent: number): PendingRequest {
    const { stream, availableData } = this.#source
    const isLive = item.origin === 'live' && item.from > recent
    const purpose = item.failures > 0 ? 'repair' : isLive ? 'live' : 'backfill'
    const completes = stream.part === 'completes'
    return {
      ...{ purpose, completes, isFailing: item.failures > 0 },
      expiresAt: item.from + availableData,
      run: () => this.#run(item, purpose),
    }
  }

  async #run(item: OpenItem, purpose: PendingRequest['purpose']): Promise<void> {
    const { stream } = this.#source
    const { clock } = this.#context
    this.#busy.add(keyOf(item))
    try {
      await this.#fetchItem(item, purpose)
    } catch (error) {
      await clock.sleep(
        afterFault(this.#context, stream.name, error, () => item.failures + 1),
        this.#context.signal,
      )
    } finally {
      this.#busy.delete(keyOf(item))
    }
  }

  /** Fetches an item page by page. */
  async #fetchItem(first: OpenItem, purpose: PendingRequest['purpose']): Promise<void> {
    const { stream, rules } = this.#source
    const { health } = this.#context
    if (first.inHandOf !== null && first.inHandOf !== this.#context.fence().owner)
      return await this.#lighten(first)
    const fitting = this.#parts(first)
    if (fitting) return await this.#replace(first, fitting)
    let item = first
    const again = this.#pauseOf(item, unread)
    for (let pages = 0; pages < MOST_PAGES; pages++) {
      const fence = this.#context.fence()
      const shorter = item.to - item.from >= rules.timeFrame() ? stream.shorten(item) : undefined
      if (shorter) return await this.#replace(item, shorter)
      const life = (item.from - rules.bounds().after) * 1_000
      if (life <= 0 || this.#context.signal.aborted) return
      const attempt = rules.begin({ start: item.from, end: item.to })
      if (!attempt) return
      const page = { ...this.#context, fence, purpose }
      const task = itemTask(page, stream, item, { life, again })
      const result = await attempt.of(poll(page, task), told => {
        return told.outcome === 'failed' ? told.failure.kind : told.outcome === 'read' ? 'served' : 'unknown'
      })
      if (result.outcome === 'failed') return this.#afterFailure(item, result.failure)
      if (result.outcome === 'fenced') return this.#context.onFenced()
      if (result.outcome !== 'read') return
      const { stored, pageResult, fill } = result
      if (stored.outcome === 'fenced') return this.#context.onFenced()
      if (stored.outcome !== 'committed') return
      health.worked()
      if (stream.several && fill !== undefined) this.#weights.learn(stream.several.count(item), fill)
      if (pageResult.work.length > 0) this.#context.onWork()
      if (pageResult.reading === 'whole') return
      item = { ...item, version: stored.version, page: item.page + 1, streamState: pageResult.streamState }
    }
  }

  /** Items that ask for as much as fits into one answer; undefined where the item does itself. */
  #parts(item: OpenItem): readonly WorkItem[] | undefined {
    const { stream } = this.#source
    const most = this.#weights.most()
    if (!stream.several || item.page > 1 || stream.several.count(item) <= most) return undefined
    return stream.several.divide(item, most)
  }

  /** A process did not live to store the answer to it: less is asked for, and what is too much in any size is set aside. */
  async #lighten(item: OpenItem): Promise<void> {
    const { stream } = this.#source
    const { app, store, log } = this.#context
    const smaller = stream.split(item)
    log.error('a process ended while it read a large answer; less is asked for', {
      ...this.#labels,
      last: !smaller,
    })
    if (smaller) return this.#replace(item, smaller)
    await this.#keepQuestion(item)
    await store.loseItem(this.#context.fence(), app.id, item, 'too_large')
    log.error('details of a call cannot be had; they are in the gap ledger', {
      ...this.#labels,
      reason: 'too_large',
    })
  }

  /** Nobody has the answer, so the question stands for it. */
  async #keepQuestion(item: OpenItem): Promise<void> {
    const { stream } = this.#source
    const { app, store, meter } = this.#context
    const { target } = requestLine(stream.operation, stream.request(app.id, item, item.page))
    const detail = 'a process ended while it read the answer to this question'
    const letter = {
      ...this.#labels,
      series: item.key,
      reason: 'too_large',
      detail,
      body: Buffer.from(target),
    } as const
    if ((await store.deadLetter({ ...letter, alike: 'by body' })) === 'new')
      meter.deadLetters(this.#labels, 'too_large', 1)
  }

  async #afterFailure(item: OpenItem, failure: Failure): Promise<void> {
    const { stream } = this.#source
    const { app, store } = this.#context
    const fence = this.#context.fence()
    const { body: _, ...told } = failure
    const { kind } = told
    const smaller =
      kind === 'too_large'
        ? stream.split(item)
        : kind === 'time_length_limit'
          ? stream.shorten(item)
          : undefined
    // Nothing is set aside of what is asked for in parts now.
    await reportFailure({ ...this.#context, stream, series: item.key }, smaller ? told : failure)
    if (smaller) return this.#replace(item, smaller)
    // Nothing is given up before it cannot be had: who refuses it now may serve it later.
    await store.deferItem(fence, app.id, item, this.#pauseOf(item, failure), losses[kind])
  }

  /** For how long an item that could not be had now is not asked for, ms. */
  #pauseOf({ failures }: OpenItem, failure: Failure): number {
    const { availableData } = this.#source
    const { random } = this.#context
    return questionPause(failure, failures + 1, { available: availableData, chance: random.next() })
  }

  async #replace(item: OpenItem, smaller: readonly WorkItem[]): Promise<void> {
    const { app, store } = this.#context
    await store.splitItem(this.#context.fence(), app.id, item, smaller)
    this.#context.onWork()
  }
}

function keyOf({ key, part }: OpenItem): string {
  return `${key}\n${part}`
}

/** For how many ms an item may still be asked for, and when it is asked for again if not all of it can be read. */
export interface ItemTimes {
  readonly life: number
  readonly again: number
}

/** A page of an item of the work queue. */
function itemTask(
  context: PageContext,
  stream: Substream,
  item: OpenItem,
  { life, again }: ItemTimes,
): Task<SubstreamPage, SubstreamResult> {
  const { app, store } = context
  const asked = stream.request(app.id, item, item.page)
  return {
    stream: stream.name,
    plan: () => ({
      request: requestLine(stream.operation, asked),
      series: item.key,
      life,
      arrived: bytes => takeInHand(context, item, bytes),
    }),
    parse: ({ body }, { receivedAt }) => {
      return { ...stream.read(body), item, number: item.page, asked, receivedAt }
    },
    toRows: page => stream.toRows(page, item.streamState),
    commit: (_, pageResult, grant) =>
      store.commitItem({ ...itemCommit(context, item, pageResult, grant), again }),
    dryRun: (_, pageResult, grant) =>
      store.dryRunItem({ ...itemCommit(context, item, pageResult, grant), again }),
  }
}

/** Without a database there is nothing to be known later, and the page will not be stored either. */
async function takeInHand({ app, fence, store }: PageContext, item: OpenItem, bytes: number): Promise<void> {
  if (bytes < LARGE_ANSWER) return
  await store.takeItemInHand(fence, app.id, item).catch(error => {
    if (!(error instanceof StoreUnavailable)) throw error
  })
}

function itemCommit(
  { app, fence }: PageContext,
  item: OpenItem,
  pageResult: SubstreamResult,
  grant: Grant | undefined,
): Omit<ItemCommit, 'again'> {
  const { rows, rejects, streamState, reading } = pageResult
  const work = pageResult.work.filter(made => app.details[made.stream])
  return {
    ...{ app: app.id, fence, item, rows, rejects, streamState, work },
    nextPage: reading === 'next' ? item.page + 1 : null,
    ...(grant ? { settles: grant } : {}),
  }
}

/** What each of several things in a question adds to its answer, as the last answers tell. */
export interface Weights {
  /** An answer about so many of them took such a share of what an answer may weigh. */
  readonly learn: (count: number, fill: number) => void
  /** So many fit into one answer; without limit where nothing is known. */
  readonly most: () => number
}

/** So many answers are remembered. */
const LAST = 8

/**
 * The lightest of the last answers counts: one request too many is as dear as one whose answer is too large, and where
 * light ones come among heavy ones nobody knows of which kind the next will be.
 */
function createWeights(): Weights {
  const last: number[] = []
  return {
    learn: (count, fill) => {
      last.push(fill / count)
      if (last.length > LAST) last.shift()
    },
    most: () => (last.length > 0 ? Math.max(1, Math.floor(1 / Math.min(...last))) : Infinity),
  }
}

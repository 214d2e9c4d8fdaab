import type { Failure, FailureKind } from '../../provider/errors.ts'
import { requestLine } from '../../provider/operation.ts'
import type { SubstreamPage, SubstreamResult, WorkItem } from '../../streams/page.ts'
import type { Substream } from '../../streams/stream.ts'
import { mayBeOfTheQuestion, questionPause } from '../admission/retry-rules.ts'
import type { PageContext, Task } from '../context.ts'
import { keepLetter, reportFailure } from '../failures.ts'
import { poll } from '../poll-page.ts'
import {
  type Grant,
  type ItemCommit,
  type ItemLoss,
  LARGE_ANSWER,
  type OpenItem,
  StoreUnavailable,
  type StreamLabels,
} from '../ports.ts'
import type { GroupContext, PendingRequest } from './group-scheduler.ts'
import type { RangeRules } from './range-rules.ts'
import { type FailedAsGroup, noteFailedAsGroup } from './window-series.ts'

export interface ItemContext {
  readonly context: GroupContext
  readonly stream: Substream
  readonly rules: RangeRules
  /** How far back details are served, seconds. */
  readonly availableData: number
  /** Questions of its limit group that were answered since this process began. */
  readonly answered: { count: number }
}

/** What a failure says of an item that expires with it; of the others it only expired. */
const losses: Readonly<Partial<Record<FailureKind, ItemLoss>>> = {
  bad_request: 'refused',
  not_found: 'vanished',
  too_large: 'too_large',
}

/** An answer that was served but not understood in whole is met like one that was not understood at all. */
const unread: Failure = { kind: 'malformed', text: 'something was set aside' }

/** So many items are remembered that failed as the whole group may: of those that expired nobody hears again. */
const MOST_FAILING = 1_000

const MOST_PAGES = 10_000

/** Reads items of the work queue of one stream of an app: asks for less where an answer is too large, and defers what fails. */
export class ItemReader {
  readonly #source: ItemContext
  readonly #context: GroupContext
  readonly #labels: StreamLabels
  readonly #onFenced: () => void
  readonly #weights = createWeights()
  /** Of items that failed as the whole group may. */
  readonly #failing = new Map<string, FailedAsGroup>()
  /** How many answers its group had had when one failed last as the whole group may. */
  #answersBefore: number | undefined

  /** `onFenced`: the app is another process's by now. */
  constructor(source: ItemContext, onFenced: () => void) {
    this.#source = source
    this.#onFenced = onFenced
    this.#context = source.context
    this.#labels = { app: source.context.app.id, stream: source.stream.name }
  }

  /** Whether one failed as the whole group may and nothing of the group was answered since: what others ask may tell more. */
  get isBehindOthers(): boolean {
    return this.#answersBefore === this.#source.answered.count
  }

  /** Fetches an item page by page. */
  async read(first: OpenItem, purpose: PendingRequest['purpose']): Promise<void> {
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
      const { isOutdated } = attempt
      const task = itemTask(page, stream, item, { life, again, isOutdated, now: rules.now })
      const result = await attempt.of(poll(page, task), told => {
        return told.outcome === 'failed' ? told.failure.kind : told.outcome === 'read' ? 'served' : 'unknown'
      })
      if (result.outcome === 'failed') return this.#afterFailure(item, result.failure)
      if (result.outcome === 'fenced') return this.#onFenced()
      if (result.outcome !== 'read') return
      const { stored, pageResult, fill } = result
      if (stored.outcome === 'fenced') return this.#onFenced()
      if (stored.outcome !== 'committed') return
      health.worked()
      this.#source.answered.count += 1
      this.#failing.delete(keyOf(item))
      if (stream.several && fill !== undefined) this.#weights.learn(stream.several.count(item), fill)
      if (pageResult.work.length > 0) this.#context.onWork()
      if (pageResult.reading === 'whole') return
      const { streamState } = pageResult
      item = { ...item, version: stored.version, page: item.page + 1, streamState, wasRefused: false }
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
    const { app } = this.#context
    const { target } = requestLine(stream.operation, stream.request(app.id, item, item.page))
    const detail = 'a process ended while it read the answer to this question'
    const letter = { ...this.#labels, series: item.key, reason: 'too_large', detail } as const
    await keepLetter(this.#context, { ...letter, body: Buffer.from(target), alike: 'by body' })
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
    if (kind === 'bad_request' && item.page > 1 && item.wasRefused) return await this.#endBefore(item)
    // Nothing is set aside of what is asked for in parts now.
    await reportFailure({ ...this.#context, stream, series: item.key }, smaller ? told : failure)
    if (smaller) return this.#replace(item, smaller)
    // Nothing is given up before it cannot be had: who refuses it now may serve it later.
    const pause = this.#failsAlone(item, failure) ?? this.#pauseOf(item, failure)
    await store.deferItem(fence, app.id, item, pause, losses[kind])
  }

  /**
   * A page that is refused twice, though those before it were full and served, is one too many: how many there may be is
   * not documented. Where they counted more than they listed, the stream says so.
   */
  async #endBefore(item: OpenItem): Promise<void> {
    const { stream, rules } = this.#source
    const { app, store } = this.#context
    const asked = stream.request(app.id, item, item.page)
    const empty = { item, number: item.page, asked, items: [], isFull: false, now: rules.now() }
    const result = stream.toRows(empty, item.streamState)
    const again = this.#pauseOf(item, unread)
    const at = { app, fence: this.#context.fence() }
    await store.commitItem({ ...itemCommit(at, item, result, undefined), again })
    this.#context.onWork()
  }

  /** For how long an item that could not be had now is not asked for, ms. */
  #pauseOf({ failures }: OpenItem, failure: Failure): number {
    const { availableData } = this.#source
    const { random } = this.#context
    return questionPause(failure, failures + 1, { available: availableData, chance: random.next() })
  }

  /** How long one waits that fails as the whole group may, though others are answered, ms; undefined where that is not known. */
  #failsAlone(item: OpenItem, failure: Failure): number | undefined {
    if (!mayBeOfTheQuestion(failure.kind)) return undefined
    const { availableData, answered } = this.#source
    const { random } = this.#context
    this.#answersBefore = answered.count
    const known = this.#failing.get(keyOf(item)) ?? { answersBefore: undefined, failedAlone: 0 }
    this.#failing.set(keyOf(item), known)
    if (this.#failing.size > MOST_FAILING) this.#failing.delete(this.#failing.keys().next().value!)
    if (!noteFailedAsGroup(known, answered.count)) return undefined
    // What failed in outages before makes no first failure of the question late.
    const row = known.failedAlone - 1
    return questionPause(failure, row, { available: availableData, chance: random.next(), alone: true })
  }

  async #replace(item: OpenItem, smaller: readonly WorkItem[]): Promise<void> {
    const { app, store } = this.#context
    await store.splitItem(this.#context.fence(), app.id, item, smaller)
    this.#context.onWork()
  }
}

/** By which an item is told from the others of its stream. */
export function keyOf({ key, part }: OpenItem): string {
  return `${key}\n${part}`
}

interface ItemTimes {
  /** For how many ms an item may still be asked for. */
  readonly life: number
  readonly isOutdated: () => boolean
  /** In how many ms it is asked for again if not all of it can be read. */
  readonly again: number
  /** The provider's clock, Unix seconds. */
  readonly now: () => number
}

/** A page of an item of the work queue. */
function itemTask(
  context: PageContext,
  stream: Substream,
  item: OpenItem,
  { life, again, isOutdated, now }: ItemTimes,
): Task<SubstreamPage, SubstreamResult> {
  const { app, store } = context
  const asked = stream.request(app.id, item, item.page)
  return {
    stream: stream.name,
    plan: () => ({
      request: requestLine(stream.operation, asked),
      series: item.key,
      life,
      ...{ isPlannedAgain: true, isOutdated },
      arrived: bytes => takeInHand(context, item, bytes),
    }),
    parse: ({ body }) => ({ ...stream.read(body), item, number: item.page, asked, now: now() }),
    toRows: page => stream.toRows(page, item.streamState),
    commit: (_, pageResult, grant) =>
      store.commitItem({ ...itemCommit(context, item, pageResult, grant), again }),
    dryRun: (_, pageResult, grant) =>
      store.dryRun({ ...itemCommit(context, item, pageResult, grant), again }),
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
  { app, fence }: Pick<PageContext, 'app' | 'fence'>,
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

/** So many answers are remembered. */
const LAST = 8

/**
 * What each of several things in a question adds to its answer, as the last answers tell.
 *
 * The lightest of the last answers counts: one request too many is as dear as one whose answer is too large, and where
 * light ones come among heavy ones nobody knows of which kind the next will be.
 */
function createWeights() {
  const last: number[] = []
  return {
    /** An answer about so many of them took such a share of what an answer may weigh. */
    learn: (count: number, fill: number) => {
      last.push(fill / count)
      if (last.length > LAST) last.shift()
    },
    /** So many fit into one answer; without limit where nothing is known. */
    most: (): number => (last.length > 0 ? Math.max(1, Math.floor(1 / Math.min(...last))) : Infinity),
  }
}

import type { RangeLimits } from '../planning/windows.ts'
import {
  isCursor,
  isSubstream,
  isWindow,
  type Stream,
  type StreamName,
  type Substream,
  type WindowSettings,
  type WindowStream,
} from '../streams/stream.ts'
import type { AppContext } from './context.ts'
import type { ClockOffset, WantedRoom } from './ports.ts'
import {
  type GroupContext,
  type GroupScheduler,
  startGroupScheduler,
  type WorkSource,
} from './ranges/group-scheduler.ts'
import { ItemSource } from './ranges/item-source.ts'
import type { Pacer, Pacers } from './ranges/pacer.ts'
import { createRangeRules, type RangeRules } from './ranges/range-rules.ts'
import { createShortage, type Shortage } from './ranges/shortage.ts'
import { createLiveChoice, type LiveChoice, type WindowSourceContext } from './ranges/window-following.ts'
import { WindowSource } from './ranges/window-source.ts'
import { Poller } from './series/poller.ts'

/** A limit group is worth naming urgent when its backlog expires within this share of its available data. */
const SOON_SHARE = 0.1

type BudgetedStream = WindowStream | Substream

interface Group {
  readonly choice: LiveChoice
  readonly rules: RangeRules
  readonly answered: WindowSourceContext['answered']
  /** Seconds. */
  readonly availableData: number
}

export interface AppOptions {
  readonly context: AppContext
  readonly streams: readonly Stream[]
  readonly pacers: Pacers
  /** How far the clock of the analytics service is ahead of ours. */
  readonly clockOffset: () => ClockOffset | undefined
}

/** Everything that keeps one app drained: a poller for its rooms and lists, a scheduler for each limit group of its analytics. */
export class RunningApp {
  readonly #options: AppOptions
  readonly #context: GroupContext
  readonly #poller: Poller
  readonly #windows: WindowSource[] = []
  /** Counters of one table of limits have its ranges in common: what one of them is refused, the other knows. */
  readonly #rules = new Map<RangeLimits, RangeRules>()
  readonly #clockProof = { wasServed: false }
  readonly #groups: readonly GroupScheduler[]
  /**
   * Resolves when all of it has stopped and every page in hand is finished or given up. Rejects as soon as a part has a fault:
   * the others go on until they are told to stop.
   */
  readonly done: Promise<void>

  constructor(options: AppOptions) {
    this.#options = options
    const { context, streams } = options
    const cursors = streams.filter(isCursor).filter(({ name }) => context.app.streams[name])
    this.#poller = new Poller({ ...context, streams: cursors, names: streams.map(({ name }) => name) })
    this.#context = {
      ...context,
      onRooms: hints => this.#poller.discover(hints.map(({ room }) => room)),
      onWork: () => this.wake(),
      onRecovered: () => {
        for (const source of this.#windows) source.trust()
        this.wake()
      },
    }
    const budgeted = [...streams.filter(isWindow), ...streams.filter(isSubstream)]
    const groups = Map.groupBy(budgeted, ({ operation }) => operation.limitGroup)
    this.#groups = [...groups].flatMap(([name, members]) => this.#startGroup(name, members))
    this.done = Promise.all([this.#poller.done, ...this.#groups.map(({ done }) => done)]).then(() => {})
  }

  /** Resolves when no part goes on, whatever became of each. */
  async ended(): Promise<void> {
    await Promise.allSettled([this.#poller.done, ...this.#groups.map(({ done }) => done)])
    await this.#poller.finished()
  }

  wake(): void {
    for (const part of [this.#poller, ...this.#groups]) part.wake()
  }

  /** Has the whole app read anew by a stream; does nothing for a stream that is off or follows rooms or time. */
  schedule(stream: StreamName): void {
    this.#poller.schedule(stream)
  }

  /** Has a room read again that someone wants read from its beginning. */
  reread(wanted: WantedRoom): void {
    this.#poller.reread(wanted)
  }

  #startGroup(name: string, members: readonly BudgetedStream[]): readonly GroupScheduler[] {
    const { pacers, clockOffset, context } = this.#options
    const { app, clock } = this.#options.context
    const limit = app.limits[name]
    if (!limit?.range) return []
    const series = members.reduce((sum, stream) => sum + this.#seriesOf(stream), 0)
    const rules =
      this.#rules.get(limit.range) ?? createRangeRules(limit.range, clock, clockOffset, this.#clockProof)
    this.#rules.set(limit.range, rules)
    const group: Group = {
      rules,
      choice: createLiveChoice(context, rules.now),
      answered: { count: 0 },
      availableData: limit.range.availableData,
    }
    if (!members.some(stream => this.#isDrained(stream))) return []
    const pacer = pacers.of(app.id, name, limit, series)
    const shortage = createShortage({
      context,
      group: name,
      capacity: pacer.share,
      availableData: group.availableData,
      now: group.rules.now,
      parts: members.filter(isSubstream).map(({ part }) => part),
    })
    const sources = members.flatMap(stream => this.#sourceOf(stream, group, { shortage, pacer }))
    const soon = () => (shortage.isShort() ? Number.NEGATIVE_INFINITY : group.availableData * SOON_SHARE)
    return [startGroupScheduler(this.#context, { name, limit, sources, pacer, soon }, group.rules.now)]
  }

  #seriesOf(stream: BudgetedStream): number {
    const { app } = this.#options.context
    return isWindow(stream) ? (app.windows[stream.name]?.series.length ?? 0) : 0
  }

  /** Also where a window stream is off: its series are closed. */
  #isDrained(stream: BudgetedStream): boolean {
    const { app } = this.#options.context
    return isWindow(stream) || app.details[stream.name] !== undefined
  }

  #sourceOf(
    stream: BudgetedStream,
    { choice, rules, answered, availableData }: Group,
    { shortage, pacer }: { readonly shortage: Shortage; readonly pacer: Pacer },
  ): readonly WorkSource[] {
    const { context, streams } = this.#options
    const { app } = context
    if (stream.kind === 'substream') {
      const settings = app.details[stream.name]
      if (!settings) return []
      const own = { stream, rules, availableData, answered, shortage, settings }
      return [new ItemSource({ context: this.#context, ...own })]
    }
    // A stream that is off has its series closed, so that nothing waits for their backlog.
    const settings = app.windows[stream.name] ?? switchedOff
    const made = streams.filter(isSubstream).filter(({ needs }) => needs?.includes(stream.name))
    const first = made.find(({ part, name }) => part === 'begins' && app.details[name])
    const details = first && app.limits[first.operation.limitGroup]?.range
    const substreams = made.map(({ name }) => name)
    const source = new WindowSource({
      ...{ context: this.#context, stream, settings, choice, rules, answered, details, substreams, pacer },
    })
    this.#windows.push(source)
    return [source]
  }
}

const switchedOff: WindowSettings = {
  series: [],
  every: 0,
  allowedLateness: 0,
  frame: 'needed',
}

import type {
  CursorStream,
  Hint,
  Stream,
  StreamName,
  Substream,
  WindowSettings,
  WindowStream,
} from '../streams/stream.ts'
import type { AppContext } from './context.ts'
import type { ClockOffset } from './ports.ts'
import {
  type GroupContext,
  type GroupScheduler,
  startGroupScheduler,
  type WorkSource,
} from './ranges/group-scheduler.ts'
import { createItemSource } from './ranges/item-source.ts'
import type { Pacers } from './ranges/pacer.ts'
import { createRangeRules, type RangeRules } from './ranges/range-rules.ts'
import { createShortage, type Shortage } from './ranges/shortage.ts'
import { createLiveChoice, type LiveChoice } from './ranges/window-following.ts'
import { createWindowSource, type WindowSource } from './ranges/window-source.ts'
import { type Poller, startPoller } from './series/poller.ts'
import type { GroupLimit } from './settings.ts'

/** Everything that keeps one app drained: a poller for its rooms and lists, a drain for each limit group of its analytics. */
export interface RunningApp {
  /** Resolves when all of it has stopped and every page in hand is finished or given up. */
  readonly done: Promise<void>
  readonly wake: () => void
  /** Has the whole app read anew by a stream; does nothing for a stream that is off or follows rooms or time. */
  readonly schedule: (stream: StreamName) => void
  /** Has a room read again that someone wants read from its beginning. */
  readonly reread: Poller['reread']
}

/** A limit group is worth naming urgent when what it owes expires within this share of its reach. */
const SOON_SHARE = 0.1

type BudgetedStream = WindowStream | Substream

interface Group {
  readonly choice: LiveChoice
  readonly rules: RangeRules
  /** Seconds. */
  readonly availableData: number
  /** How long one question of each series takes at its fastest, seconds. */
  readonly round: number
}

export interface AppOptions {
  readonly context: AppContext
  readonly streams: readonly Stream[]
  readonly pacers: Pacers
  /** How far the clock of the analytics service is ahead of ours. */
  readonly clockOffset: () => ClockOffset | undefined
}

export function startApp({ context, streams, pacers, clockOffset }: AppOptions): RunningApp {
  const { app, clock } = context
  const cursors = streams.filter(isCursor).filter(({ name }) => app.streams[name])
  const poller = startPoller({ ...context, streams: cursors, names: streams.map(({ name }) => name) })
  const drainContext: GroupContext = {
    ...context,
    onRooms: (hints: readonly Hint[]) => poller.discover(hints.map(({ room }) => room)),
    onWork: () => wake(),
    onRecovered: () => {
      for (const source of windowSources) source.trust()
      wake()
    },
  }
  const windowSources: WindowSource[] = []
  const budgeted = [...streams.filter(isWindow), ...streams.filter(isSubstream)]
  const groups = Map.groupBy(budgeted, ({ operation }) => operation.limitGroup)
  const drains = [...groups].flatMap(([name, members]) => startGroup(name, members))
  const wake = () => {
    for (const { wake } of [poller, ...drains]) wake()
  }

  function startGroup(name: string, members: readonly BudgetedStream[]): readonly GroupScheduler[] {
    const limit = app.limits[name]
    if (!limit?.range) return []
    const series = members.reduce((sum, stream) => sum + seriesOf(stream), 0)
    const rules = createRangeRules(limit.range, clock, clockOffset)
    const group: Group = {
      rules,
      choice: createLiveChoice(context, rules.now),
      availableData: limit.range.availableData,
      round: series * slowestSpacing(limit),
    }
    if (!members.some(isDrained)) return []
    const pacer = pacers.of(app.id, name, limit, series)
    const shortage = createShortage({
      ...{ context, capacity: pacer.share, availableData: group.availableData, now: group.rules.now },
      parts: members.filter(isSubstream).map(({ part }) => part),
    })
    const sources = members.flatMap(stream => sourceOf(stream, group, shortage))
    const soon = () => (shortage.isShort() ? Number.NEGATIVE_INFINITY : group.availableData * SOON_SHARE)
    return [startGroupScheduler(drainContext, { name, limit, sources, pacer, soon }, group.rules.now)]
  }

  function seriesOf(stream: BudgetedStream): number {
    return stream.kind === 'window' ? (app.windows[stream.name]?.series.length ?? 0) : 0
  }

  /** Also where a window stream is off: its series are closed. */
  function isDrained(stream: BudgetedStream): boolean {
    return stream.kind === 'window' || app.details[stream.name] !== undefined
  }

  function sourceOf(
    stream: BudgetedStream,
    { choice, rules, availableData, round }: Group,
    shortage: Shortage,
  ): readonly WorkSource[] {
    if (stream.kind === 'substream') {
      const settings = app.details[stream.name]
      if (!settings) return []
      return [
        createItemSource({ context: drainContext, stream, rules, availableData, shortage, ...settings }),
      ]
    }
    // A stream that is off has its series closed, so that nobody waits for what they owe.
    const settings = app.windows[stream.name] ?? switchedOff
    const made = streams.filter(isSubstream).filter(({ needs }) => needs?.includes(stream.name))
    const first = made.find(({ part, name }) => part === 'begins' && app.details[name])
    const details = first && app.limits[first.operation.limitGroup]?.range
    const substreams = made.map(({ name }) => name)
    const source = createWindowSource({
      ...{ context: drainContext, stream, settings, choice, rules, details, substreams, round },
    })
    windowSources.push(source)
    return [source]
  }

  return {
    wake,
    schedule: poller.schedule,
    reread: poller.reread,
    done: Promise.all([poller.done, ...drains.map(({ done }) => done)]).then(() => {}),
  }
}

const switchedOff: WindowSettings = {
  series: [],
  every: 0,
  allowedLateness: 0,
  revisitEvery: 0,
  frame: 'needed',
}

/** Seconds from one request to the next at the fastest that lasts longer than a moment. */
function slowestSpacing({ rates }: GroupLimit): number {
  return Math.max(
    0,
    ...rates.filter(({ window }) => window <= 60).map(({ window, requests }) => window / requests),
  )
}

function isCursor(stream: Stream): stream is CursorStream {
  return stream.kind !== 'window' && stream.kind !== 'substream'
}

function isSubstream(stream: Stream): stream is Substream {
  return stream.kind === 'substream'
}

function isWindow(stream: Stream): stream is WindowStream {
  return stream.kind === 'window'
}

import {
  intersect,
  normalise,
  type Range,
  type Ranges,
  subtract,
  withoutValue,
} from '../../planning/ranges.ts'
import { boundsOf, finalPart, type RangeLimits, type WindowRules } from '../../planning/windows.ts'
import { requestLine } from '../../provider/operation.ts'
import type { WindowPage, WindowResult, WindowSeries, WindowStream } from '../../streams/stream.ts'
import type { PageContext } from '../context.ts'
import type { Grant, LostRange, WindowCommit } from '../ports.ts'
import type { Task } from '../task.ts'

/** A window that is being read, page by page. */
export interface WindowReading {
  readonly stream: WindowStream
  readonly series: WindowSeries
  readonly rules: WindowRules
  readonly range: Range
  /** The provider's clock when the window was planned, Unix seconds; what is final is judged by it. */
  readonly plannedAt: number
  /** What the plan allows of the details of a call; undefined where they are not drained. */
  readonly details: RangeLimits | undefined
  /** Seconds of the pages before at which something begins that is still going on. */
  readonly unfinished: readonly number[]
  /** A page before listed something of which cannot be told when it begins. */
  readonly isUncertain: boolean
  /** Page to ask for, from 1. */
  readonly number: number
  readonly version: number
}

/** A plan is made anew after this time, ms, however long it would still be allowed. */
const PLAN_LIFE_MS = 60_000

/** `life` in ms: for how long the window may still be asked for. */
export function windowTask(
  context: PageContext,
  reading: WindowReading,
  life: number,
): Task<WindowPage, WindowResult> {
  const { app, store } = context
  const { stream, series, rules, range, number, plannedAt, details } = reading
  const bounds = boundsOf(rules, range)
  return {
    stream: stream.name,
    plan: () => ({
      request: requestLine(stream.operation, stream.request(app.id, series, bounds, number)),
      series: series.key,
      life: Math.min(PLAN_LIFE_MS, life),
    }),
    parse: ({ body }, { receivedAt }) => {
      return { ...stream.read(body), series, range, number, now: plannedAt, receivedAt, details }
    },
    toRows: page => stream.toRows(page),
    commit: (_, pageResult, grant) => store.commitWindow(windowCommit(context, reading, pageResult, grant)),
    dryRun: (_, pageResult, grant) => store.dryRunWindow(windowCommit(context, reading, pageResult, grant)),
  }
}

/** The window holds more than the provider lists, and cannot be made smaller. */
export function isOverflow({ range, rules }: WindowReading, { reading }: WindowResult): boolean {
  return reading === 'narrow' && range.to - range.from <= rules.step
}

function windowCommit(
  { app, fence }: PageContext,
  reading: WindowReading,
  pageResult: WindowResult,
  grant: Grant | undefined,
): WindowCommit {
  const { stream, series, range, version } = reading
  const { rows, rejects } = pageResult
  const work = pageResult.work.filter(item => app.details[item.stream])
  const isRead = pageResult.reading === 'whole'
  const missing = missingFrom(reading, pageResult)
  const lost: readonly LostRange[] = isOverflow(reading, pageResult) ? [{ ...range, reason: 'overflow' }] : []
  return {
    ...{ app: app.id, stream: stream.name, series: series.key, fence, version, rows, rejects, work },
    covers: isRead ? subtract(finished(reading, pageResult), missing) : [],
    sees: isRead || lost.length > 0 ? [range] : [],
    misses:
      isRead && rejects.length === 0
        ? intersect(missing, finalPart(reading.rules, range, reading.plannedAt))
        : [],
    loses: lost,
    ...(grant ? { settles: grant } : {}),
  }
}

/** What should have a value in the answer and has none; where it has what cannot be read, that may be it. */
function missingFrom({ series, range }: WindowReading, { received }: WindowResult): Ranges {
  return series.expects === 'each' && received ? withoutValue(range, series.step, received) : []
}

/** What is final of the window, without the seconds at which something begins that is still going on. */
function finished(reading: WindowReading, pageResult: WindowResult): Ranges {
  const { rules, range, plannedAt, unfinished } = reading
  if (reading.isUncertain || pageResult.isUncertain) return []
  const open = [...unfinished, ...pageResult.unfinished].map(second => ({ from: second, to: second + 1 }))
  return subtract(finalPart(rules, range, plannedAt), normalise(open))
}

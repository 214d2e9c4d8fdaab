import {
  intersect,
  normalise,
  type Range,
  type Ranges,
  subtract,
  withoutValue,
} from '../../planning/ranges.ts'
import {
  boundsOf,
  finalPart,
  isAllowed,
  type RangeLimits,
  validFor,
  type WindowRules,
} from '../../planning/windows.ts'
import type { Failure } from '../../provider/errors.ts'
import { requestLine } from '../../provider/operation.ts'
import type { Hint, WindowPage, WindowResult, WindowSeries } from '../../streams/page.ts'
import { lackOf } from '../../streams/parts/items.ts'
import type { WindowStream } from '../../streams/stream.ts'
import type { PageContext, Task } from '../context.ts'
import { poll } from '../poll-page.ts'
import type { Grant, LostRange, WindowCommit } from '../ports.ts'
import type { Told } from './learned-bounds.ts'
import type { RangeRules } from './range-rules.ts'

/** How the reading of a window ended, and what it brought for others. */
export interface ReadingResult {
  readonly end: WindowEnd
  readonly failure?: Failure
  /** How many pages were read before it failed. */
  readonly pages?: number
  readonly hints: readonly Hint[]
  /** Work for other streams was made. */
  readonly madeWork: boolean
}

/**
 * `whole`: read; `narrow`: it holds more than is listed; `overflow`: the same of a window that cannot be smaller;
 * `endless`: it has more pages than can be read while it may be asked for; `busy`: someone else moved the series;
 * `late`: planned too long before it could be sent.
 */
type WindowEnd =
  | 'whole'
  | 'narrow'
  | 'overflow'
  | 'endless'
  | 'failed'
  | 'busy'
  | 'late'
  | 'fenced'
  | 'stopped'

/** A window with more pages than this is asked for in smaller ones. */
const MOST_PAGES = 1_000

/** Reads a window page by page, until `isOutdated` says that it must be planned anew. Throws StoreUnavailable. */
export async function readWindow(
  context: PageContext,
  rules: RangeRules,
  first: WindowReading,
  isOutdated: () => boolean,
): Promise<ReadingResult> {
  const found = { hints: [] as Hint[], madeWork: false }
  let reading = first
  while (reading.number <= MOST_PAGES) {
    if (context.signal.aborted) return { end: 'stopped', ...found }
    const life = lifeOf(reading, rules)
    if (life <= 0) return { end: reading.number > 1 ? 'endless' : 'late', ...found }
    const result = await poll(context, windowTask(context, reading, { life, isOutdated }))
    if (result.outcome === 'failed')
      return {
        end: endOf(result.failure, reading),
        failure: result.failure,
        pages: reading.number - 1,
        ...found,
      }
    if (result.outcome === 'late' && reading.number > 1 && !isOutdated()) return { end: 'endless', ...found }
    if (result.outcome !== 'read') return { end: result.outcome, ...found }
    const { stored, page, pageResult } = result
    if (stored.outcome === 'fenced') return { end: 'fenced', ...found }
    if (stored.outcome !== 'committed') return { end: 'busy', ...found }
    found.hints.push(...pageResult.hints)
    found.madeWork ||= pageResult.work.length > 0
    if (isOverflow(reading, pageResult)) return { end: 'overflow', ...found }
    if (pageResult.reading !== 'next') return { end: pageResult.reading, ...found }
    reading = {
      ...reading,
      number: reading.number + 1,
      before: pageResult.listed ?? [],
      listed: reading.listed + pageResult.fresh,
      hasMore: page.hasMore,
      version: stored.version,
      unfinished: [...reading.unfinished, ...pageResult.unfinished],
      isUncertain: reading.isUncertain || pageResult.isUncertain === true,
    }
  }
  return { end: 'narrow', ...found }
}

/** What the end of a reading tells of the bounds that it kept. */
export function toldBy({ end, failure }: ReadingResult): Told {
  if (failure) return failure.kind
  return end === 'whole' || end === 'narrow' || end === 'overflow' ? 'served' : 'unknown'
}

/** For how many ms a window may still be sent; 0 or less when it is too late, or too early. */
function lifeOf({ rules, range }: WindowReading, { now, slack }: RangeRules): number {
  const [bounds, at] = [boundsOf(rules, range), now()]
  return isAllowed(rules, bounds, at) ? (validFor(rules, bounds, at) - slack()) * 1_000 : 0
}

/** A page that is rejected though the first one was not is one too many: how many there may be is not documented. */
function endOf({ kind }: Failure, { number }: WindowReading): WindowEnd {
  return kind === 'bad_request' && number > 1 ? 'narrow' : 'failed'
}

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
  /** Keys of what the page before listed. */
  readonly before: readonly string[]
  /** How much the pages before listed. */
  readonly listed: number
  /** The page before said that something is listed nowhere on it. */
  readonly hasMore: boolean
  readonly version: number
}

interface CountedResult extends WindowResult {
  /** How many items the page before did not list. */
  readonly fresh: number
}

/** A plan is made anew after this time, ms, however long it would still be allowed. */
const PLAN_LIFE_MS = 60_000

interface Waiting {
  /** For how many ms the window may still be asked for. */
  readonly life: number
  readonly isOutdated: () => boolean
}

function windowTask(
  context: PageContext,
  reading: WindowReading,
  { life, isOutdated }: Waiting,
): Task<WindowPage, CountedResult> {
  const { app, store } = context
  const { stream, series, rules, range, number, plannedAt, details } = reading
  const bounds = boundsOf(rules, range)
  return {
    stream: stream.name,
    plan: () => ({
      request: requestLine(stream.operation, stream.request(app.id, series, bounds, number)),
      series: series.key,
      life: Math.min(PLAN_LIFE_MS, life),
      ...{ isPlannedAgain: true, isOutdated },
    }),
    parse: ({ body }, { receivedAt }) => {
      return { ...stream.read(body), series, range, number, now: plannedAt, receivedAt, details }
    },
    toRows: page => followedBy(stream.toRows(page), reading, page),
    ...(stream.standIn && { standIn: stream.standIn }),
    toldByStored: ({ received, unfinished, isUncertain }) => ({
      ...{ unfinished, isUncertain: isUncertain === true },
      ...(received && { received }),
    }),
    commit: (_, pageResult, grant) => store.commitWindow(windowCommit(context, reading, pageResult, grant)),
    dryRun: (_, pageResult, grant) => store.dryRun(windowCommit(context, reading, pageResult, grant)),
  }
}

/**
 * A provider that answers every page number with the same page would never come to an end. One that counts more than is
 * listed, or says that it lists not all, may have the rest on the next page; where that lists nothing new, less must be
 * asked for, or something is missing that nobody knows.
 */
function followedBy(told: WindowResult, before: WindowReading, page: WindowPage): CountedResult {
  const { listed = [], listsAll } = told
  const fresh = countNew(told, before, page)
  const result = { ...told, fresh }
  const isRepeated = listed.length > 0 && fresh === 0
  const end = page.hasMore || (fresh === 0 && before.hasMore) ? 'narrow' : 'whole'
  const isEnd = result.reading === 'next' ? isRepeated : result.reading === 'whole' && !listsAll
  const reading = isEnd ? end : result.reading
  const lacking = lackOf(page.total, before.listed + fresh)
  if (reading !== 'whole' || listsAll || lacking.length === 0) return { ...result, reading }
  if (fresh > 0) return { ...result, reading: 'next' }
  return { ...result, reading, isUncertain: true, rejects: [...result.rejects, ...lacking] }
}

/** How many items a page has that the page before did not list; what it lists twice counts twice, as in its total. */
function countNew({ listed = [] }: WindowResult, { before }: WindowReading, { items }: WindowPage): number {
  const known = new Set(before)
  const repeated = listed.filter(key => known.has(key)).length
  return repeated === listed.length && listed.length > 0 ? 0 : items.length - repeated
}

/** The window holds more than the provider lists, and cannot be made smaller. */
function isOverflow({ range, rules }: WindowReading, { reading }: WindowResult): boolean {
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

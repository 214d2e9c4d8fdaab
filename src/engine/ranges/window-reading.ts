import { boundsOf, isAllowed, validFor } from '../../planning/windows.ts'
import type { Failure } from '../../provider/errors.ts'
import type { Hint } from '../../streams/stream.ts'
import type { PageContext } from '../context.ts'
import { poll } from '../poll-page.ts'
import type { RangeRules, Told } from './range-rules.ts'
import { isOverflow, type WindowReading, windowTask } from './window-task.ts'

/** How the reading of a window ended, and what it brought for others. */
export interface WindowResult {
  readonly end: WindowEnd
  readonly failure?: Failure
  readonly hints: readonly Hint[]
  /** Work for other streams was made. */
  readonly madeWork: boolean
}

/**
 * `whole`: read; `narrow`: it holds more than is listed; `overflow`: the same of a window that cannot be smaller;
 * `endless`: it has more pages than can be read while it may be asked for; `busy`: someone else moved the series;
 * `late`: planned too long before it could be sent.
 */
export type WindowEnd =
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

/** Reads a window page by page. Throws StoreUnavailable. */
export async function readWindow(
  context: PageContext,
  rules: RangeRules,
  first: WindowReading,
): Promise<WindowResult> {
  const found = { hints: [] as Hint[], madeWork: false }
  let reading = first
  while (reading.number <= MOST_PAGES) {
    if (context.signal.aborted) return { end: 'stopped', ...found }
    const life = lifeOf(reading, rules)
    if (life <= 0) return { end: reading.number > 1 ? 'endless' : 'late', ...found }
    const result = await poll(context, windowTask(context, reading, life))
    if (result.outcome === 'failed')
      return { end: endOf(result.failure, reading), failure: result.failure, ...found }
    if (result.outcome === 'late' && reading.number > 1) return { end: 'endless', ...found }
    if (result.outcome !== 'read') return { end: result.outcome, ...found }
    const { stored, pageResult } = result
    if (stored.outcome === 'fenced') return { end: 'fenced', ...found }
    if (stored.outcome !== 'committed') return { end: 'busy', ...found }
    found.hints.push(...pageResult.hints)
    found.madeWork ||= pageResult.work.length > 0
    if (isOverflow(reading, pageResult)) return { end: 'overflow', ...found }
    if (pageResult.reading !== 'next') return { end: pageResult.reading, ...found }
    reading = {
      ...reading,
      number: reading.number + 1,
      version: stored.version,
      unfinished: [...reading.unfinished, ...pageResult.unfinished],
      isUncertain: reading.isUncertain || pageResult.isUncertain === true,
    }
  }
  return { end: 'narrow', ...found }
}

/** What the end of a reading tells of the bounds that it kept. */
export function toldBy({ end, failure }: WindowResult): Told {
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

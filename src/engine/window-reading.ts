import { boundsOf, isAllowed } from '../planning/windows.ts'
import type { Failure } from '../provider/errors.ts'
import type { Hint } from '../streams/stream.ts'
import type { PageContext } from './context.ts'
import { poll } from './poll.ts'
import type { RangeRules } from './range-rules.ts'
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
 * `busy`: someone else moved the series; `late`: planned too long before it could be sent.
 */
export type WindowEnd = 'whole' | 'narrow' | 'overflow' | 'failed' | 'busy' | 'late' | 'fenced' | 'stopped'

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
    const now = rules.now()
    if (context.signal.aborted) return { end: 'stopped', ...found }
    if (!isAllowed(reading.rules, boundsOf(reading.rules, reading.range), now))
      return { end: 'late', ...found }
    const result = await poll(context, windowTask(context, reading, now))
    if (result.outcome === 'failed') return { end: 'failed', failure: result.failure, ...found }
    if (result.outcome !== 'read') return { end: result.outcome, ...found }
    const { stored, harvest } = result
    if (stored.outcome === 'fenced') return { end: 'fenced', ...found }
    if (stored.outcome !== 'committed') return { end: 'busy', ...found }
    found.hints.push(...harvest.hints)
    found.madeWork ||= harvest.work.length > 0
    if (isOverflow(reading, harvest)) return { end: 'overflow', ...found }
    if (harvest.reading !== 'next') return { end: harvest.reading, ...found }
    reading = {
      ...reading,
      number: reading.number + 1,
      version: stored.version,
      unfinished: [...reading.unfinished, ...harvest.unfinished],
    }
  }
  return { end: 'narrow', ...found }
}

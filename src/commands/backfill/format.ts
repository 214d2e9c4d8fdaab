import { formatDuration } from '../../planning/forecast-format.ts'
import type { Range } from '../../planning/range.ts'
import { longestWindow } from '../../planning/windows.ts'
import type { PlanLimits } from '../../provider/limits.ts'
import { CommandError } from '../cli/exit.ts'
import { countText } from '../cli/output.ts'
import type { Outside } from './reach.ts'

/** What was marked of series whose values stand for `step` seconds each. */
export interface Marked {
  readonly step: number
  readonly range: Range
  readonly count: number
}

export function tellDetails(subject: string, [marked]: readonly Marked[]): void {
  if (!marked?.count) {
    say(`nothing to mark: ${subject}: no call that began then has been fetched, or all of it is owed already`)
    return
  }
  say(`marked: ${subject}: ${countText(marked.count)} requests or more`)
  say(next)
}

export function tellWindows(subject: string, marked: readonly Marked[], limits: PlanLimits): void {
  const some = marked.filter(({ count }) => count > 0)
  if (some.length === 0) {
    throw new CommandError(
      `nothing was marked: no daemon has begun with ${subject}; it goes back as far as the plan reaches by itself`,
    )
  }
  for (const alike of Map.groupBy(some, ({ range }) => formatRange(range)).values()) {
    const series = alike.reduce((sum, { count }) => sum + count, 0)
    const requests = alike.reduce(
      (sum, { count, step, range }) => sum + count * requestsFor(limits, step, range),
      0,
    )
    const words = `${countText(series)} series, ${countText(requests)} requests or more`
    say(`marked: ${subject}, ${formatRange(alike[0]!.range)}: ${words}`)
  }
  say(next)
}

const next =
  'the running daemon sees it within a minute and fetches it within the share of its budget for such work; `penstock status` tells what is still owed'

export function formatOutside(
  { range, why }: Outside,
  { step }: { readonly step: number },
  { plan }: { readonly plan: string },
  { availableData, dataDelay }: PlanLimits,
  lead: number,
): string {
  const whole = step > 1 ? `; its values stand for ${formatDuration(step)} and are asked for whole` : ''
  const reasons = {
    gone: `cannot be had any more: the plan ${plan} reaches back ${formatDuration(availableData)}`,
    leaving: `leaves the reach before the daemon can ask for it, in ${formatDuration(lead)} at the latest${whole}`,
    'too young': `cannot be had yet: data are served after ${formatDuration(dataDelay)}, and are then read anyway`,
  }
  return `${formatRange(range)} ${reasons[why]}`
}

export function formatRange({ from, to }: Range): string {
  return `${formatTime(from)} to ${formatTime(to)}`
}

function formatTime(second: number): string {
  return new Date(second * 1_000).toISOString().replace('.000Z', 'Z')
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Fewest requests that read a range of one series once: calls may need more, as they come in pages. */
function requestsFor({ timeFrame }: PlanLimits, step: number, { from, to }: Range): number {
  return Math.ceil((to - from) / Math.max(step, longestWindow({ timeFrame, step })))
}

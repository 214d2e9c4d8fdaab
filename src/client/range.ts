import { formatDuration } from '../planning/forecast-format.ts'
import type { RangeLimits } from '../provider/limits.ts'
import type { Given } from './arguments.ts'

/**
 * What is wrong with the range of time that a question asks for, seen from `now` (Unix seconds, the provider's clock);
 * undefined when the plan serves it, or when it asks for none. All bounds are strict.
 */
export function rangeProblem(
  given: Given,
  { availableData: reach, timeFrame: span, dataDelay: delay }: RangeLimits,
  now: number,
): string | undefined {
  const [startName, endName] = 'start_ts' in given ? ['start_ts', 'end_ts'] : ['startTs', 'endTs']
  const [start, end] = [given[startName], given[endName]]
  if (typeof start !== 'number' || typeof end !== 'number') return undefined
  if (end < start) return `${endName} must not be before ${startName}`
  if (start <= now - reach) return `${startName}: the plan serves the last ${formatDuration(reach)} only`
  if (end >= now - delay)
    return `${endName}: the plan serves what is older than ${formatDuration(delay)} only`
  if (end - start >= span) return `${startName} to ${endName} must be shorter than ${formatDuration(span)}`
  return undefined
}

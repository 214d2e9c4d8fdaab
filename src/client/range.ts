import { formatDuration } from '../planning/forecast-format.ts'
import type { RangeLimits } from '../provider/limits.ts'
import type { Given } from './arguments.ts'

/**
 * What is wrong with the range of time that a question asks for, seen from `now` (Unix seconds, the provider's clock);
 * undefined when the plan serves it, or when it asks for none. All bounds are strict.
 */
export function rangeProblem(
  given: Given,
  { availableData, timeFrame, dataDelay }: RangeLimits,
  now: number,
): string | undefined {
  const [startName, endName] = 'start_ts' in given ? ['start_ts', 'end_ts'] : ['startTs', 'endTs']
  const [start, end] = [given[startName], given[endName]]
  if (typeof start !== 'number' || typeof end !== 'number') return undefined
  if (end < start) return `${endName} must not be before ${startName}`
  if (start <= now - availableData)
    return `${startName}: the plan serves the last ${formatDuration(availableData)} only`
  if (end >= now - dataDelay)
    return `${endName}: the plan serves what is older than ${formatDuration(dataDelay)} only`
  if (end - start >= timeFrame)
    return `${startName} to ${endName} must be shorter than ${formatDuration(timeFrame)}`
  return undefined
}

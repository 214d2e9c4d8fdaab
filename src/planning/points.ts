import { floorTo } from './align.ts'
import type { Range, Ranges } from './range.ts'
import { normalise, subtract } from './ranges.ts'

/** The steps of a range, a multiple of them long, for which no value was received; `received` in Unix seconds. */
export function withoutValue(range: Range, step: number, received: readonly number[]): Ranges {
  const steps = received.map(second => {
    const from = floorTo(second, step)
    return { from, to: from + step }
  })
  return subtract([range], normalise(steps))
}

import type { RangeRules } from './windows.ts'

/** Part of a call to ask for, Unix seconds; both ends are included. */
export interface Slice {
  readonly from: number
  readonly to: number
}

/**
 * A call from `from` to `to` (Unix seconds) in as few questions as the span allows: each is shorter than `span`,
 * and begins in the second in which the one before ends, so that nothing is left out whether or not a provider
 * counts the end in. They lie on a grid from the start of the call, so a call that has grown keeps its first
 * slices. A call that ends before it starts is asked for at its first second.
 */
export function slices({ from, to }: Slice, timeFrame: number): readonly Slice[] {
  const length = sliceLength(timeFrame)
  const count = Math.max(1, Math.ceil((to - from) / length))
  return Array.from({ length: count }, (_, i) => ({
    from: from + i * length,
    to: Math.max(from, Math.min(from + (i + 1) * length, to)),
  }))
}

/**
 * Slices of a call that goes on which may be asked for at `now` (the provider's, Unix seconds) and should be: they
 * are over and older than the delay, and their start has spent `share` (0 to 1) of the reach.
 */
export function closedSlices(start: number, rules: RangeRules, now: number, share: number): readonly Slice[] {
  const { availableData, timeFrame, dataDelay } = rules
  const length = sliceLength(timeFrame)
  const ended = Math.ceil((now - dataDelay - start) / length) - 1
  const ageing = Math.floor((now - share * availableData - start) / length) + 1
  const count = Math.max(0, Math.min(ended, ageing))
  return Array.from({ length: count }, (_, i) => ({
    from: start + i * length,
    to: start + (i + 1) * length,
  }))
}

/** The longest that is strictly below the span, in whole seconds; at least one. */
function sliceLength(timeFrame: number): number {
  return Math.max(1, Math.ceil(timeFrame) - 1)
}

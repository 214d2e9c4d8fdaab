/** A provider's clock as far as its answers tell. */
export interface ServerClock {
  /** An answer says `answeredAt`; the middle of its request was `midpoint` on our clock. Both ms since the epoch. */
  readonly observe: (answeredAt: number, midpoint: number) => void
  /** How far the provider's clock is ahead of ours, in ms; undefined before the first answer. */
  readonly offset: () => number | undefined
}

export interface ServerClockOptions {
  /** How many of the latest answers count. */
  readonly samples?: number
  /** The largest offset believed in, in ms. */
  readonly bound?: number
}

const defaultSamples = 31
const hour = 3_600_000

/**
 * Estimates a provider's clock by the median of the latest offsets, so that one slow or lying answer moves
 * nothing, and never believes more than `bound` either way.
 */
export function createServerClock(options: ServerClockOptions = {}): ServerClock {
  const { samples = defaultSamples, bound = hour } = options
  const offsets: number[] = []
  return {
    observe(answeredAt, midpoint) {
      offsets.push(answeredAt - midpoint)
      if (offsets.length > samples) offsets.shift()
    },
    offset() {
      if (offsets.length === 0) return undefined
      return Math.min(bound, Math.max(-bound, median(offsets)))
    },
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

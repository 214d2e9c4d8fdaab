import type { Clock } from '../clock/clock.ts'

/** A provider's clock as far as its answers tell. */
export interface ServerClock {
  /** An answer says `answeredAt`, ms since the epoch; the middle of its request was `midpoint`, monotonic ms. */
  readonly observe: (answeredAt: number, midpoint: number) => void
  /** How far the provider's clock is ahead of ours, in ms; undefined before the first answer. */
  readonly offset: () => number | undefined
}

export interface ServerClockOptions {
  readonly clock: Clock
  /** How many of the latest answers count. */
  readonly samples?: number
  /** The largest offset believed in, in ms. */
  readonly bound?: number
}

const defaultSamples = 31
const hour = 3_600_000

/** Two answers in a row that agree within this, ms, and are as far from the estimate, tell of a jump. */
const JUMP_MS = 5_000

/**
 * Estimates a provider's clock by the median of the latest answers, so that one slow or lying answer moves nothing,
 * and never believes more than `bound` either way. It is measured against the monotonic clock, so a step of our own
 * wall clock changes nothing of what the provider's is believed to be.
 */
export function createServerClock(options: ServerClockOptions): ServerClock {
  const { clock, samples = defaultSamples, bound = hour } = options
  /** The provider's time at the zero of our monotonic clock, by each answer. */
  let epochs: number[] = []
  return {
    observe(answeredAt, midpoint) {
      const [last] = epochs.slice(-1)
      const epoch = answeredAt - midpoint
      const isFar = (one: number) => Math.abs(one - median(epochs)) > JUMP_MS
      // A suspended machine, or a provider that was set right: what was believed before is past.
      const jumped = last !== undefined && isFar(last) && isFar(epoch) && Math.abs(epoch - last) <= JUMP_MS
      epochs = jumped ? [last, epoch] : [...epochs, epoch].slice(-samples)
    },
    offset() {
      if (epochs.length === 0) return undefined
      const ahead = median(epochs) + clock.monotonic() - clock.now()
      return Math.min(bound, Math.max(-bound, ahead))
    },
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

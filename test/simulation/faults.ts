import type { Random } from '../../src/clock/clock.ts'

/** Classes of fault that a run may have; each is off in half of the runs, so that rare pairs meet. */
export const faultClasses = ['kill', 'stall', 'cut', 'lost answer', 'latency'] as const
export type FaultClass = (typeof faultClasses)[number]

/**
 * What befalls one call. `cut`: the line breaks before anything arrived; `lost answer`: it was acted upon, a
 * commit included, and nobody heard of it; `stall`: the process stands still with the answer in its hands.
 */
export type Fault =
  | ('kill before' | 'kill after' | 'stall' | 'cut' | 'lost answer')
  | ('serialization failure' | 'broken body' | 'no answer' | 'slow answer')

export interface Faults {
  /** Classes that this run has. */
  readonly classes: readonly FaultClass[]
  readonly draw: (kind: 'database' | 'provider', name: string) => Fault | undefined
  /** ms on the way, one way. */
  readonly latency: (kind: 'database' | 'provider') => number
  /** How long a process stands still, ms: sometimes longer than its lease. */
  readonly stall: () => number
  /** How long a killed process takes to come back, ms. */
  readonly restart: () => number
  /** From now on nothing goes wrong any more. */
  readonly heal: () => void
}

/** Shares of all calls. */
const rates = { kill: 1 / 500, stall: 1 / 500, cut: 1 / 60, 'lost answer': 1 / 40 } as const

/**
 * `always` names classes that the run must have whatever the seed says, and `shortestStall` how long a process stands
 * still at least, ms; `share` is how much of the rates counts at this moment.
 */
export function createFaults(
  random: Random,
  always: readonly FaultClass[] = [],
  share: () => number = () => 1,
  shortestStall = 500,
): Faults {
  const drawn = faultClasses.filter(() => random.next() < 0.5)
  const classes = faultClasses.filter(one => drawn.includes(one) || always.includes(one))
  const slow = random.next() < 0.2 ? 4_000 : 400
  let healed = false
  const strikes = (one: keyof typeof rates) => classes.includes(one) && random.next() < rates[one] * share()
  return {
    classes,
    draw: () => {
      if (healed) return undefined
      if (strikes('kill')) return random.next() < 0.5 ? 'kill before' : 'kill after'
      if (strikes('stall')) return 'stall'
      if (strikes('cut')) return 'cut'
      return strikes('lost answer') ? 'lost answer' : undefined
    },
    latency: kind => {
      if (healed || !classes.includes('latency')) return kind === 'provider' ? 20 : 0
      const most = kind === 'provider' ? slow : slow / 20
      return Math.ceil(random.next() ** 3 * most)
    },
    stall: () => shortestStall + Math.ceil(random.next() ** 2 * 120_000),
    restart: () => 500 + Math.ceil(random.next() ** 2 * 60_000),
    heal: () => {
      healed = true
    },
  }
}

import type { Random } from '../../src/clock/clock.ts'

/**
 * What befalls one call. `cut`: the line breaks before anything arrived; `lost answer`: it was acted upon, a
 * commit included, and nobody heard of it; `stall`: the process stands still with the answer in its hands.
 */
export type Fault =
  | ('kill before' | 'kill after' | 'stall' | 'cut' | 'lost answer')
  | ('serialization failure' | 'broken body' | 'no answer' | 'slow answer')

export interface Faults {
  readonly draw: (kind: Side, name: string) => Fault | undefined
  /** ms on the way, one way. */
  readonly latency: (kind: Side) => number
  /** How long a process stands still, ms: sometimes longer than its lease. */
  readonly stall: () => number
  /** How long a killed process takes to come back, ms. */
  readonly restart: () => number
  /** From now on nothing goes wrong any more. */
  readonly heal: () => void
}

/** Classes of fault that strike single calls. */
export const callFaults = [
  ...(['kill', 'stall', 'cut', 'lost answer', 'latency'] as const),
  ...(['serialization failure', 'broken body', 'no answer', 'slow answer'] as const),
] as const
export type CallFault = (typeof callFaults)[number]

type Side = 'database' | 'provider'

/** Shares of all calls of a side. */
const rates: Readonly<Record<Side, Readonly<Partial<Record<CallFault, number>>>>> = {
  database: {
    ...{ kill: 1 / 4_000, stall: 1 / 4_000 },
    ...{ cut: 1 / 600, 'lost answer': 1 / 600, 'serialization failure': 1 / 400 },
  },
  provider: {
    ...{ kill: 1 / 1_500, stall: 1 / 2_000 },
    ...{
      cut: 1 / 150,
      'lost answer': 1 / 150,
      'broken body': 1 / 150,
      'no answer': 1 / 600,
      'slow answer': 1 / 100,
    },
  },
}

/** `classes` are those that the run has; kinds that strike are told to `struck`. */
export function createFaults(
  random: Random,
  classes: readonly CallFault[],
  struck: (fault: Fault) => void,
): Faults {
  const slow = random.next() < 0.2 ? 4_000 : 400
  let healed = false
  const draw = (kind: Side): Fault | undefined => {
    const chance = random.next()
    let sum = 0
    for (const one of classes) {
      sum += rates[kind][one] ?? 0
      if (chance >= sum) continue
      if (one === 'kill') return random.next() < 0.5 ? 'kill before' : 'kill after'
      return one as Fault
    }
    return undefined
  }
  return {
    draw: kind => {
      const fault = healed ? undefined : draw(kind)
      if (fault) struck(fault)
      return fault
    },
    latency: kind => {
      if (healed || !classes.includes('latency')) return kind === 'provider' ? 20 : 0
      const most = kind === 'provider' ? slow : slow / 20
      return Math.ceil(random.next() ** 3 * most)
    },
    stall: () => 500 + Math.ceil(random.next() ** 2 * 60_000),
    restart: () => 500 + Math.ceil(random.next() ** 2 * 60_000),
    heal: () => {
      healed = true
    },
  }
}

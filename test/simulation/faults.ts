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
type Rates = Readonly<Record<Side, Readonly<Partial<Record<CallFault, number>>>>>

const rates: Rates = {
  database: {
    ...{ kill: 1 / 4_000, stall: 1 / 4_000 },
    // Whoever comes again has all statements planned anew.
    ...{ cut: 1 / 1_500, 'lost answer': 1 / 1_200, 'serialization failure': 1 / 400 },
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

/** Where faults are to strike oftener than chance brings them, and for how long. */
export interface Aim {
  /** In place of the usual ones. */
  readonly rates: Partial<Rates>
  /** Calls of the database that they are of, by their names; all where absent. */
  readonly at?: RegExp
  /** Calls of either side with rates of their own, by their names: the first that fits counts. */
  readonly also?: readonly (Readonly<Partial<Record<CallFault, number>>> & { readonly at: RegExp })[]
  /** Who is killed has done what he was killed at. */
  readonly killsAfter?: boolean
  /** How long an answer of the provider, or a request to it, is on its way at most where there is latency, ms. */
  readonly latency?: number
  /** How long a process stands still, ms. */
  readonly stall?: readonly [least: number, most: number]
}

/** One that never struck is so much likelier where each has to. */
const untilItStrikes = 20

export interface FaultOptions {
  readonly random: Random
  /** Those that the run has. */
  readonly classes: readonly CallFault[]
  /** Each of them is sure to strike in a run of some thousand calls. */
  readonly isThorough: boolean
  readonly aim?: Aim | undefined
  /** Hears of kinds that strike. */
  readonly struck: (fault: Fault) => void
}

export function createFaults({ random, classes, isThorough, aim, struck }: FaultOptions): Faults {
  const drawn = random.next() < 0.2 ? 4_000 : 400
  const slow = aim?.latency ?? drawn
  const never = new Set<CallFault>(isThorough ? classes : [])
  let kills = 0
  let healed = false
  const rate = (kind: Side, one: CallFault, name: string) => {
    const isAimed = kind === 'provider' || aim?.at === undefined || aim.at.test(name)
    const own = aim?.also?.find(({ at }) => at.test(name))?.[one]
    const aimed = own ?? (isAimed ? aim?.rates[kind]?.[one] : undefined)
    return (aimed ?? rates[kind][one] ?? 0) * (never.has(one) ? untilItStrikes : 1)
  }
  const draw = (kind: Side, name: string): Fault | undefined => {
    const chance = random.next()
    let sum = 0
    for (const one of classes) {
      sum += rate(kind, one, name)
      if (chance >= sum) continue
      if (one !== 'kill') {
        never.delete(one)
        return one as Fault
      }
      kills += 1
      if (kills === 2) never.delete(one)
      if (aim?.killsAfter) return killing(false)
      return isThorough ? killing(kills % 2 === 1) : killing(random.next() < 0.5)
    }
    return undefined
  }
  const killing = (isBefore: boolean): Fault => (isBefore ? 'kill before' : 'kill after')
  return {
    draw: (kind, name) => {
      const fault = healed ? undefined : draw(kind, name)
      if (fault) struck(fault)
      return fault
    },
    latency: kind => {
      if (healed || !classes.includes('latency')) return kind === 'provider' ? 20 : 0
      const most = kind === 'provider' ? slow : slow / 20
      return Math.ceil(random.next() ** 3 * most)
    },
    stall: () => {
      const [least, most] = aim?.stall ?? []
      if (least === undefined || most === undefined) return 500 + Math.ceil(random.next() ** 2 * 60_000)
      return least + Math.ceil(random.next() * (most - least))
    },
    restart: () => 500 + Math.ceil(random.next() ** 2 * 60_000),
    heal: () => {
      healed = true
    },
  }
}

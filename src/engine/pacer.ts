import type { Clock } from '../clock/clock.ts'
import { burstOf, lookBack, measurePace, type Pace, type PacedBudget, waitFor } from '../planning/pacing.ts'
import { type Ledger, type Meter, type Purpose, purposes } from './ports.ts'
import type { GroupLimit } from './settings.ts'

/** Spreads the budget of one limit group over its longest window. */
export interface Pacer {
  /** In how many ms a request for each purpose may be sent; 0 is now. Throws StoreUnavailable. */
  readonly waits: () => Promise<Readonly<Record<Purpose, number>>>
}

export interface Pacers {
  /** `series`: how many questions one round of the group has for this app. */
  readonly of: (app: string, group: string, limit: GroupLimit, series: number) => Pacer
}

export interface PacerPorts {
  readonly clock: Clock
  readonly ledger: Ledger
  readonly meter: Meter
}

/** Windows shorter than this, seconds, are the ledger's business alone. */
const SHORTEST_PACED = 3_600

const noWaits = waitsOf(() => 0)

/** Apps that share a credential share its pace. */
export function createPacers({ clock, ledger, meter }: PacerPorts): Pacers {
  const paces = new Map<string, Pace>()
  /** Questions of one round by app, for each budget. */
  const rounds = new Map<string, Map<string, number>>()

  return {
    of: (app, group, { scope, rates }, series) => {
      const longest = rates.toSorted((a, b) => b.window - a.window)[0]
      if (!longest || longest.window < SHORTEST_PACED) return { waits: async () => noWaits }
      const { requests, window } = longest
      const key = `${scope} ${group}`
      const round = rounds.get(key) ?? new Map<string, number>()
      rounds.set(key, round.set(app, series))
      return {
        waits: async () => {
          const all = round.values().reduce((sum, each) => sum + each, 0)
          const budget: PacedBudget = { requests, window: window * 1_000, burst: burstOf(requests, all) }
          const asked = clock.monotonic()
          const recent = lookBack(budget)
          const spending = await ledger.budget(scope, group, window, recent)
          const evenly = (requests * recent) / budget.window
          meter.budget(scope, group, {
            used: spending.used / requests,
            pace: spending.recent / evenly,
            over: recent,
          })
          const pace = measurePace(budget, paces.get(key), spending, asked)
          paces.set(key, pace)
          return waitsOf(purpose => waitFor(budget, pace, spending, purpose))
        },
      }
    },
  }
}

function waitsOf(wait: (purpose: Purpose) => number): Readonly<Record<Purpose, number>> {
  return Object.fromEntries(purposes.map(purpose => [purpose, wait(purpose)])) as Record<Purpose, number>
}

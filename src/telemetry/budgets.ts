import type { Clock } from '../clock/clock.ts'
import type { BudgetReading } from '../engine/ports.ts'

/** How budgets are spent: of each limit group the credential that is worst off. */
export interface BudgetGauge {
  readonly note: (scope: string, group: string, reading: BudgetReading) => void
  readonly all: () => readonly GroupSpending[]
  readonly clear: () => void
}

export interface GroupSpending {
  readonly group: string
  /** Share of the longest window's requests that count, 0 to 1. */
  readonly used: number
  /** How many times as fast as evenly over the window requests are spent. */
  readonly pace: number
}

interface Noted extends BudgetReading {
  /** ms on a monotonic clock. */
  readonly at: number
}

export function createBudgetGauge(clock: Clock): BudgetGauge {
  const groups = new Map<string, Map<string, Noted>>()
  return {
    note(scope, group, reading) {
      const scopes = groups.get(group) ?? new Map<string, Noted>()
      groups.set(group, scopes.set(scope, { ...reading, at: clock.monotonic() }))
    },
    all: () => {
      const now = clock.monotonic()
      return [...groups].map(([group, scopes]) => {
        const noted = [...scopes.values()]
        return {
          group,
          used: Math.max(...noted.map(({ used }) => used)),
          pace: Math.max(...noted.map(each => paceUntil(now, each))),
        }
      })
    },
    clear: () => groups.clear(),
  }
}

/** Nobody counted since, so a budget that nothing is asked of looks quieter and quieter. */
function paceUntil(now: number, { pace, over, at }: Noted): number {
  return pace * (over / (over + now - at))
}

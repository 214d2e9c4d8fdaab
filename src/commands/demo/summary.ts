import type { Difference } from './difference.ts'
import type { Totals } from './figures.ts'

/** What a demo comes to; printed as it is by --json. */
export interface Summary {
  readonly rows: Readonly<Record<string, number>>
  readonly requests: number
  readonly violations: number
  readonly lost: number
  readonly duplicates: number
  readonly dead_letters: number
  readonly gaps: number
  /** From an event to its arrival, 95 % being faster; null when none happened. */
  readonly lag_seconds: number | null
}

export function summarise(
  totals: Totals,
  difference: Difference,
  sandbox: { readonly requests: number; readonly violations: number },
  lag: number | undefined,
): Summary {
  return {
    rows: totals.rows,
    requests: sandbox.requests,
    violations: sandbox.violations,
    ...{ lost: difference.lost, duplicates: difference.duplicates },
    dead_letters: totals.deadLetters,
    gaps: totals.gaps,
    lag_seconds: lag ?? null,
  }
}

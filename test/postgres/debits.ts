import type { ClockBounds, Debit, Grant, Ledger } from '../../src/engine/ports.ts'
import { app, me } from './harness.ts'

/** Evidence of a process that has seen nothing yet: every clock is believed. */
export const anyTime: ClockBounds = { floor: 0, ceiling: 8_640_000_000_000_000 }

/** How long a request of these tests may take to arrive, ms. */
export const reach = 40_000

export const day = 86_400

let groups = 0
/** A limit group that no other test uses. */
export const freshGroup = () => `group-${++groups}`

type More = Partial<Omit<Debit, 'clockBounds'>> & { readonly clockBounds?: ClockBounds }

export function debit(
  group: string,
  requests: number,
  window: number,
  { clockBounds = anyTime, ...more }: More = {},
): Debit {
  return {
    ...{
      scope: app,
      group,
      app,
      operation: 'feed',
      purpose: 'live',
      fence: me,
      arrivesWithin: reach,
      clockBounds: () => clockBounds,
    },
    rates: [{ requests, window }],
    ...more,
  }
}

export async function granted(ledger: Ledger, asked: Debit): Promise<Grant> {
  const taken = await ledger.take(asked)
  if (taken.granted !== true) throw new Error(`not granted: ${JSON.stringify(taken)}`)
  return taken.grant
}

/** What details of calls ask of a budget, and what it gives. */
export interface DetailLoad {
  /** Requests a second that new calls ask for, and that the budget allows. */
  readonly inflow: number
  readonly capacity: number
  /** Requests that are owed and when they can no longer be made, Unix seconds; what expires first in front. */
  readonly owed: readonly { readonly expiresAt: number; readonly requests: number }[]
}

/**
 * Share of what is asked for that cannot be had in any order, at `now` (Unix seconds); 0 when what expires first goes
 * first and all of it is had. Either more comes than the budget allows, or more waits than it allows until that expires.
 */
export function shortfall({ inflow, capacity, owed }: DetailLoad, now: number): number {
  const lasting = inflow > capacity ? 1 - capacity / inflow : 0
  let due = 0
  let beyond = 0
  for (const { expiresAt, requests } of owed) {
    due += requests
    beyond = Math.max(beyond, due - capacity * Math.max(0, expiresAt - now) - 1)
  }
  return Math.max(lasting, beyond / Math.max(1, due))
}

/** live: new data; repair: what went wrong before; revisit: what may have changed; backfill: what is long past. */
export const purposes = ['live', 'repair', 'revisit', 'backfill'] as const
export type Purpose = (typeof purposes)[number]

/** One thing that may be asked for now. */
export interface Work {
  readonly purpose: Purpose
  /** When the oldest of it can no longer be had, Unix seconds. */
  readonly expiresAt: number
  /** When anything of the same series was asked for last, ms on any clock that all have in common; absent: never. */
  readonly askedAt?: number
}

/** How far each purpose has come in its share; a purpose without work gathers no claim on the others. */
export interface Tally {
  /** Where the purpose stood that had its turn last. */
  readonly turn: number
  /** Where each purpose stands: what it was given, divided by its share. */
  readonly stands: Readonly<Record<Purpose, number>>
}

export interface Choice<T> {
  readonly request: T
  /** The tally to go on with once the job is started. */
  readonly tally: Tally
}

/** Parts of a budget while every purpose has work; what one does not use flows to the others. */
const shares: Readonly<Record<Purpose, number>> = { live: 60, repair: 10, revisit: 10, backfill: 20 }

export const newTally: Tally = { turn: 0, stands: { live: 0, repair: 0, revisit: 0, backfill: 0 } }

/**
 * What to do next, of equals what was asked for longest ago: what expires within `soon` seconds of `now` (Unix seconds) before anything else, and at no
 * purpose's cost; else the purpose that is furthest behind its share, and of it what expires first. Undefined when
 * there is no work. Leave out beforehand what may not be sent now.
 */
export function chooseRequest<T extends Work>(
  requests: readonly T[],
  { tally, now, soon }: { readonly tally: Tally; readonly now: number; readonly soon: number },
): Choice<T> | undefined {
  const first = firstToExpire(requests)
  if (first === undefined) return undefined
  if (first.expiresAt <= now + soon) return { request: first, tally }
  const [next] = purposes
    .flatMap(purpose => firstToExpire(requests.filter(request => request.purpose === purpose)) ?? [])
    .map(request => ({ job: request, stand: Math.max(tally.turn, tally.stands[request.purpose]) }))
    .toSorted((a, b) => a.stand - b.stand)
  const { job: request, stand } = next!
  const stands = { ...tally.stands, [request.purpose]: stand + 1 / shares[request.purpose] }
  return { request, tally: { turn: stand, stands } }
}

function firstToExpire<T extends Work>(requests: readonly T[]): T | undefined {
  return requests.length === 0 ? undefined : requests.reduce((a, b) => (isBefore(b, a) ? b : a))
}

/** After an outage all series begin where nothing can be had before: who was just answered must not go first again. */
function isBefore(a: Work, b: Work): boolean {
  if (a.expiresAt !== b.expiresAt) return a.expiresAt < b.expiresAt
  return (a.askedAt ?? Number.NEGATIVE_INFINITY) < (b.askedAt ?? Number.NEGATIVE_INFINITY)
}

/** What details of calls ask of a budget, and what it gives. */
interface DetailLoad {
  /** Requests a second that new calls ask for, and that the budget allows. */
  readonly inflow: number
  readonly capacity: number
  /** Requests that are pending and when they can no longer be made, Unix seconds; what expires first in front. */
  readonly backlog: readonly { readonly expiresAt: number; readonly requests: number }[]
}

/**
 * Share of what is asked for that cannot be had in any order, at `now` (Unix seconds); 0 when what expires first goes
 * first and all of it is had. Either more comes than the budget allows, or more waits than it allows until that expires.
 */
export function shortfall({ inflow, capacity, backlog }: DetailLoad, now: number): number {
  const lasting = inflow > capacity ? 1 - capacity / inflow : 0
  let due = 0
  let beyond = 0
  for (const { expiresAt, requests } of backlog) {
    due += requests
    beyond = Math.max(beyond, due - capacity * Math.max(0, expiresAt - now) - 1)
  }
  return Math.max(lasting, beyond / Math.max(1, due))
}

/** live: new data; repair: what went wrong before; revisit: what may have changed; backfill: what is long past. */
export type WorkPurpose = 'live' | 'repair' | 'revisit' | 'backfill'

/** One thing that may be asked for now. */
export interface Work {
  readonly purpose: WorkPurpose
  /** When the oldest of it can no longer be had, Unix seconds. */
  readonly expiresAt: number
}

/** How far each purpose has come in its share; a purpose without work gathers no claim on the others. */
export interface Tally {
  /** Where the purpose stood that had its turn last. */
  readonly turn: number
  /** Where each purpose stands: what it was given, divided by its share. */
  readonly stands: Readonly<Record<WorkPurpose, number>>
}

export interface Choice<T> {
  readonly request: T
  /** The tally to go on with once the job is started. */
  readonly tally: Tally
}

/** Parts of a budget while every purpose has work; what one does not use flows to the others. */
const shares: Readonly<Record<WorkPurpose, number>> = { live: 60, repair: 10, revisit: 10, backfill: 20 }

const inOrder: readonly WorkPurpose[] = ['live', 'repair', 'revisit', 'backfill']

export const newTally: Tally = { turn: 0, stands: { live: 0, repair: 0, revisit: 0, backfill: 0 } }

/**
 * What to do next: what expires within `soon` seconds of `now` (Unix seconds) before anything else, and at no
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
  const [next] = inOrder
    .flatMap(purpose => firstToExpire(requests.filter(request => request.purpose === purpose)) ?? [])
    .map(request => ({ job: request, stand: Math.max(tally.turn, tally.stands[request.purpose]) }))
    .toSorted((a, b) => a.stand - b.stand)
  const { job: request, stand } = next!
  const stands = { ...tally.stands, [request.purpose]: stand + 1 / shares[request.purpose] }
  return { request, tally: { turn: stand, stands } }
}

function firstToExpire<T extends Work>(requests: readonly T[]): T | undefined {
  return requests.length === 0 ? undefined : requests.reduce((a, b) => (b.expiresAt < a.expiresAt ? b : a))
}

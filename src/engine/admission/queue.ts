import Bottleneck from 'bottleneck'
import type { Purpose } from '../../planning/shares.ts'

/** Lower runs first. */
export const priorities: Readonly<Record<Purpose, number>> = { live: 3, repair: 4, revisit: 5, backfill: 6 }

/** Orders what waits for a slot of a limit group, and bounds how much of it runs at once. */
export interface Queue {
  readonly run: <T>(group: string, concurrency: number, purpose: Purpose, job: () => Promise<T>) => Promise<T>
}

/**
 * A queue for each group, made when it is needed and dropped when it is idle. Bottleneck only orders and bounds;
 * rates are the ledger's business.
 */
export function createQueue(): Queue {
  const limiters = new Map<string, Bottleneck>()

  function limiter(group: string, concurrency: number): Bottleneck {
    const known = limiters.get(group)
    if (known) return known
    const made = new Bottleneck({ maxConcurrent: concurrency })
    made.on('idle', () => {
      if (limiters.get(group) === made) limiters.delete(group)
    })
    limiters.set(group, made)
    return made
  }

  return {
    run: (group, concurrency, purpose, job) =>
      limiter(group, concurrency).schedule({ priority: priorities[purpose] }, job),
  }
}

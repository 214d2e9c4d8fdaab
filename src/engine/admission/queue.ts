import Bottleneck from 'bottleneck'
import type { Purpose } from '../../planning/shares.ts'
import type { GroupLimit } from '../settings.ts'

/** Lower runs first. */
const priorities: Readonly<Record<Purpose, number>> = { live: 3, repair: 4, revisit: 5, backfill: 6 }

/** Orders what waits for a slot of a limit group, and bounds how much of it runs at once. */
export interface Queue {
  readonly run: <T>(
    group: string,
    limit: Pick<GroupLimit, 'concurrency' | 'counted'>,
    purpose: Purpose,
    job: () => Promise<T>,
  ) => Promise<T>
}

/**
 * Bottleneck orders the few requests whose documented rate the ledger keeps. Of requests that only this process counts
 * there are thousands, and a third of a millisecond for the order of each would be most of what it costs.
 */
export function createQueue(): Queue {
  const [few, many] = [createSlowQueue(), createPlainQueue()]
  return {
    run: (group, limit, ...job) => (limit.counted === 'ledger' ? few : many).run(group, limit, ...job),
  }
}

/**
 * A queue for each group, made when something has to wait in it and dropped when it is idle. Bottleneck only orders and
 * bounds; who finds a group idle has no need of either, and of thousands of apps at which nothing happens nearly all do.
 */
function createSlowQueue(): Queue {
  const limiters = new Map<string, Bottleneck>()
  /** What runs in a group by itself. */
  const alone = new Map<string, Promise<unknown>>()

  function limiter(group: string, concurrency: number, running: Promise<unknown>): Bottleneck {
    const made = new Bottleneck({ maxConcurrent: concurrency })
    made.on('idle', () => {
      if (limiters.get(group) === made) limiters.delete(group)
    })
    limiters.set(group, made)
    // What runs already takes its place among those to come.
    void made.schedule({ priority: 0 }, () => running)
    return made
  }

  function runAlone<T>(group: string, job: () => Promise<T>): Promise<T> {
    const running = job()
    const ended = () => {
      if (alone.get(group) === settled) alone.delete(group)
    }
    const settled = running.then(ended, ended)
    alone.set(group, settled)
    return running
  }

  return {
    run: (group, { concurrency }, purpose, job) => {
      const running = alone.get(group)
      const known = limiters.get(group) ?? (running && limiter(group, concurrency, running))
      if (!known) return runAlone(group, job)
      alone.delete(group)
      return known.schedule({ priority: priorities[purpose] }, job)
    },
  }
}

interface Line {
  running: number
  /** Those who wait, by priority, each in the order in which they came. */
  readonly waiting: (() => void)[][]
}

/** Orders and bounds alike, without a timer of its own. */
export function createPlainQueue(): Queue {
  const lines = new Map<string, Line>()

  function enter(group: string, concurrency: number, purpose: Purpose): Promise<void> | undefined {
    const line = lines.get(group) ?? { running: 0, waiting: [] }
    lines.set(group, line)
    if (line.running < concurrency) {
      line.running += 1
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const rank = priorities[purpose]
    line.waiting[rank] ??= []
    line.waiting[rank].push(resolve)
    return promise
  }

  /** Whoever is next takes the place over. */
  function leave(group: string): void {
    const line = lines.get(group)!
    const next = line.waiting.find(each => each !== undefined && each.length > 0)?.shift()
    if (next) {
      next()
      return
    }
    line.running -= 1
    if (line.running === 0) lines.delete(group)
  }

  return {
    run: async (group, { concurrency }, purpose, job) => {
      await enter(group, concurrency, purpose)
      try {
        return await job()
      } finally {
        leave(group)
      }
    },
  }
}

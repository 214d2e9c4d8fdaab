import { priorities, type Queue } from '../../src/engine/admission/queue.ts'
import type { Purpose } from '../../src/planning/shares.ts'

interface Waiting {
  readonly rank: number
  readonly start: () => void
}

/** Orders and bounds like the production queue, without a timer of its own. */
export function createPlainQueue(): Queue {
  const groups = new Map<string, { running: number; readonly waiting: Waiting[] }>()

  function enter(name: string, concurrency: number, purpose: Purpose): Promise<void> | undefined {
    const group = groups.get(name) ?? { running: 0, waiting: [] }
    groups.set(name, group)
    if (group.running < concurrency) {
      group.running += 1
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    group.waiting.push({ rank: priorities[purpose], start: resolve })
    group.waiting.sort((a, b) => a.rank - b.rank)
    return promise
  }

  /** Whoever is next takes the place over. */
  function leave(name: string): void {
    const group = groups.get(name)!
    const next = group.waiting.shift()
    if (next) next.start()
    else group.running -= 1
  }

  return {
    run: async (name, concurrency, purpose, job) => {
      await enter(name, concurrency, purpose)
      try {
        return await job()
      } finally {
        leave(name)
      }
    },
  }
}

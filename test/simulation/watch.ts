import type { Fence, Ledger, Ownership, Store } from '../../src/engine/ports.ts'
import type { Kernel } from './kernel.ts'

/** What must never happen while a run goes on, whatever the end looks like. */
export interface Watch {
  readonly breaches: readonly string[]
  readonly add: (breach: string) => void
  /** The fence of whoever owns the shard now. */
  readonly present: (fence: Fence) => Fence
  /** Looks at what passes between the engine and its ports. */
  readonly over: <Watched extends WatchedPorts>(ports: Watched) => Watched
}

interface WatchedPorts {
  readonly store: Store
  readonly ledger: Ledger
  readonly ownership: Ownership
}

/** `kernel` is asked for the time only. */
export function createWatch(kernel: () => Pick<Kernel, 'now'>): Watch {
  const breaches: string[] = []
  /** The last right to write that anyone was given, by shard. */
  const present = new Map<number, Fence>()
  const isPast = (fence: Fence) => fence.epoch < (present.get(fence.shard)?.epoch ?? 0)
  /** Versions from which a page was committed. */
  const left = new Set<string>()
  const add = (breach: string) => {
    breaches.push(`${kernel().now} ${breach}`)
  }

  return {
    breaches,
    add,
    present: fence => present.get(fence.shard) ?? fence,
    over: ports => ({
      ...ports,
      ownership: {
        ...ports.ownership,
        claim: async () => {
          const fences = await ports.ownership.claim()
          for (const fence of fences) if (!isPast(fence)) present.set(fence.shard, fence)
          return fences
        },
      },
      store: {
        ...ports.store,
        commit: async page => {
          const result = await ports.store.commit(page)
          if (result.outcome !== 'committed') return result
          const { app, stream, series, version, fence } = page
          const key = `${app} ${stream} ${series} ${version}`
          if (left.has(key)) add(`two pages were committed from one version: ${key}`)
          left.add(key)
          if (isPast(fence)) add(`a former owner committed: ${key}`)
          return result
        },
      },
      ledger: {
        ...ports.ledger,
        take: async debit => {
          const result = await ports.ledger.take(debit)
          if (result.granted === true && isPast(debit.fence)) {
            add(`a former owner was granted a request: ${debit.app}`)
          }
          return result
        },
      },
    }),
  }
}

import { StoreUnavailable } from '../../src/engine/ports.ts'
import type { ShardJobs, Turn } from '../../src/postgres/shard-jobs.ts'
import type { Kernel, Process } from './kernel.ts'
import type { Server } from './server.ts'

/** A holder that was silent for longer is taken for dead, ms. */
const silence = 10_000

interface Job {
  /** How often it was taken. */
  taken: number
  holder: Process | undefined
  heardAt: number
}

/** The queue of shards, played: one for all processes of a run, in the time of the run. */
export class ShardQueue {
  readonly #kernel: Kernel
  readonly #jobs = new Map<number, Job>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** The queue as a process sees it, which may lose the way there. */
  seenBy(process: Process, server: Server): ShardJobs {
    const asked = async <T>(name: string, work: () => T): Promise<T> => {
      try {
        return await this.#kernel.perform<T>(process, {
          ...{ kind: 'database', name },
          work: async () => {
            if (server.isDown()) throw new Error('starting up')
            return work()
          },
          broken: async () => new Error('Connection terminated unexpectedly'),
        })
      } catch {
        throw new StoreUnavailable(undefined)
      }
    }
    return {
      prepare: async () => {},
      renew: async turns => turns.filter(turn => this.#hear(turn, process)),
      expire: async () => this.#expire(),
      take: (shards, most) => asked('take shards', () => this.#take(shards, most, process)),
      free: async turns => {
        const freed = turns.filter(turn => this.#holds(turn))
        if (freed.length > 0) await asked('free shards', () => this.#free(freed))
      },
    }
  }

  /** Nobody holds any of them. */
  lapse(): void {
    for (const job of this.#jobs.values()) job.holder = undefined
  }

  #holds({ shard, epoch }: Turn): boolean {
    const job = this.#jobs.get(shard)
    return job?.holder !== undefined && job.taken === epoch
  }

  #hear(turn: Turn, process: Process): boolean {
    const job = this.#jobs.get(turn.shard)
    if (!job || !this.#holds(turn) || job.holder !== process) return false
    job.heardAt = this.#kernel.now
    return true
  }

  #expire(): void {
    for (const job of this.#jobs.values()) {
      if (this.#kernel.now - job.heardAt > silence) job.holder = undefined
    }
  }

  #take(shards: readonly number[], most: number, process: Process): readonly Turn[] {
    const free = shards.filter(shard => !this.#jobs.get(shard)?.holder).slice(0, most)
    return free.map(shard => {
      const epoch = (this.#jobs.get(shard)?.taken ?? 0) + 1
      this.#jobs.set(shard, { taken: epoch, holder: process, heardAt: this.#kernel.now })
      return { shard, epoch }
    })
  }

  #free(turns: readonly Turn[]): void {
    for (const turn of turns) if (this.#holds(turn)) this.#jobs.get(turn.shard)!.holder = undefined
  }
}

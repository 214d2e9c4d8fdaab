import { shards as allShards } from '../../src/commands/engine-settings.ts'
import { StoreUnavailable, shardOf } from '../../src/engine/ports.ts'
import type { ShardJobs, Turn } from '../../src/postgres/shard-jobs.ts'
import type { Kernel, Process } from './kernel.ts'
import type { Server } from './server.ts'

/** A holder that was silent for longer is taken for dead, ms. */
const silence = 10_000
/** Whoever was cut off with all others waits so long at least before somebody is taken for dead, ms; */
const soonBack = 4_000
/** and who was heard so shortly before the outage lived then, ms. */
const renewal = 6_000

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
  /** What each gave back by itself, and has not taken again. */
  readonly #givenBack = new Map<Process, Set<number>>()
  /** When each was there first. */
  readonly #since = new Map<Process, number>()
  readonly #accuse: (sentence: string) => void
  readonly #isUnbroken: boolean

  /**
   * `accuse` hears of those who take others for dead that were silent because the database was away; where nothing breaks,
   * also of those who ask about an app when they have given its shard back.
   */
  constructor(kernel: Kernel, accuse: (sentence: string) => void = () => {}, isUnbroken = false) {
    this.#kernel = kernel
    this.#accuse = accuse
    this.#isUnbroken = isUnbroken
  }

  /** Something is being sent; of which app it is, is told when it arrives. */
  sending(process: Process): (app: string | undefined) => void {
    const given = new Set(this.#givenBack.get(process))
    return app => {
      if (this.#isUnbroken && app !== undefined && given.has(shardOf(app, allShards)))
        this.#accuse(`${process.name} asked about ${app}, whose shard it had given back`)
    }
  }

  /** The queue as a process sees it, which may lose the way there. */
  seenBy(process: Process, server: Server): ShardJobs {
    this.#since.set(process, this.#kernel.now)
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
      expire: async () => this.#expire(process, server),
      take: (shards, most) => asked('take shards', () => this.#take(shards, most, process)),
      free: async turns => {
        const freed = turns.filter(turn => this.#holds(turn))
        if (freed.length > 0) await asked('free shards', () => this.#free(freed, process, server))
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

  #expire(process: Process, server: Server): void {
    for (const [shard, job] of this.#jobs) {
      if (this.#kernel.now - job.heardAt <= silence) continue
      this.#bury(shard, process, server)
      job.holder = undefined
    }
  }

  /** A process takes the holder of a shard for dead. */
  #bury(shard: number, process: Process, server: Server): void {
    const { holder, heardAt } = this.#jobs.get(shard)!
    const away = server.away()
    if (!away || !holder?.isAlive || holder === process) return
    const since = this.#kernel.now - away.to
    const wasCutOff = this.#since.get(process)! < away.from && heardAt >= away.from - renewal
    if (wasCutOff && since < soonBack)
      this.#accuse(
        `${process.name} took ${holder.name} for dead ${since} ms after the database had been away from both`,
      )
  }

  #take(shards: readonly number[], most: number, process: Process): readonly Turn[] {
    const free = shards.filter(shard => !this.#jobs.get(shard)?.holder).slice(0, most)
    return free.map(shard => {
      const epoch = (this.#jobs.get(shard)?.taken ?? 0) + 1
      this.#givenBack.get(process)?.delete(shard)
      this.#jobs.set(shard, { taken: epoch, holder: process, heardAt: this.#kernel.now })
      return { shard, epoch }
    })
  }

  #free(turns: readonly Turn[], process: Process, server: Server): void {
    const given = this.#givenBack.get(process) ?? new Set()
    this.#givenBack.set(process, given)
    for (const turn of turns) {
      if (!this.#holds(turn)) continue
      const job = this.#jobs.get(turn.shard)!
      if (job.holder === process) given.add(turn.shard)
      else this.#bury(turn.shard, process, server)
      job.holder = undefined
    }
  }
}

import type { Clock, Random } from '../../src/clock/clock.ts'
import { createDelayQueue } from '../../src/engine/series/delay-queue.ts'
import type { Faults } from './faults.ts'
import type { Trace } from './trace.ts'

/** One life of a simulated daemon. */
export interface Process {
  readonly name: string
  isAlive: boolean
  /** Stands still until this moment, ms of virtual time: nothing of it runs, but the world goes on. */
  frozenUntil: number
}

export interface Call<T> {
  readonly kind: 'database' | 'provider'
  readonly name: string
  readonly work: () => Promise<T>
  /** How the caller learns that the line broke; called once the line is broken. */
  readonly broken: () => Promise<Error>
}

interface Operation {
  readonly process: Process
  /** A request that has left the process is in the world's hands: it arrives whatever becomes of who sent it. */
  readonly isOnItsWay: boolean
  readonly run: () => Promise<void>
}

interface Timer {
  readonly process: Process | undefined
  /** Nothing else happens before it is done. */
  readonly fire: () => void | Promise<void>
}

export interface KernelOptions {
  /** Wall clock at the beginning, ms since the epoch. */
  readonly start: number
  readonly random: Random
  readonly faults: Faults
  readonly trace: Trace
  /** Takes away what the process held in the real world. */
  readonly onKill: (process: Process) => Promise<void>
}

/**
 * Owns time and order. Whatever a process asks of the world waits here; when everything has come to rest, one
 * call is chosen by the seed and runs alone to its end. When nothing waits, time jumps to the next timer.
 */
export class Kernel {
  #now = 0
  #turn = 0
  #ready: Operation[] = []
  readonly #timers = createDelayQueue<Timer>()
  readonly #options: KernelOptions
  /** The clock of the world; processes have their own. */
  readonly clock: Clock

  constructor(options: KernelOptions) {
    this.#options = options
    this.clock = this.clockOf(undefined)
  }

  get now(): number {
    return this.#now
  }

  clockOf(process: Process | undefined): Clock {
    return {
      now: () => this.#options.start + this.#now,
      monotonic: () => this.#now,
      sleep: (ms, signal) => this.#sleep(process, ms, signal),
    }
  }

  /** Lets something happen after `ms`; answers how to prevent it. What concerns a dead process never happens. */
  after(ms: number, process: Process | undefined, fire: Timer['fire']): () => void {
    const key = String(this.#turn++)
    this.#timers.put(key, this.#now + Math.ceil(ms), { process, fire })
    return () => this.#timers.remove(key)
  }

  /** Runs one call of a process against the world, unless the process dies first: then it never settles. */
  perform<T>(process: Process, call: Call<T>): Promise<T> {
    const { faults } = this.#options
    return new Promise((resolve, reject) => {
      const run = () => this.#run(process, call, resolve, reject)
      const isOnItsWay = call.kind === 'provider'
      const arrive = () => void this.#ready.push({ process, isOnItsWay, run })
      const latency = faults.latency(call.kind)
      if (latency === 0) arrive()
      else this.after(latency, isOnItsWay ? undefined : process, arrive)
    })
  }

  async kill(process: Process): Promise<void> {
    if (!process.isAlive) return
    process.isAlive = false
    this.#ready = this.#ready.filter(operation => operation.isOnItsWay || operation.process !== process)
    await this.#options.onKill(process)
  }

  freeze(process: Process, ms: number): void {
    process.frozenUntil = this.#now + ms
    this.after(ms, undefined, () => {})
  }

  /** Lets everything happen up to this moment, ms from the beginning. */
  async runUntil(end: number): Promise<void> {
    for (;;) {
      await settled()
      const operation = this.#choose()
      if (operation) await operation.run()
      else if (!(await this.#jump(end))) return
    }
  }

  async #run<T>(
    process: Process,
    call: Call<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    const { faults, trace } = this.#options
    const fault = faults.draw(call.kind)
    const note = (outcome: unknown) => trace.add(this.#now, process.name, call.name, outcome)
    if (fault === 'kill before' || fault === 'cut') {
      note(fault)
      if (fault === 'kill before') return this.kill(process)
      return process.isAlive ? reject(await call.broken()) : undefined
    }
    const outcome = await call.work().then(
      value => ({ value, deliver: () => resolve(value) }),
      (error: unknown) => ({ value: error, deliver: () => reject(error) }),
    )
    note(outcome.value)
    if (fault) note(fault)
    if (fault === 'kill after') return this.kill(process)
    // Nobody is there any more to hear of it.
    if (!process.isAlive) return
    if (fault === 'lost answer') return reject(await call.broken())
    if (fault === 'stall') this.freeze(process, faults.stall())
    const delay = fault === 'stall' ? 0 : faults.latency(call.kind)
    if (delay === 0 && process.frozenUntil <= this.#now) outcome.deliver()
    else this.after(delay, process, outcome.deliver)
  }

  #choose(): Operation | undefined {
    const able = this.#ready.filter(
      ({ process, isOnItsWay }) => isOnItsWay || process.frozenUntil <= this.#now,
    )
    if (able.length === 0) return undefined
    const chosen = able[Math.floor(this.#options.random.next() * able.length)]!
    this.#ready.splice(this.#ready.indexOf(chosen), 1)
    return chosen
  }

  /** Fires the next timer, moving time on; false when none is due by `end`. */
  async #jump(end: number): Promise<boolean> {
    const next = this.#timers.next()
    if (next === undefined || next > end) {
      this.#now = Math.max(this.#now, end)
      return false
    }
    this.#now = Math.max(this.#now, next)
    const timer = this.#timers.take(this.#now)!
    const { process, fire } = timer
    if (process && !process.isAlive) return true
    if (process && process.frozenUntil > this.#now) {
      this.#timers.put(String(this.#turn++), process.frozenUntil, timer)
    } else await fire()
    return true
  }

  #sleep(process: Process | undefined, ms: number, signal?: AbortSignal): Promise<void> {
    if (ms <= 0 || signal?.aborted) return Promise.resolve()
    return new Promise(resolve => {
      const wake = () => {
        cancel()
        signal?.removeEventListener('abort', wake)
        resolve()
      }
      const cancel = this.after(ms, process, wake)
      signal?.addEventListener('abort', wake, { once: true })
    })
  }
}

/** Long enough for all promises that wait for nothing outside. */
async function settled(): Promise<void> {
  await new Promise(resolve => setImmediate(resolve))
  await new Promise(resolve => setImmediate(resolve))
}

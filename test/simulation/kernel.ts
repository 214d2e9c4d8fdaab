import type { Clock, Random } from '../../src/clock/clock.ts'
import { createDelayQueue } from '../../src/engine/series/delay-queue.ts'
import type { Fault, Faults } from './faults.ts'
import type { Trace } from './trace.ts'

/** One life of a simulated daemon. */
export interface Process {
  readonly name: string
  isAlive: boolean
  /** Stands still until this moment, ms of virtual time: nothing of it runs, but the world goes on. */
  frozenUntil: number
  /** Until then it cannot renew what it owns, ms of virtual time; all else it can ask the database. */
  severedUntil?: number
  /** When it stood still, ms of virtual time. */
  readonly stoodStill?: { readonly from: number; readonly to: number }[]
  /** How its wall clock was set: from a moment of virtual time on it is so far ahead of the world's, ms. */
  readonly clockSettings?: { readonly from: number; readonly ahead: number }[]
  /** Virtual time of its death. */
  diedAt?: number
  /** Requests to the provider that came to an end, however. */
  requests?: number
  /** Numbers of its requests among all that arrived. */
  readonly arrived?: number[]
}

type Work<T> = (park: () => void) => Promise<T>

export interface Call<T> {
  readonly kind: 'database' | 'provider'
  readonly name: string
  /** Calls `park` where it waits for something that only another call can bring. */
  readonly work: Work<T>
  /** What a fault comes to that strikes nothing but such calls. */
  readonly meets?: Readonly<Partial<Record<Fault, (work: Work<T>, park: () => void) => Promise<T>>>>
  /** How the caller learns that the line broke; called once the line is broken. */
  readonly broken: () => Promise<Error>
}

interface Operation {
  readonly process: Process
  /** Of the process and what it asks, for the trace. */
  readonly name: string
  /** A request that has left the process is in the world's hands: it arrives whatever becomes of who sent it. */
  readonly isOnItsWay: boolean
  readonly run: () => Promise<void>
}

interface Concluded<T> {
  readonly process: Process
  readonly call: Call<T>
  readonly fault: Fault | undefined
  readonly note: (outcome: unknown) => void
  readonly reject: (error: unknown) => void
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

/** A busy second has some hundred. */
const mostInASecond = 20_000

/** Calls go on and on, and time does not. */
export class EndlessError extends Error {}

/**
 * Owns time and order. Whatever a process asks of the world waits here; when everything has come to rest, one
 * call is chosen by the seed and runs alone to its end. When nothing waits, time jumps to the next timer.
 */
export class Kernel {
  #now = 0
  #turn = 0
  #second = 0
  #asked = 0
  #ready: Operation[] = []
  /** What comes to its end in the real world: lines that are cut, processes that die, whoever waited for a lock. */
  readonly #ending = new Set<Promise<void>>()
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
      now: () => this.#options.start + this.#now + (process?.clockSettings?.at(-1)?.ahead ?? 0),
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
      if (!process.isAlive) return
      const run = () => this.#run(process, call, resolve, reject)
      const isOnItsWay = call.kind === 'provider'
      const name = `${process.name} ${call.name}`
      const arrive = () => void this.#ready.push({ process, name, isOnItsWay, run })
      const latency = faults.latency(call.kind)
      if (latency === 0) arrive()
      else this.after(latency, isOnItsWay ? undefined : process, arrive)
    })
  }

  /** Nothing else happens before it is over. */
  kill(process: Process): Promise<void> {
    if (!process.isAlive) return Promise.resolve()
    process.isAlive = false
    process.diedAt = this.#now
    this.#ready = this.#ready.filter(operation => operation.isOnItsWay || operation.process !== process)
    return this.#hold(this.#options.onKill(process))
  }

  #hold(ending: Promise<void>): Promise<void> {
    const held = ending.finally(() => this.#ending.delete(held))
    this.#ending.add(held)
    return held
  }

  freeze(process: Process, ms: number): void {
    process.frozenUntil = this.#now + ms
    process.stoodStill?.push({ from: this.#now, to: process.frozenUntil })
    this.after(ms, undefined, () => {})
  }

  /** Until all that was begun waits for the world, so that what is begun next comes after it, however fast this machine is. */
  rest(): Promise<void> {
    return settled()
  }

  /** Lets everything happen up to this moment, ms from the beginning. */
  async runUntil(end: number): Promise<void> {
    for (;;) {
      do {
        await settled()
        await Promise.all(this.#ending)
      } while (this.#ending.size > 0)
      const operation = this.#choose()
      if (operation) {
        this.#count()
        await operation.run()
      } else if (!(await this.#jump(end))) return
    }
  }

  async #run<T>(
    process: Process,
    call: Call<T>,
    resolve: (value: T) => void,
    reject: (error: unknown) => void,
  ): Promise<void> {
    const { faults, trace } = this.#options
    const fault = faults.draw(call.kind, call.name)
    const note = (outcome: unknown) => trace.add(this.#now, process.name, call.name, outcome)
    if (fault === 'kill before' || fault === 'cut') {
      note(fault)
      if (fault === 'kill before') return this.kill(process)
      return process.isAlive ? reject(await call.broken()) : undefined
    }
    const parked = Promise.withResolvers<void>()
    const struck = fault && call.meets?.[fault]
    const done = struck ? struck(call.work, parked.resolve) : call.work(parked.resolve)
    const over = done
      .then(
        value => ({ value, deliver: () => resolve(value) }),
        (error: unknown) => ({ value: error, deliver: () => reject(error) }),
      )
      .then(outcome => this.#hold(this.#conclude({ process, call, fault, note, reject }, outcome)))
    await Promise.race([over, parked.promise])
  }

  /** What becomes of an answer on its way back. */
  async #conclude<T>(
    { process, call, fault, note, reject }: Concluded<T>,
    outcome: { readonly value: unknown; readonly deliver: () => void },
  ): Promise<void> {
    const { faults } = this.#options
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

  /** A program that asks without end while no time passes would never be seen to its end. */
  #count(): void {
    const second = Math.floor(this.#now / 1_000)
    this.#asked = this.#second === second ? this.#asked + 1 : 0
    this.#second = second
    if (this.#asked > mostInASecond)
      throw new EndlessError(`${mostInASecond} calls in one second, at ${this.#now}`)
  }

  #choose(): Operation | undefined {
    const able = this.#ready.filter(
      ({ process, isOnItsWay }) => isOnItsWay || process.frozenUntil <= this.#now,
    )
    if (able.length === 0) return undefined
    if (able.length > 1)
      this.#options.trace.choose(
        this.#now,
        able.map(({ name }) => name),
      )
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

/** What may stay open while nothing is under way: lines to the database, output, and timers of real time. */
const lasting: ReadonlySet<string> = new Set([
  'TCPSocketWrap',
  'PipeWrap',
  'TTYWrap',
  'Timeout',
  'TCPServerWrap',
  'ProcessWrap',
])

/** Until all promises are at rest that wait for nothing outside; files that are read are still inside. */
async function settled(): Promise<void> {
  do {
    await new Promise(resolve => setImmediate(resolve))
    await new Promise(resolve => setImmediate(resolve))
  } while (process.getActiveResourcesInfo().some(kind => !lasting.has(kind)))
}

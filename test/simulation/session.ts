import type { Writable } from 'node:stream'
import pg from 'pg'
import type { Driver } from '../../src/postgres/connect.ts'
import type { Kernel, Process } from './kernel.ts'
import type { Server } from './server.ts'

export interface SessionOptions {
  readonly kernel: Kernel
  readonly process: Process
  readonly server: Server
}

/** A statement is given up when a lock that it waits for is not free by then, ms of virtual time. */
const lockTimeout = 5_000
/** A transaction that asks nothing for so long is ended, ms of virtual time. */
const idleInTransaction = 3_000

type Callback = (error: unknown, result?: unknown) => void
type Work<T> = (park: () => void) => Promise<T>

/** How the machine's own speed is kept out: no timer but the simulation's ends anything. */
const patient = {
  pool: { idleTimeoutMillis: 0, connectionTimeoutMillis: 0, query_timeout: 0 },
  session: { statement_timeout: 0, lock_timeout: 0, idle_in_transaction_session_timeout: 0 },
} as const

/** The sessions of one process: each statement waits for its turn, and may meet a fault on the way. */
export function sessionsThrough({ kernel, process, server }: SessionOptions): Driver {
  class Session extends pg.Client {
    /** A session does one thing at a time. */
    #last: Promise<unknown> = Promise.resolve()
    #isInTransaction = false
    #statements = 0

    constructor(config?: string | pg.ClientConfig) {
      super(config)
      // Whoever asks next learns that it has ended.
      this.on('error', () => {})
    }

    override connect(callback?: unknown): never {
      const connected = this.#perform('connect', async () => {
        if (server.isDown()) throw Object.assign(new Error('starting up'), { code: '57P03' })
        await server.setTime()
        await super.connect()
        server.opened(this, process.name)
      })
      return answer(connected, callback as Callback | undefined) as never
    }

    override query(asks: unknown, values?: unknown, callback?: unknown): never {
      // What is asked is settled when it leaves the process, and not when it arrives.
      const config = typeof asks === 'object' && !isCopy(asks) ? { ...asks } : asks
      const heard = (isCopy(config) ? config.callback : typeof values === 'function' ? values : callback) as
        | Callback
        | undefined
      const bound = typeof values === 'function' ? undefined : values
      const name = nameOf(config)
      const asked = this.#perform(
        name,
        async park => {
          // Of all its sessions this one alone does not come through, nor any in its place.
          if (isOfOwnership(name) && kernel.now < (process.severedUntil ?? 0)) throw await this.#break()
          Object.assign(this, { pipeline: !isCopy(config) })
          const statement = isCopy(config)
            ? server.setTime().then(() => heardFrom(config, () => super.query(config)))
            : inOnePiece(this, () => {
                void server.setTime(this)
                return super.query(config as string, bound as unknown[])
              })
          const result = await server.unlessParked(this, statement, { patience: lockTimeout, park })
          this.#follow(name)
          return result
        },
        true,
      )
      return answer(asked, heard) as never
    }

    /** What the session held is free when the server says so, and not some time afterwards. */
    override end(callback?: unknown): never {
      const ended = this.#perform('end', () => server.cut(this))
      return answer(ended, callback as Callback | undefined) as never
    }

    #perform<T>(name: string, work: Work<T>, isStatement = false): Promise<T> {
      const mine = this.#last.then(() =>
        kernel.perform<T>(process, {
          kind: 'database',
          name,
          work,
          ...(isStatement && { meets: { 'serialization failure': () => this.#fail() } }),
          broken: () => this.#break(),
        }),
      )
      this.#last = mine.catch(() => {})
      return mine
    }

    /** As the server does it where two transactions overtook each other: what the statement would have done is not done. */
    async #fail(): Promise<never> {
      await super.query(`do $$ begin raise exception 'overtaken' using errcode = '40001'; end $$`)
      throw new Error('the server raised nothing')
    }

    async #break(): Promise<Error> {
      await server.cut(this)
      return new Error('Connection terminated unexpectedly')
    }

    /** Ends a transaction in which nothing is asked any more, as the server does. */
    #follow(name: string): void {
      this.#statements += 1
      if (name === 'begin') this.#isInTransaction = true
      if (name === 'commit' || name === 'rollback') this.#isInTransaction = false
      if (!this.#isInTransaction) return
      const asked = this.#statements
      kernel.after(idleInTransaction, undefined, async () => {
        if (this.#isInTransaction && this.#statements === asked) await server.cut(this)
      })
    }
  }
  return { Client: Session as unknown as typeof pg.Client, ...patient }
}

/** Whether whoever owns shards says by it that it is there. */
function isOfOwnership(name: string): boolean {
  return name.includes('ingest.attend(')
}

/** A statement that speaks with the server itself, and calls back. */
type Copy = pg.Submittable & { callback: Callback }

function isCopy(config: unknown): config is Copy {
  return typeof config === 'object' && config !== null && 'submit' in config
}

/** Stands between it and whoever waits for it until it may be heard. */
function heardFrom(copy: Copy, ask: () => void): Promise<unknown> {
  return new Promise((resolve, reject) => {
    copy.callback = (error, result) => (error ? reject(error) : resolve(result))
    ask()
  })
}

function answer<T>(outcome: Promise<T>, callback: Callback | undefined): Promise<T> | undefined {
  if (!callback) return outcome
  outcome.then(
    value => process.nextTick(callback, undefined, value),
    error => process.nextTick(callback, error),
  )
  return undefined
}

/** The time goes before the statement, on the same line and in the same packet. */
function inOnePiece<T>(session: pg.Client, send: () => T): T {
  const { stream } = (session as unknown as { readonly connection: { readonly stream: Writable } }).connection
  stream.cork()
  try {
    return send()
  } finally {
    stream.uncork()
  }
}

/** What a statement is called, for the trace. */
function nameOf(config: unknown): string {
  const { name, text = '' } = typeof config === 'string' ? { text: config } : (config as pg.QueryConfig)
  return name ?? (text.length > 60 ? `${text.slice(0, 60)}...` : text)
}

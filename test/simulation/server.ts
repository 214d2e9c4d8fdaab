import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { databaseUrl, execute, type TestDatabase } from '../support/databases.ts'
import type { Kernel } from './kernel.ts'
import { refuseMarked, replaceClock, waitForLocks, watchWriters } from './watch.ts'

/** A real Postgres whose clock is the simulation's, and which may stop, or go back to an older history. */
export interface Server {
  /** Address under which the sessions of one process can be told from all others. */
  readonly urlFor: (process: string) => string
  /** Tells the server what time it is; through a session where what it asks next is about to follow on its line. */
  readonly setTime: (session?: pg.Client) => Promise<void>
  readonly rows: <Row extends pg.QueryResultRow>(text: string) => Promise<readonly Row[]>
  readonly isDown: () => boolean
  /** Whenever it took no sessions, ms since the epoch. */
  readonly outages: readonly { readonly from: number; readonly to: number }[]
  /** When it took none last, ms of virtual time. */
  readonly away: () => { readonly from: number; readonly to: number } | undefined
  readonly opened: (session: pg.Client, process: string) => void
  /** Ends a session and what it holds. */
  readonly cut: (session: pg.Client) => Promise<void>
  /** Ends every session of a process. */
  readonly endOf: (process: string) => Promise<void>
  /** What a statement answers; where it waits for a lock, others go on, and it is given up after `patience`, ms. */
  readonly unlessParked: <T>(session: pg.Client, statement: Promise<T>, waiting: Waiting) => Promise<T>
  /** Ends all sessions and takes none for so long, ms. */
  readonly restart: (ms: number) => Promise<void>
  /** Somebody else holds the heads of all budgets for so long, ms. */
  readonly hold: (ms: number) => Promise<void>
  /** Sets the server's clock: so far ahead of the world's, ms. */
  readonly setAhead: (ms: number) => Promise<void>
  /** The same as `restart`, and keeps what there is for `failOver`. */
  readonly replicate: () => Promise<void>
  /** The same, and goes on with what was kept: another history of the same data, of which a snapshot of a disk says nothing. */
  readonly failOver: (ms: number, isTold?: boolean) => Promise<void>
  readonly drop: () => Promise<void>
}

interface Waiting {
  /** How long it may wait, ms. */
  readonly patience: number
  /** Lets others go on. */
  readonly park: () => void
}

const markOf = (history: number) => `
  create or replace function ingest.server_mark() returns text language sql volatile as $$ select 'simulated/${history}' $$`

/** How often it is looked whether a statement waits for a lock, ms of real time. */
const look = 10

const ask = pg.Client.prototype.query as (asked: pg.QueryConfig) => Promise<unknown>

interface Parked {
  readonly session: pg.Client
  readonly isOver: () => boolean
  readonly wake: () => void
}

export class SimulatedServer implements Server {
  readonly #database: TestDatabase
  readonly #kernel: () => Kernel
  readonly #start: number
  readonly #sessions = new Map<pg.Client, string>()
  readonly #parked: Parked[] = []
  #control: pg.Client
  /**
   * Looks at locks while a statement runs, as often as that takes long: from another database, whose snapshots keep no
   * dead row of this one from being pruned. Where rows lie, and so their order, must not tell how fast the machine is.
   */
  readonly #watcher: pg.Client
  #time = 0
  #downUntil = Number.NEGATIVE_INFINITY
  #history = 1
  readonly outages: { readonly from: number; readonly to: number }[] = []
  #kept: string | undefined

  static async open(database: TestDatabase, start: number, kernel: () => Kernel): Promise<SimulatedServer> {
    const server = new SimulatedServer(database, start, kernel)
    await server.#control.connect()
    await server.#watcher.connect()
    await server.#control.query(replaceClock)
    await server.#control.query(waitForLocks)
    await server.#control.query(refuseMarked)
    await server.#control.query(watchWriters)
    await server.#control.query(markOf(server.#history))
    await server.#control.query(`update ingest.migration set applied_at = '2026-01-01T00:00:00.000Z'`)
    await server.#control.query(`update ingest.forget_key set key = sha256('simulated')`)
    return server
  }

  private constructor(database: TestDatabase, start: number, kernel: () => Kernel) {
    this.#database = database
    this.#start = start
    this.#kernel = kernel
    this.#control = new pg.Client({ connectionString: database.url })
    this.#watcher = new pg.Client({ connectionString: databaseUrl(database.url, 'postgres') })
  }

  readonly urlFor = (process: string): string => {
    const url = new URL(this.#database.url)
    url.searchParams.set('application_name', process)
    return url.href
  }

  readonly setTime = async (session: pg.Client = this.#control): Promise<void> => {
    const time = this.#start + this.#kernel().now
    if (time === this.#time) return
    this.#time = time
    const text = `select setval('ingest.virtual_time', $1)`
    try {
      await ask.call(session, { name: 'set_time', text, values: [time] })
    } catch (error) {
      if (session === this.#control) throw error
      // In a transaction that has failed nothing is done, this neither.
      this.#time = 0
    }
  }

  readonly rows = async <Row extends pg.QueryResultRow>(text: string): Promise<readonly Row[]> => {
    return (await this.#control.query<Row>(text)).rows
  }

  readonly isDown = (): boolean => this.#kernel().now < this.#downUntil

  readonly away = () => {
    const last = this.outages.at(-1)
    return last && { from: last.from - this.#start, to: last.to - this.#start }
  }

  readonly opened = (session: pg.Client, process: string): void => {
    this.#sessions.set(session, process)
    session.once('end', () => this.#sessions.delete(session))
  }

  readonly cut = async (session: pg.Client): Promise<void> => {
    if (!this.#sessions.has(session)) return
    const pid = pidOf(session)
    const ended = new Promise<void>(resolve => session.once('end', () => resolve()))
    await this.#control.query('select pg_terminate_backend($1)', [pid])
    await ended
    await this.#wakeParked()
  }

  readonly endOf = async (process: string): Promise<void> => {
    const mine = [...this.#sessions].filter(([, of]) => of === process)
    for (const [session] of mine) await this.cut(session)
  }

  readonly unlessParked = async <T>(
    session: pg.Client,
    statement: Promise<T>,
    { patience, park }: Waiting,
  ): Promise<T> => {
    let isOver = false
    const end = () => {
      isOver = true
    }
    const over = statement.then(end, end)
    await this.#untilStill(session, over, () => isOver)
    if (isOver) {
      await this.#wakeParked()
      return statement
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const parked = { session, isOver: () => isOver, wake: resolve }
    this.#parked.push(parked)
    park()
    const cancel = this.#kernel().after(patience, undefined, async () => {
      if (isOver) return
      await this.#control.query('select pg_cancel_backend($1)', [pidOf(session)])
      await over
      await this.#wakeParked()
    })
    return promise.then(() => {
      cancel()
      return statement
    })
  }

  readonly restart = async (ms: number): Promise<void> => {
    const { now } = this.#kernel()
    this.#downUntil = now + ms
    this.outages.push({ from: this.#start + now, to: this.#start + this.#downUntil })
    for (const session of [...this.#sessions.keys()]) await this.cut(session)
  }

  readonly hold = async (ms: number): Promise<void> => {
    const other = new pg.Client({ connectionString: this.urlFor('somebody') })
    other.on('error', () => {})
    await other.connect()
    this.opened(other, 'somebody')
    await other.query('begin; select from ingest.budget for update skip locked')
    this.#kernel().after(ms, undefined, () => this.cut(other))
  }

  readonly setAhead = async (ms: number): Promise<void> => {
    await this.#control.query(`select setval('ingest.clock_ahead', ${ms})`)
  }

  readonly replicate = async (): Promise<void> => {
    await this.restart(0)
    await this.#offline(async (admin, name) => {
      if (this.#kept) await execute(admin, `drop database ${this.#kept} with (force)`)
      this.#kept = `${name}_kept`
      await execute(admin, `create database ${this.#kept} template ${name}`)
    })
  }

  readonly failOver = async (ms: number, isTold = true): Promise<void> => {
    await this.restart(ms)
    await this.#offline(async (admin, name) => {
      if (!this.#kept) throw new Error('nothing was kept')
      await execute(admin, `drop database ${name} with (force)`)
      await execute(admin, `alter database ${this.#kept} rename to ${name}`)
      this.#kept = undefined
    })
    if (isTold) this.#history += 1
    await this.#control.query(markOf(this.#history))
    this.#time = 0
  }

  readonly drop = async (): Promise<void> => {
    await this.#offline(async admin => {
      if (this.#kept) await execute(admin, `drop database ${this.#kept} with (force)`)
    }, 'for good')
    await this.#watcher.end()
    await this.#database.drop()
  }

  /** A database is copied only while nobody is in it. */
  async #offline(
    work: (admin: string, name: string) => Promise<void>,
    howLong: 'for good' | 'meanwhile' = 'meanwhile',
  ): Promise<void> {
    await this.#control.end()
    const { url } = this.#database
    await work(databaseUrl(url, 'postgres'), new URL(url).pathname.slice(1))
    if (howLong === 'for good') return
    this.#control = new pg.Client({ connectionString: url })
    await this.#control.connect()
  }

  /** Until a statement has its answer, or waits for a lock that only somebody else can give back. */
  async #untilStill(session: pg.Client, over: Promise<void>, isOver: () => boolean): Promise<void> {
    for (;;) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, look)
      await Promise.race([over, promise])
      clearTimeout(timer)
      if (isOver() || (await this.#blocked([session])) === 1) return
    }
  }

  /** How many of them wait for a lock that another one has. */
  async #blocked(sessions: readonly pg.Client[]): Promise<number> {
    const { rows } = await this.#watcher.query<{ blocked: number }>(
      'select count(*)::int as blocked from unnest($1::int[]) as p(id) where pg_blocking_pids(p.id) && $2::int[]',
      [sessions.map(pidOf), [...this.#sessions.keys()].map(pidOf)],
    )
    return rows[0]!.blocked
  }

  /** Those whose lock is free go on before anything else does, in the order in which they came to wait. */
  async #wakeParked(): Promise<void> {
    for (;;) {
      const waiting = this.#parked.filter(({ isOver }) => !isOver())
      // One that ends may free others.
      if (
        waiting.length === 0 ||
        (await this.#blocked(waiting.map(({ session }) => session))) === waiting.length
      )
        break
      await sleep(1)
    }
    for (const parked of this.#parked.filter(({ isOver }) => isOver())) {
      this.#parked.splice(this.#parked.indexOf(parked), 1)
      parked.wake()
      // What becomes of it is told before what becomes of the next one, and of whoever freed it.
      await new Promise(resolve => setImmediate(resolve))
    }
  }
}

function pidOf(session: pg.Client): number {
  return (session as unknown as { readonly processID: number }).processID
}

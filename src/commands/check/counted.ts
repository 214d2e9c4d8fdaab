import type pg from 'pg'
import { systemClock } from '../../clock/system.ts'
import type { Config } from '../../config/config.ts'
import type { Debit, Grant, Ledger, Reply, Transport } from '../../engine/ports.ts'
import { connect } from '../../postgres/connect.ts'
import { createLedger } from '../../postgres/ledger.ts'
import type { Rate } from '../../provider/limits.ts'
import { called, type RequestLine } from '../../provider/operation.ts'
import { engineSettings } from '../engine-settings.ts'
import { connectOptions } from '../wiring/database.ts'
import { CommandFences } from '../wiring/fence.ts'

/** A request that must wait longer than this for its budget, ms, is not sent. */
const timeout = 5_000

/** A debit that is never settled may still arrive this long after its deadline, ms. */
const reachMargin = 10_000

/** A command has not watched the database's clock for long enough to doubt it. */
const anyTime = { floor: 0, ceiling: 8_640_000_000_000_000 } as const

export interface Question {
  readonly request: RequestLine
  /** Whose counter of which group it is, and what that allows. */
  readonly scope: string
  readonly group: string
  readonly rates: readonly Rate[]
}

/** Requests to services that count what they are asked: each is debited like a request of the daemon. */
export class CountedRequests {
  readonly #transport: Transport
  readonly #pool: pg.Pool
  readonly #ledger: Ledger
  readonly #fences: CommandFences
  /** How long after its debit a request may still arrive, ms. */
  readonly #arrivesWithin: number

  constructor(config: Config, databaseUrl: string, transport: Transport) {
    const connection = connectOptions(config, databaseUrl)
    this.#transport = transport
    this.#pool = connect({ ...connection, poolSize: 1 })
    this.#ledger = createLedger(this.#pool)
    this.#fences = new CommandFences(connection)
    this.#arrivesWithin = engineSettings(config).deadline + reachMargin
  }

  /** Undefined where nothing was sent: the budget is spent for now, or the app changes hands. */
  async send(app: string, question: Question): Promise<Reply | undefined> {
    const grant = await this.#debit(app, question)
    if (!grant) return undefined
    const reply = await this.#transport.send(app, question.request)
    await this.#ledger.settle(grant, reply.ok ? 'unread' : 'refused', grant.clockBounds)
    return reply
  }

  async close(): Promise<void> {
    await this.#fences.close()
    await this.#pool.end()
  }

  async #debit(app: string, { request, scope, group, rates }: Question): Promise<Grant | undefined> {
    const giveUp = systemClock.monotonic() + timeout
    const lent = await this.#fences.acquire(app)
    if (!lent) return undefined
    const asked: Debit = {
      ...{ scope, group, app, rates, arrivesWithin: this.#arrivesWithin, fence: lent.fence },
      ...{ operation: called(request.operation), purpose: 'repair', clockBounds: anyTime },
    }
    try {
      for (;;) {
        const taken = await this.#ledger.take(asked)
        if (taken.granted === true) return taken.grant
        if (taken.granted === 'fenced' || systemClock.monotonic() + taken.wait > giveUp) return undefined
        await systemClock.sleep(taken.wait)
      }
    } finally {
      await lent.giveBack()
    }
  }
}

import type { Clock, Random } from '../../clock/clock.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import type { Debit, Grant, Ledger, Reply, Transport } from '../../engine/ports.ts'
import { connect } from '../../postgres/connect.ts'
import { createLedger } from '../../postgres/ledger.ts'
import type { Failure } from '../../provider/errors.ts'
import type { Rate } from '../../provider/limits.ts'
import { called, type RequestLine } from '../../provider/operation.ts'
import { engineSettings } from '../engine-settings.ts'
import { connectOptions } from '../wiring/database.ts'
import { type OpenFences, openFences } from '../wiring/fence.ts'

/** A request that must wait longer than this for its budget, ms, is not sent. */
const timeout = 5_000

/** A debit that is never settled may still arrive this long after its deadline, ms. */
const reachMargin = 10_000

export interface CheckPorts {
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  /** Address of the database; undefined where it is not fit for counting requests. */
  readonly databaseUrl: string | undefined
}

/** A harmless question to a service that counts what it is asked. */
export interface CountedCheck {
  /** As the findings name it. */
  readonly service: string
  readonly apps: readonly AppConfig[]
  readonly question: (app: AppConfig) => Question
  /** What to look at after a failure; the empty string where nothing is to be said. */
  readonly advice: (failure: Failure) => string
}

export interface Question {
  readonly request: RequestLine
  /** Whose counter of which group it is, and what that allows. */
  readonly scope: string
  readonly group: string
  readonly rates: readonly Rate[]
}

/**
 * Asks the question once for each app. It is debited like a request of the daemon, and not sent while the budget is
 * spent.
 */
export async function checkCounted(
  config: Config,
  check: CountedCheck,
  ports: CheckPorts,
): Promise<readonly Finding[]> {
  const { service, apps } = check
  const { databaseUrl } = ports
  if (databaseUrl === undefined) {
    const text = `${service} was not asked: its requests are counted in the database`
    return apps.map(app => finding(app, 'warning', text))
  }
  const connection = connectOptions(config, databaseUrl)
  const pool = connect({ ...connection, poolSize: 1 })
  const fences = openFences(connection, ports.random)
  const arrivesWithin = engineSettings(config).deadline + reachMargin
  try {
    const findings: Finding[] = []
    for (const app of apps) {
      findings.push(
        await checkApp(app, check, { ...ports, arrivesWithin, ledger: createLedger(pool), fences }),
      )
    }
    return findings
  } finally {
    await fences.close()
    await pool.end()
  }
}

interface AppPorts extends CheckPorts {
  /** How long after its debit a request may still arrive, ms. */
  readonly arrivesWithin: number
  readonly ledger: Ledger
  readonly fences: OpenFences
}

async function checkApp(app: AppConfig, check: CountedCheck, ports: AppPorts): Promise<Finding> {
  const { service } = check
  const question = check.question(app)
  const grant = await debit(app, question, ports)
  if (!grant) {
    const text = `${service} was not asked: the budget of ${question.group} is spent for now, or the app changes hands`
    return finding(app, 'warning', text)
  }
  const reply = await ports.transport.send(app.id, question.request)
  await ports.ledger.settle(grant, reply.ok ? 'unread' : 'refused', grant.clockBounds)
  return verdict(app, check, reply)
}

async function debit(
  { id: app }: AppConfig,
  { request, scope, group, rates }: Question,
  { clock, ledger, fences, arrivesWithin }: AppPorts,
): Promise<Grant | undefined> {
  const giveUp = clock.monotonic() + timeout
  const lent = await fences.acquire(app)
  if (!lent) return undefined
  const asked: Debit = {
    ...{ scope, group, app, rates, arrivesWithin, fence: lent.fence },
    ...{ operation: called(request.operation), purpose: 'repair', clockBounds: anyTime },
  }
  try {
    for (;;) {
      const taken = await ledger.take(asked)
      if (taken.granted === true) return taken.grant
      if (taken.granted === 'fenced' || clock.monotonic() + taken.wait > giveUp) return undefined
      await clock.sleep(taken.wait)
    }
  } finally {
    await lent.giveBack()
  }
}

/** A command has not watched the database's clock for long enough to doubt it. */
const anyTime = { floor: 0, ceiling: 8_640_000_000_000_000 } as const

function verdict(app: AppConfig, { service, advice }: CountedCheck, reply: Reply): Finding {
  if (reply.ok) return finding(app, 'ok', `the ${service} service accepts the credentials`)
  return finding(app, 'failed', `${service}: ${reply.failure.text}${advice(reply.failure)}`)
}

function finding({ id }: AppConfig, result: Finding['result'], text: string): Finding {
  return { subject: `app ${id}`, result, text }
}

/** What one check found. The text holds no secret. */
export interface Finding {
  /** What was looked at: the database, an app. */
  readonly subject: string
  readonly result: 'ok' | 'warning' | 'failed'
  readonly text: string
}

import type { Clock, Random } from '../../clock/clock.ts'
import { allowanceOf } from '../../config/allowance.ts'
import type { AppConfig, Config } from '../../config/config.ts'
import type { Debit, Grant, Ledger, Reply, Transport } from '../../engine/ports.ts'
import { shardOf } from '../../planning/shard.ts'
import { connect } from '../../postgres/connect.ts'
import { createLedger } from '../../postgres/ledger.ts'
import { callSearch } from '../../provider/analytics/index.ts'
import type { Failure } from '../../provider/errors.ts'
import type { PlanLimits } from '../../provider/limits.ts'
import { called, requestLine } from '../../provider/operation.ts'
import { analyticsScope } from '../analytics-settings.ts'
import { connectOptions } from '../daemon.ts'
import { engineSettings, shards } from '../engine-settings.ts'
import { type BorrowedFences, borrowFences } from './fence.ts'
import type { Finding } from './finding.ts'

/** A request that must wait longer than this for its budget, ms, is not sent. */
const patience = 5_000

/** A debit that is never settled may still arrive this long after its deadline, ms. */
const reachMargin = 10_000

/** The request that is asked to see whether the credentials are taken: the calls of one minute, at most one of them. */
const minute = 60

interface CheckPorts {
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  /** Address of the database; undefined where it is not fit for counting requests. */
  readonly databaseUrl: string | undefined
}

/**
 * Searches the calls of one minute, once for each app with a key. The provider counts it, so it is debited like a
 * request of the daemon, and not sent while the budget is spent.
 */
export async function checkAnalytics(config: Config, ports: CheckPorts): Promise<readonly Finding[]> {
  const asked = config.apps.filter(app => isAsked(config, app))
  const { databaseUrl } = ports
  if (databaseUrl === undefined) {
    const text = 'call analytics was not asked: its requests are counted in the database'
    return asked.map(app => finding(app, 'warning', text))
  }
  const connection = connectOptions(config, databaseUrl)
  const pool = connect({ ...connection, poolSize: 1 })
  const fences = borrowFences(connection, ports.random)
  try {
    const findings: Finding[] = []
    for (const app of asked) {
      findings.push(await checkApp(config, app, { ...ports, ledger: createLedger(pool), fences }))
    }
    return findings
  } finally {
    await fences.close()
    await pool.end()
  }
}

/** Who has no access is told of elsewhere, and not asked. */
function isAsked({ provider }: Config, app: AppConfig): boolean {
  return Boolean(provider.analytics && app.rest && allowanceOf(app, callSearch.limitGroup))
}

interface AppPorts extends CheckPorts {
  readonly ledger: Ledger
  readonly fences: BorrowedFences
}

async function checkApp(config: Config, app: AppConfig, ports: AppPorts): Promise<Finding> {
  const { clock, ledger, transport } = ports
  const limits = allowanceOf(app, callSearch.limitGroup)!
  const grant = await debit(config, app, limits, ports)
  if (!grant) {
    const text =
      'call analytics was not asked: the budget of call-search is spent for now, or the app changes hands'
    return finding(app, 'warning', text)
  }
  // In the middle of what can be asked for, so that no clock that is a little wrong matters.
  const start = Math.floor(clock.now() / 1_000 - (limits.reach + limits.delay) / 2)
  const range = { start_ts: start, end_ts: start + Math.min(minute, limits.span) - 1 }
  const request = requestLine(callSearch, { ...range, appid: app.id, page_no: 1, page_size: 1 })
  const reply = await transport.send(app.id, request)
  await ledger.settle(grant, reply.ok ? 'unread' : 'refused', grant.evidence)
  return verdict(app, reply)
}

async function debit(
  config: Config,
  app: AppConfig,
  { rates }: PlanLimits,
  { clock, ledger, fences }: AppPorts,
): Promise<Grant | undefined> {
  const giveUp = clock.monotonic() + patience
  const fence = await fences.of(shardOf(app.id, shards))
  if (!fence) return undefined
  const asked: Debit = {
    ...{ scope: analyticsScope(config, app), group: callSearch.limitGroup, app: app.id, fence, rates },
    ...{ operation: called(callSearch), purpose: 'repair', evidence: anyTime },
    reach: engineSettings(config).deadline + reachMargin,
  }
  for (;;) {
    const taken = await ledger.take(asked)
    if (taken.granted === true) return taken.grant
    if (taken.granted === 'fenced' || clock.monotonic() + taken.wait > giveUp) return undefined
    await clock.sleep(taken.wait)
  }
}

/** A command has not watched the database's clock for long enough to doubt it. */
const anyTime = { floor: 0, ceiling: 8_640_000_000_000_000 } as const

function verdict(app: AppConfig, reply: Reply): Finding {
  if (reply.ok) return finding(app, 'ok', 'the call analytics service accepts the credentials')
  return finding(app, 'failed', `call analytics: ${reply.failure.text}${advice(reply.failure)}`)
}

function advice({ kind }: Failure): string {
  switch (kind) {
    case 'unauthorized':
    case 'forbidden':
      return ': look at rest.key and rest.secret of the app'
    case 'no_access':
      return ': look at the plan of the app'
    case 'network':
    case 'timeout':
    case 'not_found':
    case 'redirect':
    case 'malformed':
      return ': look at provider.analytics.url'
    case 'bad_request':
      return ': look at the id of the app'
    default:
      return ''
  }
}

function finding({ id }: AppConfig, result: Finding['result'], text: string): Finding {
  return { subject: `app ${id}`, result, text }
}

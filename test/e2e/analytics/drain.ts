import { seededRandom } from '../../../sandbox/src/seeded.ts'
import { systemClock } from '../../../src/clock/system.ts'
import { penstock } from '../../commands/penstock.ts'
import { ask } from '../../support/embedded.ts'
import type { DaemonProcess } from '../daemon.ts'
import { tablesWith } from '../probes.ts'
import { type Cut, compareAnalytics, complaint, type Findings, overflownSeconds } from './oracle.ts'
import { type CallStage, type CallWorld, canaries, openCallStage } from './stage.ts'
import { readStored } from './stored.ts'

/** The longest life between two kills once the daemon drains, ms. */
const longestLife = 6_000
/** How long the daemon may take to have everything after the last kill, ms. */
const patience = 300_000

export interface Outcome {
  readonly findings: Findings
  /** What is wrong; empty where nothing is. */
  readonly complaint: string
  readonly violations: Readonly<Record<string, number>>
  /** Requests that arrived, and debits. */
  readonly requests: number
  readonly debits: number
  /** Whether the database calls each stream complete over all that can be final. */
  readonly complete: Readonly<Record<string, boolean>>
  readonly exit: number | string
  readonly status: number | null
  readonly audit: number | null
  /** Where a planted secret was found. */
  readonly leaks: readonly string[]
}

/** Drains a world with a daemon that is killed now and then, until the database has all of it. */
export async function drainWorld(world: CallWorld, kills: number): Promise<Outcome> {
  const stage = await openCallStage(world)
  const random = seededRandom(`${world.name}/kills`)
  const lives: DaemonProcess[] = []
  try {
    for (let kill = 0; kill < kills; kill++) {
      const daemon = stage.start()
      lives.push(daemon)
      await daemon.ready
      await systemClock.sleep(random.next() * longestLife)
      await daemon.kill()
    }
    const cut = cutAt(stage.sandbox.universe.clockTime())
    const daemon = stage.start()
    lives.push(daemon)
    const url = await daemon.ready
    const isDrained = await settle(stage, cut)
    const metrics = await (await fetch(`${url}/metrics`)).text()
    const exit = await daemon.terminate()
    return await examine(stage, { cut, lives, metrics, exit, isDrained })
  } finally {
    await stage.close()
  }
}

/** A call is listed a minute after its start, and measured five minutes after its end. */
export function cutAt(now: number): Cut {
  return { listed: now - 65_000, ended: now - 65_000, measured: now - 305_000 }
}

/** Waits until everything is there that can be read, or until patience is over: then false, and the comparison tells what is not. */
export async function settle(stage: CallStage, cut: Cut): Promise<boolean> {
  const deadline = systemClock.monotonic() + patience
  while (systemClock.monotonic() < deadline) {
    if (await isSettled(stage, cut)) return true
    await systemClock.sleep(1_000)
  }
  return false
}

async function isSettled(stage: CallStage, cut: Cut): Promise<boolean> {
  const { sandbox, databaseUrl, apps, origin, world } = stage
  const without = world.without ?? []
  const at = (before: number) => `to_timestamp(${origin / 1_000 - before})`
  const [row] = await ask(
    databaseUrl,
    `select coalesce((select array_agg(app_id || ' ' || call_id) from analytics.call), '{}') as listed,
            coalesce((select array_agg(app_id || ' ' || call_id) from analytics.call where finished), '{}') as ended,
            (select count(*)::int from ingest.work_item
             where state = 'pending' and set_aside = 0 and range_to < to_timestamp(${cut.measured / 1_000})) as backlog,
            (select count(*)::int from ingest.progress
             where backlog_from is not null and stream <> all ('{${without.join()}}') and case
               when stream in ('call-sessions', 'call-metrics') then false
               when stream = 'calls' then not covered + lost @> tstzmultirange(tstzrange(${at(86_400)}, ${at(1_800)}))
               when stream like 'realtime-%' then not covered @> tstzmultirange(tstzrange(${at(3_000)}, ${at(60)}))
               else not seen @> tstzmultirange(tstzrange(${at(7 * 86_400)}, ${at(9 * 3_600)})) end) as unread,
            (select count(distinct stream)::int from ingest.progress where backlog_from is not null) as streams`,
  )
  const { backlog, unread, streams, ...names } = row as unknown as {
    readonly listed: readonly string[]
    readonly ended: readonly string[]
    readonly backlog: number
    readonly unread: number
    readonly streams: number
  }
  if (backlog > 0 || unread > 0 || streams < 5) return false
  const [listed, ended] = [new Set(names.listed), new Set(names.ended)]
  return apps.every(app => {
    const calls = [...sandbox.analytics(app).calls()]
    const overflown = overflownSeconds(calls, sandbox)
    return calls.every(({ callId, createdAt, destroyedAt = Number.POSITIVE_INFINITY, item }) => {
      const key = `${app} ${callId}`
      if (!listed.has(key)) return createdAt > cut.listed || overflown.has(item.created_ts)
      return destroyedAt > cut.ended || ended.has(key)
    })
  })
}

interface Drained {
  readonly cut: Cut
  readonly lives: readonly DaemonProcess[]
  readonly metrics: string
  readonly exit: number | string
  readonly isDrained: boolean
}

async function examine(
  stage: CallStage,
  { cut, lives, metrics, exit, isDrained }: Drained,
): Promise<Outcome> {
  const { sandbox, databaseUrl, config } = stage
  const findings = await compareAnalytics(stage, await readStored(databaseUrl), cut)
  const said = lives.flatMap(({ lines, errors }) => [JSON.stringify(lines), errors()]).join('\n')
  const leaks = [
    ...(canaries.test(said) ? ['the log'] : []),
    ...(canaries.test(metrics) ? ['the metrics'] : []),
    ...(await tablesWith(databaseUrl, canaries.source)),
  ]
  const [status, audit] = await Promise.all([
    penstock(['status', '--config', config, '--json']),
    penstock(['audit', '--config', config, '--json']),
  ])
  const [{ debits } = { debits: 0 }] = await ask(
    databaseUrl,
    'select count(*)::int as debits from ingest.debit',
  )
  return {
    findings,
    complaint: `${isDrained ? '' : `not drained within ${patience / 1_000} s\n`}${complaint(findings)}`,
    violations: violationsOf(stage),
    requests: sandbox.arrivals.count,
    debits: Number(debits),
    complete: await completeness(stage),
    ...{ exit, leaks, status: status.code, audit: audit.code },
  }
}

/** Kinds of violation that the sandbox counted at arrival. */
export function violationsOf({ sandbox }: CallStage): Readonly<Record<string, number>> {
  const { violationsByKind } = sandbox.status()
  return Object.fromEntries(Object.entries(violationsByKind).filter(([, count]) => count > 0))
}

/** Of calls that began in the day before, less the last half hour; of real-time values the last fifty minutes before. */
async function completeness({
  databaseUrl,
  apps,
  origin,
}: CallStage): Promise<Readonly<Record<string, boolean>>> {
  const minutes = { calls: [1_440, 30], 'call-sessions': [1_440, 30], 'call-metrics': [1_440, 30] }
  const all = { ...minutes, 'realtime-usage': [50, 1], 'realtime-quality': [50, 1] }
  const at = (before: number) => `to_timestamp(${origin / 1_000 - before * 60})`
  const complete: Record<string, boolean> = {}
  for (const app of apps) {
    for (const [stream, [from, to]] of Object.entries(all)) {
      const [row] = await ask(
        databaseUrl,
        `select ingest.is_complete('${stream}', '${app}', ${at(from!)}, ${at(to!)}) as complete`,
      )
      complete[`${app} ${stream}`] = row!.complete === true
    }
  }
  return complete
}

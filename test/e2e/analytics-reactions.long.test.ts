import { beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { penstock } from '../commands/penstock.ts'
import { ask } from '../support/embedded.ts'
import { cutAt, settle, violationsOf } from './analytics/drain.ts'
import { compareAnalytics, complaint } from './analytics/oracle.ts'
import { type Asked, type Refusal, refuseOnce } from './analytics/refusals.ts'
import { openCallStage } from './analytics/stage.ts'
import { readStored } from './analytics/stored.ts'
import type { LogLine } from './daemon.ts'
import { sumOf } from './probes.ts'

const hour = 3_600
const day = 24 * hour

/** Each message of the document, each beside another HTTP status, in a limit group of its own where there is one. */
const refusals = {
  qps_limit: { operation: 'callSessions', message: 'qps limit error', status: 429 },
  qpd_limit: { operation: 'usageInsight', message: 'qpd limit error', status: 400 },
  latency_limit: {
    operation: 'realtimeQuality',
    message: 'query latency limit error',
    status: 200,
    // Of what has just become available; before the provider's clock is known, older data are asked for.
    meets: ({ end }, now) => end > now - 60,
  },
  time_range_limit: {
    operation: 'callSearch',
    message: 'query time range limit error',
    status: 300,
    // Of what is about to leave the reach.
    meets: ({ start }, now) => start < now - 14 * day,
  },
  time_length_limit: { operation: 'realtimeUsage', message: 'query time length limit error', status: 400 },
  no_access: {
    operation: 'qualityInsight',
    message: 'you have no auth to access this service, please buy or upgrade your service package',
    status: 429,
  },
} as const satisfies Readonly<Record<string, Refusal>>
const kinds = Object.keys(refusals) as (keyof typeof refusals)[]

describe.concurrent('a provider that refuses what keeps every limit', () => {
  const asked: Asked[] = []
  const state = {} as {
    lines: readonly LogLine[]
    metrics: string
    complaint: string
    letters: readonly Record<string, unknown>[]
    violations: Readonly<Record<string, number>>
    complete: boolean
    exit: number | string
  }

  beforeAll(async () => {
    const without = ['usage-insight', 'quality-insight']
    const world = { name: 'refusals', load: { callsPerDay: 36 }, without }
    const stage = await openCallStage(world, sandbox => refuseOnce(sandbox, Object.values(refusals), asked))
    try {
      const cut = cutAt(stage.origin)
      const daemon = stage.start()
      const url = await daemon.ready
      await settle(stage, cut)
      // What comes after the pauses of seconds.
      for (let looks = 0; looks < 60 && !isGoingOn(); looks++) await systemClock.sleep(1_000)
      state.metrics = await (await fetch(`${url}/metrics`)).text()
      state.exit = await daemon.terminate()
      state.lines = daemon.lines
      const findings = await compareAnalytics(stage, await readStored(stage.databaseUrl), cut)
      // Those of the refusals are looked at one by one.
      state.complaint = complaint({ ...findings, letters: [] })
      state.letters = await ask(stage.databaseUrl, 'select reason, occurrences from ingest.dead_letter')
      state.violations = violationsOf(stage)
    } finally {
      await stage.close()
    }
  })

  const of = (...operations: readonly string[]) =>
    asked.filter(({ operation }) => operations.includes(operation))
  /** The refused question, and those of its limit group that came after it. */
  const since = (operation: Refusal['operation'], ...group: readonly string[]) => {
    const refused = of(operation).find(({ isRefused }) => isRefused)!
    return { refused, later: of(operation, ...group).filter(({ at }) => at > refused.at) }
  }

  /** Both groups that pause for seconds have asked again. */
  function isGoingOn(): boolean {
    const wasRefused = (operation: string) => of(operation).some(({ isRefused }) => isRefused)
    if (!wasRefused('callSessions') || !wasRefused('realtimeQuality')) return false
    const details = since('callSessions', 'callMetrics')
    const realtime = since('realtimeQuality', 'realtimeUsage')
    return details.later.length > 20 && realtime.later.some(({ at }) => at > realtime.refused.at + 300)
  }

  it.each(kinds)('%s is counted once, said in the log and kept', kind => {
    const { operation } = refusals[kind]
    expect(sumOf(state.metrics, 'penstock_refusals_total', { operation, kind })).toBe(1)
    expect(state.lines.filter(line => line.kind === kind)).toHaveLength(1)
    expect(state.letters.filter(({ reason }) => reason === kind)).toHaveLength(1)
  })

  it('nothing else is refused, and nothing else stops', () => {
    expect(sumOf(state.metrics, 'penstock_refusals_total', {})).toBe(kinds.length)
    expect(state.letters).toHaveLength(kinds.length)
    expect(state.violations).toEqual({})
    expect(state.complaint).toBe('')
    expect(state.exit).toBe(0)
  })

  it('too many in a second: the whole group pauses for two seconds, then goes on', () => {
    const { refused, later } = since('callSessions', 'callMetrics')
    const pause = later.filter(({ at }) => at > refused.at + 300)
    expect(pause[0]!.at - refused.at).toBeGreaterThan(1_900)
    expect(pause.length).toBeGreaterThan(20)
  })

  it('too many in a day: the group does not ask again within minutes', () => {
    expect(since('usageInsight').later).toEqual([])
  })

  it('data too young: the end moves back', () => {
    const { refused, later } = since('realtimeQuality', 'realtimeUsage')
    const ages = later.filter(({ at }) => at > refused.at + 300).map(({ at, end }) => at / 1_000 - end)
    expect(ages).not.toEqual([])
    // The delay of the plan, and what one refusal adds to it.
    expect(Math.min(...ages)).toBeGreaterThan(20 + 10)
  })

  it('data too old: the start moves up', () => {
    const { refused, later } = since('callSearch')
    const oldest = later.map(({ at, start }) => at / 1_000 - start)
    expect(refused.at / 1_000 - refused.start).toBeGreaterThan(14.9 * day)
    expect(Math.max(...oldest)).toBeLessThan(15 * day * 0.98)
    expect(Math.max(...oldest)).toBeGreaterThan(14 * day)
  })

  it('too long a time: the span halves', () => {
    const { refused, later } = since('realtimeUsage', 'realtimeQuality')
    const longest = Math.max(
      ...later.filter(({ at }) => at > refused.at + 300).map(({ start, end }) => end - start),
    )
    expect(longest).toBeLessThanOrEqual(Math.ceil((refused.end - refused.start) / 2))
    expect(longest).toBeGreaterThan(20)
  })

  it('no access: the stream stops until it looks again in an hour', () => {
    expect(since('qualityInsight').later).toEqual([])
  })
})

describe.concurrent('a plan without access', () => {
  it('is asked for nothing, and the log says so once', async () => {
    const stage = await openCallStage({ name: 'starter', plan: 'starter', load: { callsPerDay: 36 } })
    try {
      const daemon = stage.start()
      const url = await daemon.ready
      await systemClock.sleep(8_000)
      const metrics = await (await fetch(`${url}/metrics`)).text()
      expect(await daemon.terminate()).toBe(0)
      expect(stage.sandbox.arrivals.count).toBe(0)
      expect(await ask(stage.databaseUrl, 'select from ingest.debit')).toEqual([])
      for (const name of ['requests', 'refusals', 'debits'])
        expect(sumOf(metrics, `penstock_${name}_total`, {})).toBe(0)
      const said = daemon.lines.filter(({ msg }) => msg === 'streams are off').map(({ reason }) => reason)
      const analytics = said.filter(reason => /^app alpha: calls, /.test(String(reason)))
      expect(analytics).toEqual([
        expect.stringMatching(/, realtime-quality are off: the plan starter has no access$/),
      ])
      expect(daemon.lines.filter(({ level }) => level === 'error')).toEqual([])
      for (const command of ['status', 'audit']) {
        const { code } = await penstock([command, '--config', stage.config, '--json'])
        expect(`${command} ${code}`).toBe(`${command} 0`)
      }
    } finally {
      await stage.close()
    }
  })
})

describe.concurrent('a mark of penstock backfill', () => {
  it('is worked off by the running daemon: what was changed in the database comes right, and no more', async () => {
    const stage = await openCallStage({ name: 'backfill', load: { callsPerDay: 36 } })
    const query = (text: string) => ask(stage.databaseUrl, text)
    try {
      const cut = cutAt(stage.origin)
      const daemon = stage.start()
      await daemon.ready
      await settle(stage, cut)
      expect(complaint(await compareAnalytics(stage, await readStored(stage.databaseUrl), cut))).toBe('')
      const from = Math.floor(stage.origin / 1_000) - 20 * hour
      const to = from + 8 * hour
      const within = `app_id = 'alpha' and created_at >= to_timestamp(${from}) and created_at < to_timestamp(${to})`
      const calls = `(select call_id from analytics.call where ${within})`
      const count = async (purpose: string) =>
        Number(
          (
            await query(
              `select count(*) as n from ingest.debit where purpose = '${purpose}' and limit_group <> 'quality-insight' and limit_group <> 'usage-insight'`,
            )
          )[0]!.n,
        )
      const before = await count('backfill')

      await query(
        `update analytics.session_series set value = (select array_agg(v + 1000 order by n) from unnest(value) with ordinality u(v, n))
         where call_id in ${calls}`,
      )
      await query(
        `update analytics.call_session set network = 'altered', device_type = null where call_id in ${calls}`,
      )
      await query(
        `delete from analytics.call_session where sid in (select min(sid) from analytics.call_session where call_id in ${calls})`,
      )
      const changed = await query(
        `update analytics.call set cname = 'altered' where ${within} returning call_id`,
      )
      const outside = await query(`update analytics.call set cname = 'altered' where call_id = (
        select call_id from analytics.call where created_at < to_timestamp(${from}) and destroyed_at < to_timestamp(${from}) limit 1) returning call_id`)
      expect(changed.length).toBeGreaterThan(8)
      const altered = await compareAnalytics(stage, await readStored(stage.databaseUrl), cut)
      expect(altered.different.length).toBeGreaterThan(changed.length * 30)
      expect(altered.lost).toHaveLength(1)

      for (const stream of ['calls', 'call-sessions', 'call-metrics']) {
        const range = ['--from', iso(from), '--to', iso(to)]
        const marked = await penstock([
          'backfill',
          '--config',
          stage.config,
          '--stream',
          stream,
          '--app',
          'alpha',
          ...range,
        ])
        expect(marked.code, marked.stderr).toBe(0)
      }
      await untilDone(query)
      const repaired = await compareAnalytics(stage, await readStored(stage.databaseUrl), cut)
      // Nobody asked for this one again.
      expect(repaired.different).toEqual(outside.map(({ call_id }) => `call alpha ${call_id}`))
      expect(repaired).toMatchObject({ lost: [], invented: [], letters: [], gaps: [] })
      // One search, and of each call its sessions and its metrics.
      expect((await count('backfill')) - before).toBe(1 + 2 * changed.length)
      expect(await daemon.terminate()).toBe(0)
      expect(violationsOf(stage)).toEqual({})
    } finally {
      await stage.close()
    }
  })
})

type Query = (text: string) => ReturnType<typeof ask>

/** How long the daemon may take to find what was marked, which it looks for once a minute, and to do it, ms. */
const patience = 100_000

/** Waits until nothing is wanted any more, and what it brought along is done. */
async function untilDone(query: Query): Promise<void> {
  const deadline = systemClock.monotonic() + patience
  for (;;) {
    const [row] = await query(
      `select (select count(*) from ingest.progress where not isempty(wanted))
            + (select count(*) from ingest.work_item where state = 'pending' and origin = 'backfill') as left`,
    )
    if (Number(row!.left) === 0) return
    if (systemClock.monotonic() > deadline) throw new Error(`${row!.left} things are still to be done`)
    await systemClock.sleep(500)
  }
}

function iso(seconds: number): string {
  return new Date(seconds * 1_000).toISOString().replace(/\.\d+Z$/, 'Z')
}

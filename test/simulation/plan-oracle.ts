import type { PlanLimits } from '../../src/provider/limits.ts'
import type { Sandbox } from '../../src/sandbox/index.ts'
import type { VirtualDatabase } from './database.ts'

/** What a run over a plan's limits came to. Times are ms since the epoch unless told. */
export interface PlanFindings {
  /** Violations by kind, as the sandbox counted them on arrival. */
  readonly violations: Readonly<Record<string, number>>
  /** Requests that arrived, by limit group. */
  readonly requests: Readonly<Record<string, number>>
  /** Those of the first 24 hours as a share of the plan's day. */
  readonly used: Readonly<Record<string, number>>
  /** Answers that were refusals. */
  readonly refusals: number
  /** Ranges that were refused, as the document words it or not. */
  readonly limitRefusals: number
  /** Calls that could be had and are not stored; the same for sessions, and the other way round. */
  readonly missing: { readonly calls: number; readonly sessions: number }
  readonly invented: { readonly calls: number; readonly sessions: number }
  /** Calls that ended long enough ago to be known, and are said to go on. */
  readonly unended: number
  /** Metric points of the calls whose metrics are all read: what is stored, and what the world holds. */
  readonly points: { readonly stored: number; readonly expected: number }
  /** Whether the database calls each stream complete over all that was within reach all the time. */
  readonly complete: Readonly<Record<string, boolean>>
  readonly gaps: Readonly<Record<string, number>>
  /** Where the gap ledger or the rows say something else of real-time data than the answers did; none are expected. */
  readonly wrongGaps: readonly string[]
  /** Seconds of each real-time series that are lost, where there are any. */
  readonly realtimeLost: Readonly<Record<string, number>>
  readonly worklist: Readonly<Record<string, number>>
  readonly letters: Readonly<Record<string, number>>
  /** Requests for sessions and metrics that were made, and the fewest that could have brought the same. */
  readonly details: { readonly made: number; readonly fewest: number }
}

export interface Examination {
  readonly sandbox: Sandbox
  readonly database: VirtualDatabase
  readonly apps: readonly string[]
  readonly limits: Readonly<Record<string, PlanLimits | undefined>>
  readonly start: number
  readonly end: number
  /** How long before the end a call must have begun to be looked for, ms. */
  readonly settled: number
}

const day = 86_400_000
/** A call that goes on is looked at again within this, ms, whatever the settings. */
const longestUnended = 1_800_000
const streamGroups = {
  calls: 'call-search',
  'call-sessions': 'call-details',
  'call-metrics': 'call-details',
  'usage-insight': 'usage-insight',
  'quality-insight': 'quality-insight',
  'realtime-usage': 'realtime',
  'realtime-quality': 'realtime',
} as const

const groupOf: Readonly<Record<string, string>> = {
  callSearch: 'call-search',
  callSessions: 'call-details',
  callMetrics: 'call-details',
  usageInsight: 'usage-insight',
  qualityInsight: 'quality-insight',
  realtimeUsage: 'realtime',
  realtimeQuality: 'realtime',
}

export async function examinePlan(examination: Examination): Promise<PlanFindings> {
  const { sandbox, limits, start } = examination
  const arrivals = sandbox.arrivals.list(0, sandbox.arrivals.count)
  const requests: Record<string, number> = {}
  const firstDay: Record<string, number> = {}
  for (const { operation, time } of arrivals) {
    const group = groupOf[operation?.split('.').at(-1) ?? '']
    if (!group) continue
    requests[group] = (requests[group] ?? 0) + 1
    if (time < start + day) firstDay[group] = (firstDay[group] ?? 0) + 1
  }
  const used = Object.fromEntries(
    Object.entries(limits).flatMap(([group, plan]) => {
      const perDay = plan?.rates.find(({ window }) => window === 86_400)?.requests
      return perDay === undefined ? [] : [[group, (firstDay[group] ?? 0) / perDay]]
    }),
  )
  return {
    violations: violationsOf(sandbox),
    requests,
    used,
    refusals: arrivals.filter(({ status = 0, refusal }) => status >= 300 || refusal !== undefined).length,
    limitRefusals: arrivals.filter(({ refusal }) => refusal !== undefined).length,
    ...(await compareCalls(examination)),
    complete: await completeness(examination),
    gaps: await counted(examination, `stream || ' ' || reason || ' ' || state`, 'ingest.gap'),
    wrongGaps: await wrongGaps(examination),
    realtimeLost: await realtimeLost(examination),
    worklist: await counted(examination, `stream || ' ' || origin || ' ' || state`, 'ingest.worklist'),
    letters: await counted(examination, `stream || ' ' || reason`, 'ingest.dead_letter'),
  }
}

/** How much of its budget a limit group may leave and still count as one that had no room for more. */
const SPENT = 0.9

/** What was lost or is not complete although the plan had room for it. `length` of the run in ms. */
export function avoidable({ used, gaps, complete }: PlanFindings, length: number) {
  const hasRoom = (stream: string | undefined) => {
    const group = streamGroups[stream as keyof typeof streamGroups]
    return (used[group] ?? 0) < SPENT * Math.min(1, length / day)
  }
  const lost = Object.entries(gaps).filter(([what]) => what.endsWith(' lost') && hasRoom(what.split(' ')[0]))
  const incomplete = Object.keys(complete).filter(what => !complete[what] && hasRoom(what.split(' ')[1]))
  return {
    ...(lost.length > 0 && { lost: Object.fromEntries(lost) }),
    ...(incomplete.length > 0 && { incomplete }),
  }
}

function violationsOf(sandbox: Sandbox): Readonly<Record<string, number>> {
  const { violationsByKind } = sandbox.status() as unknown as {
    readonly violationsByKind: Readonly<Record<string, number>>
  }
  return Object.fromEntries(Object.entries(violationsByKind).filter(([, count]) => count > 0))
}

async function compareCalls({ sandbox, database, apps, limits, start, end, settled }: Examination) {
  const search = limits['call-search']
  const detail = limits['call-details']
  const stored = new Map<string, boolean>()
  for (const { key, finished } of await database.rows<{ key: string; finished: boolean }>(
    `select app_id || ' ' || call_id as key, finished from analytics.call`,
  )) {
    stored.set(key, finished)
  }
  const points = new Map<string, number>()
  for (const { key, count } of await database.rows<{ key: string; count: number }>(
    `select app_id || ' ' || call_id as key, count(*)::float8 as count from analytics.session_metric group by 1`,
  )) {
    points.set(key, count)
  }
  const sids = new Set<string>()
  for (const { app_id, call_id, sid } of await database.rows<{
    app_id: string
    call_id: string
    sid: string
  }>('select app_id, call_id, sid from analytics.call_session')) {
    sids.add(`${app_id} ${call_id} ${sid}`)
  }
  const done = new Map<string, Set<string>>()
  for (const { app_id, item, stream } of await database.rows<{
    app_id: string
    item: string
    stream: string
  }>(
    `select app_id, item, stream from ingest.worklist group by 1, 2, 3 having bool_and(state in ('done', 'split'))`,
  )) {
    const key = `${app_id} ${item}`
    done.set(key, (done.get(key) ?? new Set()).add(stream))
  }
  const missing = { calls: 0, sessions: 0 }
  const known = new Set<string>()
  const knownSids = new Set<string>()
  const measured = { stored: 0, expected: 0 }
  let unended = 0
  let fewest = 0
  for (const app of apps) {
    const truth = sandbox.analytics(app)
    for (const call of truth.calls()) {
      const key = `${app} ${call.callId}`
      known.add(key)
      for (const { sid } of call.sessions) knownSids.add(`${key} ${sid}`)
      // Reachable from the first moment on, and long enough ago to be final.
      const isReachable =
        search && call.createdAt > start - search.reach * 1_000 + 900_000 && call.createdAt < end - settled
      if (isReachable && !stored.has(key)) missing.calls += 1
      if (stored.get(key) === false && (call.destroyedAt ?? end) < end - longestUnended) unended += 1
      const streams = done.get(key)
      if (streams?.has('call-sessions')) {
        missing.sessions += call.sessions.filter(({ sid }) => !sids.has(`${key} ${sid}`)).length
      }
      if (!detail || !streams?.has('call-metrics') || !streams.has('call-sessions')) continue
      measured.expected += truth.points(call.callId)?.points ?? 0
      measured.stored += points.get(key) ?? 0
      const slices = Math.max(
        1,
        Math.ceil(((call.destroyedAt ?? end) - call.createdAt) / 1_000 / (detail.span - 1)),
      )
      fewest += slices * (Math.floor(call.sessions.length / 100) + 1 + Math.ceil(call.sessions.length / 20))
    }
  }
  const [made] = await database.rows<{ made: number }>(
    `select count(*)::float8 as made from ingest.debit where limit_group = 'call-details'`,
  )
  return {
    missing,
    invented: {
      calls: [...stored.keys()].filter(key => !known.has(key)).length,
      sessions: [...sids].filter(key => !knownSids.has(key)).length,
    },
    ...{ unended, points: measured },
    details: { made: made!.made, fewest },
  }
}

async function completeness({ database, apps, limits, start, end }: Examination) {
  const answers = Object.entries(streamGroups).flatMap(([stream, group]) => {
    const plan = limits[group]
    return plan ? [{ stream, plan }] : []
  })
  const complete: Record<string, boolean> = {}
  for (const { stream, plan } of answers) {
    // From the first moment on, up to what cannot be final yet by any setting.
    const settle = stream.endsWith('insight')
      ? 80 * 3_600_000
      : stream.startsWith('realtime')
        ? 3_600_000
        : 8 * 3_600_000
    const from = stream.endsWith('insight') ? start - 3 * day : start
    const to = end - plan.delay * 1_000 - settle
    if (to <= from) continue
    for (const app of apps) {
      const [row] = await database.rows<{ complete: boolean }>(
        `select ingest.is_complete('${stream}', '${app}', to_timestamp(${from / 1_000}), to_timestamp(${to / 1_000})) as complete`,
      )
      complete[`${app} ${stream}`] = row!.complete
    }
  }
  return complete
}

async function counted(
  { database }: Examination,
  what: string,
  table: string,
): Promise<Readonly<Record<string, number>>> {
  const rows = await database.rows<{ what: string; count: number }>(
    `select ${what} as what, count(*)::int as count from ${table} group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(({ what, count }) => [what, count]))
}

async function realtimeLost({ database }: Examination): Promise<Readonly<Record<string, number>>> {
  const rows = await database.rows<{ series: string; seconds: number }>(
    `select app_id || ' ' || stream || ' ' || series as series,
            sum(extract(epoch from range_to - range_from))::float8 as seconds
     from ingest.gap where stream like 'realtime-%' and state = 'lost' group by 1 order by 1`,
  )
  return Object.fromEntries(rows.map(({ series, seconds }) => [series, seconds]))
}

/**
 * Holds the gap ledger and the values of the real-time streams against the arrivals. A window of twenty seconds that
 * was in an answer is stored; one that was asked for and never in the answer is absent; one about which no question
 * was answered is lost. Shares nothing with the arithmetic of ranges.
 */
async function wrongGaps(examination: Examination): Promise<readonly string[]> {
  const { database, end, limits } = examination
  const { realtime } = limits
  if (!realtime) return []
  const answers = answersOf(examination, realtime.delay)
  const gaps = await gapsByWindow(database)
  const values = new Set(
    (
      await database.rows<{ key: string }>(
        `select app_id || ' realtime-usage ' || product || '/' || metric || ' ' || extract(epoch from at)::bigint as key
         from analytics.usage_realtime where cname = ''
         union all
         select app_id || ' realtime-quality ' || product || '/' || metric || ' ' || extract(epoch from at)::bigint
         from analytics.quality_realtime where cname = '' and uid = ''`,
      )
    ).map(({ key }) => key),
  )
  const wrong: string[] = []
  for (const { key, since } of await database.rows<{ key: string; since: number }>(
    `select app_id || ' ' || stream || ' ' || series as key, extract(epoch from owed_from)::float8 as since
     from ingest.progress where stream like 'realtime-%'`,
  )) {
    // What left the reach a quarter of an hour ago has been noticed.
    const until = end / 1_000 - realtime.reach - 900
    for (let at = since; at < until; at += 20) {
      const window = `${key} ${at}`
      const answer = answers.get(window)
      const isStored = values.has(window)
      const told = gaps.get(window) ?? 'no gap'
      const expected = { served: 'no gap', asked: 'absent', none: 'lost' }[answer ?? 'none']
      if (told !== expected || isStored !== (answer === 'served')) {
        wrong.push(`${window}: ${answer ?? 'never answered'}, ${told}, ${isStored ? 'stored' : 'not stored'}`)
      }
    }
  }
  return wrong
}

/** Of each window that a question was answered about: whether it was in an answer. */
function answersOf({ sandbox }: Examination, delay: number): ReadonlyMap<string, 'served' | 'asked'> {
  const answers = new Map<string, 'served' | 'asked'>()
  for (const arrival of sandbox.arrivals.list(0, sandbox.arrivals.count)) {
    const { app, operation, target, time, status, fault, refusal } = arrival
    const name = operation?.split('.').at(-1) ?? ''
    if (
      !name.startsWith('realtime') ||
      refusal !== undefined ||
      status !== 200 ||
      (fault ?? 'empty') !== 'empty'
    )
      continue
    const stream = name === 'realtimeUsage' ? 'realtime-usage' : 'realtime-quality'
    const query = new URL(target, 'http://provider').searchParams
    const { servedFrom } = sandbox.analytics(app!)
    for (let at = Number(query.get('startTs')); at < Number(query.get('endTs')); at += 20) {
      const key = `${app} ${stream} ${query.get('productType')}/${query.get('metric')} ${at}`
      const isServed = fault === undefined && servedFrom(name, at, 20) <= time / 1_000 - delay
      if (isServed || !answers.has(key)) answers.set(key, isServed ? 'served' : 'asked')
    }
  }
  return answers
}

async function gapsByWindow(database: VirtualDatabase): Promise<ReadonlyMap<string, string>> {
  const gaps = new Map<string, string>()
  for (const { key, from, to, state } of await database.rows<{
    key: string
    from: number
    to: number
    state: string
  }>(
    `select app_id || ' ' || stream || ' ' || series as key, extract(epoch from range_from)::float8 as from,
            extract(epoch from range_to)::float8 as to, state
     from ingest.gap where stream like 'realtime-%'`,
  )) {
    for (let at = from; at < to; at += 20) gaps.set(`${key} ${at}`, state)
  }
  return gaps
}

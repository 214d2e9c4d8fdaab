import type { Arrival, Sandbox } from '../../sandbox/src/index.ts'
import type { AnalyticsLimitReading } from '../../src/provider/analytics/index.ts'
import type { VirtualDatabase } from './database.ts'
import { askedBy, groupOf, type Played } from './oracle/open.ts'
import { inventedReasons, isInvented, struckBy } from './plan-invented.ts'
import { beyondRates, counterOf, limitsOf, type Plans, shareOfDay, unfair } from './plan-limits.ts'
import { unavoidableLosses } from './plan-losses.ts'
import { channelValues, lostInVain, realtimeLost, wrongGaps } from './plan-realtime.ts'

/** What a run over a plan's limits came to. Times are ms since the epoch unless told. */
export interface PlanFindings {
  /** Violations by kind, as the sandbox counted them on arrival, and by counter, as the document's numbers have it. */
  readonly violations: Readonly<Record<string, number>>
  /** Requests that arrived, by limit group. */
  readonly requests: Readonly<Record<string, number>>
  /** By stream, what its counter counted in the first 24 hours as a share of the day of all that share it. */
  readonly used: Readonly<Record<string, number>>
  /** Counters that were spent although an app that shares them had little. */
  readonly unfair: readonly string[]
  /** Answers that were refusals, those apart that a fault or an hour in which less is served invented. */
  readonly refusals: number
  /** Most refusals that such an hour invented for one limit group of an app. */
  readonly refusalsInTightHour: number
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
  /** Those of them of which the provider never serves some entry, so that none of them can be complete. */
  readonly unservable: readonly string[]
  readonly gaps: Readonly<Record<string, number>>
  /** Those of calls and their details that are lost and could not be had while there was anything to ask with. */
  readonly unavoidable: Readonly<Record<string, number>>
  /** Where the gap ledger or the rows say something else of real-time data than the answers did; none are expected. */
  readonly wrongGaps: readonly string[]
  /** Seconds of each real-time series that are lost, where there are any. */
  readonly realtimeLost: Readonly<Record<string, number>>
  /** Windows of each real-time series that are lost or absent although they could be had for long enough. */
  readonly lostInVain: Readonly<Record<string, number>>
  /** Channels of which real-time values are stored, and values of them that are not what the world holds. */
  readonly channelsAsked: number
  readonly wrongValues: readonly string[]
  readonly worklist: Readonly<Record<string, number>>
  /** Dead letters that no invented answer explains. */
  readonly letters: Readonly<Record<string, number>>
  /** Requests for sessions and metrics that were made, and the fewest that could have brought the same. */
  readonly details: { readonly made: number; readonly fewest: number }
  /** Median age of calls when their metrics were stored, seconds, in the second half of the run; null where none were. */
  readonly medianAge: number | null
}

export interface Examination extends Played {
  readonly database: VirtualDatabase
  /** Of all projects of the one credential. */
  readonly plans: Plans
  /** Whether endpoints with one table of limits share a counter. */
  readonly reading: AnalyticsLimitReading
  /** How long before the end a call must have begun to be looked for, ms. */
  readonly settled: number
  /** Questions of real time at once at most, by stream. */
  readonly realtimeSeries: Readonly<Record<string, number>>
}

const hour = 3_600_000
const day = 24 * hour
/** A call that goes on is looked at again within this, ms, whatever the settings. */
const longestUnended = 1_800_000
/** A request to call analytics, with what was asked and the limit group that it counts in. */
interface Asked {
  readonly arrival: Arrival
  readonly operation: string
  readonly group: string
}

export async function examinePlan(examination: Examination): Promise<PlanFindings> {
  const { sandbox, plans, reading, start } = examination
  const asked = sandbox.arrivals.list(0, sandbox.arrivals.count).flatMap((arrival): readonly Asked[] => {
    const operation = arrival.operation?.split('.').at(-1) ?? ''
    const group = groupOf.get(operation)
    return group ? [{ arrival, operation, group }] : []
  })
  const requests: Record<string, number> = {}
  for (const { group } of asked) requests[group] = (requests[group] ?? 0) + 1
  const used = shareOfDay(asked, { plans, reading, start })
  const invented = new Set(asked.filter(({ arrival, group }) => isInvented(examination, arrival, group)))
  const refused = asked.filter(
    ({ arrival: { status = 0, refusal } }) => status >= 300 || refusal !== undefined,
  )
  const worklist = await counted(examination, `stream || ' ' || origin || ' ' || state`, 'ingest.work_item')
  return {
    violations: { ...violationsOf(examination), ...beyondRates(asked, plans, reading) },
    requests,
    used: Object.fromEntries(
      Object.entries(askedBy).flatMap(([stream, { operation }]) => {
        const share = used.get(counterOf(operation, reading))
        return share === undefined ? [] : [[stream, share]]
      }),
    ),
    unfair: unfair(asked, {
      ...{ plans, reading, start },
      isSpent: counter => used.get(counter)! >= SPENT * shareOfRun(examination.end - start),
    }),
    refusals: refused.filter(each => !invented.has(each)).length,
    limitRefusals: asked.filter(({ arrival }) => arrival.refusal !== undefined).length,
    refusalsInTightHour: most(
      [...invented]
        .filter(({ arrival }) => struckBy(arrival) === undefined)
        .map(({ arrival: { app, time }, group }) => `${app} ${group} ${Math.floor(time / hour)}`),
    ),
    ...(await compareCalls(examination)),
    ...(await completeness(examination)),
    gaps: await counted(examination, `stream || ' ' || reason || ' ' || state`, 'ingest.gap'),
    unavoidable: await unavoidableLosses(examination),
    wrongGaps: await wrongGaps(examination),
    realtimeLost: await realtimeLost(examination),
    lostInVain: await lostInVain(examination),
    ...(await channelValues(examination)),
    medianAge: await medianAge(examination),
    worklist,
    letters: unexplained(
      await counted(examination, `stream || ' ' || reason`, 'ingest.dead_letter'),
      inventedReasons(examination, [...invented]),
      worklist,
    ),
  }
}

async function medianAge({ database, start, end }: Examination): Promise<number | null> {
  const [row] = await database.rows<{ age: number | null }>(
    `select percentile_cont(0.5) within group (order by extract(epoch from updated_at - range_to)::float8) as age
     from ingest.work_item
     where stream = 'call-metrics' and state = 'done' and updated_at > to_timestamp(${(start + end) / 2_000})`,
  )
  return row!.age
}

/** Of a day, however long the run. */
function shareOfRun(length: number): number {
  return Math.min(1, length / day)
}

/** How much of its budget a limit group may leave and still count as one that had no room for more. */
const SPENT = 0.9

/**
 * What was lost or is not complete although the plan had room for it, or is called complete and cannot be. `length` of
 * the run in ms. Of real time, what could be had is known by the window; what could not is told by gaps that are true.
 */
export function avoidable(findings: PlanFindings, length: number) {
  const { used, gaps, unavoidable, lostInVain, complete, unservable } = findings
  const hasRoom = (stream: string | undefined) => {
    return (used[stream ?? ''] ?? 0) < SPENT * shareOfRun(length)
  }
  const isTold = (stream: string | undefined) =>
    stream!.startsWith('realtime-') && Object.keys(gaps).some(what => what.startsWith(`${stream} `))
  const lost = Object.entries(gaps)
    .filter(
      ([what]) => what.endsWith(' lost') && !what.startsWith('realtime-') && hasRoom(what.split(' ')[0]),
    )
    .map(([what, count]) => [what, count - (unavoidable[what] ?? 0)] as const)
    .filter(([, count]) => count > 0)
  const incomplete = Object.keys(complete).filter(what => {
    const stream = what.split(' ')[1]
    return !complete[what] && hasRoom(stream) && !isTold(stream) && !unservable.includes(what)
  })
  const falselyComplete = unservable.filter(what => complete[what])
  return {
    ...(lost.length > 0 && { lost: Object.fromEntries(lost) }),
    ...(Object.keys(lostInVain).length > 0 && { lostInVain }),
    ...(incomplete.length > 0 && { incomplete }),
    ...(falselyComplete.length > 0 && { falselyComplete }),
  }
}

/** How often the word occurs that occurs most. */
function most(words: readonly string[]): number {
  const counts = new Map<string, number>()
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
  return Math.max(0, ...counts.values())
}

/**
 * Dead letters of each stream and reason, less those that invented answers explain, by operation and reason. The bytes
 * of an answer that is larger than what is read at once are kept too; its question is split, and both halves are read.
 */
function unexplained(
  letters: Readonly<Record<string, number>>,
  reasons: ReadonlyMap<string, number>,
  worklist: Readonly<Record<string, number>>,
) {
  return Object.fromEntries(
    Object.entries(letters).filter(([what, count]) => {
      const [stream, reason] = what.split(' ')
      if (reason === 'too_large') return count > (worklist[`${stream} live split`] ?? 0)
      return count > (reasons.get(`${askedBy[stream!]!.operation} ${reason}`) ?? 0)
    }),
  )
}

/** Of how often may be asked, only where the endpoints that may share a counter do so for the daemon too. */
function violationsOf({ sandbox, reading }: Examination): Readonly<Record<string, number>> {
  const { violationsByKind } = sandbox.status() as unknown as {
    readonly violationsByKind: Readonly<Record<string, number>>
  }
  return Object.fromEntries(
    Object.entries(violationsByKind).filter(
      ([kind, count]) => count > 0 && (reading === 'joint' || !/^(second|minute|day)-/.test(kind)),
    ),
  )
}

async function compareCalls({ sandbox, database, plans, start, end, settled }: Examination) {
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
    `select app_id, item, stream from ingest.work_item group by 1, 2, 3 having bool_and(state in ('done', 'split'))`,
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
  for (const [app, plan] of Object.entries(plans)) {
    const search = limitsOf(plan, 'call-search')
    const detail = limitsOf(plan, 'call-details')
    const truth = sandbox.analytics(app)
    for (const call of truth.calls()) {
      const key = `${app} ${call.callId}`
      known.add(key)
      for (const { sid } of call.sessions) knownSids.add(`${key} ${sid}`)
      // Reachable from the first moment on, and long enough ago to be final.
      const isReachable =
        search &&
        call.createdAt > start - search.availableData * 1_000 + 900_000 &&
        call.createdAt < end - settled
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
        Math.ceil(((call.destroyedAt ?? end) - call.createdAt) / 1_000 / (detail.timeFrame - 1)),
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

async function completeness({ sandbox, database, plans, start, end }: Examination) {
  const complete: Record<string, boolean> = {}
  const unservable: string[] = []
  for (const [app, plan] of Object.entries(plans)) {
    for (const [stream, { operation, group }] of Object.entries(askedBy)) {
      const limits = limitsOf(plan, group)
      if (!limits) continue
      // From the first moment on, up to what cannot be final yet by any setting.
      const settle = stream.endsWith('insight')
        ? 80 * 3_600_000
        : stream.startsWith('realtime')
          ? 3_600_000
          : 8 * 3_600_000
      const from = stream.endsWith('insight') ? start - 3 * day : start
      const to = end - limits.dataDelay * 1_000 - settle
      if (to <= from) continue
      const [row] = await database.rows<{ complete: boolean }>(
        `select ingest.is_complete('${stream}', '${app}', to_timestamp(${from / 1_000}), to_timestamp(${to / 1_000})) as complete`,
      )
      complete[`${app} ${stream}`] = row!.complete
      if (neverServed(sandbox, app, operation, { from, to })) unservable.push(`${app} ${stream}`)
    }
  }
  return { complete, unservable }
}

/** Whether there is an entry within the range, ms, that the provider promises and never serves. */
function neverServed(
  sandbox: Sandbox,
  app: string,
  operation: string,
  { from, to }: { readonly from: number; readonly to: number },
): boolean {
  if (operation.startsWith('call')) return false
  const step = operation.endsWith('Insight') ? 3_600 : 20
  const { servedFrom } = sandbox.analytics(app)
  for (let at = Math.ceil(from / 1_000 / step) * step; at + step <= to / 1_000; at += step) {
    if (servedFrom(operation, at, step) === Number.POSITIVE_INFINITY) return true
  }
  return false
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

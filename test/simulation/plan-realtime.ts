import type { QualityMetric } from '../../sandbox/src/analytics/quality.ts'
import type { RealtimeUsageMetric } from '../../sandbox/src/analytics/realtime.ts'
import type { PlanLimits } from '../../src/provider/limits.ts'
import type { VirtualDatabase } from './database.ts'
import { longestOpen, type Open, openMinutes } from './oracle/open.ts'
import { counterOf, limitsOf, sharedPerDay } from './plan-limits.ts'
import type { Examination } from './plan-oracle.ts'

/** Seconds of each series that are lost. */
export async function realtimeLost({ database }: Examination): Promise<Readonly<Record<string, number>>> {
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
export async function wrongGaps(examination: Examination): Promise<readonly string[]> {
  const { database, start, plans } = examination
  const answers = answersOf(examination)
  const gaps = await gapsByWindow(database)
  const values = new Set((await storedValues(database)).map(keyOf))
  const wrong: string[] = []
  for (const { key, since, unasked } of await database.rows<Asked>(
    `select app_id || ' ' || stream || ' ' || series as key, extract(epoch from backlog_from)::float8 as since,
            (select coalesce(json_agg(json_build_array(extract(epoch from lower(r)), extract(epoch from upper(r)))), '[]')
             from unnest(unasked) r) as unasked
     from ingest.progress where stream like 'realtime-%'`,
  )) {
    const [app, stream] = key.split(' ') as [string, string]
    const realtime = limitsOf(plans[app], 'realtime')!
    const until =
      noticedAt(openMinutes(examination, app, operationOf(stream), realtime), start) - realtime.availableData
    for (let at = since; at < until; at += 20) {
      if (unasked.some(([from, to]) => (from ?? 0) <= at && at < (to ?? Number.POSITIVE_INFINITY))) continue
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

/** A series, from when it is owed, and when it was not asked for. */
interface Asked {
  readonly key: string
  readonly since: number
  readonly unasked: readonly (readonly [from: number | null, to: number | null])[]
}

interface StoredValue {
  readonly app: string
  readonly stream: string
  readonly product: string
  readonly metric: string
  readonly cname: string
  readonly at: number
  readonly value: number
}

function storedValues(database: VirtualDatabase): Promise<readonly StoredValue[]> {
  const columns = 'product, metric, cname, extract(epoch from at)::float8 as at, value'
  return database.rows<StoredValue>(
    `select app_id as app, 'realtime-usage' as stream, ${columns} from analytics.usage_realtime
     union all
     select app_id, 'realtime-quality', ${columns} from analytics.quality_realtime where uid = ''`,
  )
}

function keyOf({ app, stream, at, ...question }: Omit<StoredValue, 'value'>): string {
  const { product, metric, cname } = question
  const path = [product, metric, ...(cname === '' ? [] : [cname])].map(encodeURIComponent)
  return `${app} ${stream} ${path.join('/')} ${at}`
}

/** Values of channels that are stored and are not what the world holds, and of how many channels there are any. */
export async function channelValues({ sandbox, database }: Examination) {
  const stored = (await storedValues(database)).filter(({ cname }) => cname !== '')
  const wrong = stored.filter(({ app, stream, product, metric, cname, at, value }) => {
    const truth = sandbox.analytics(app)
    const subject = { product, cname }
    const expected =
      stream === 'realtime-usage'
        ? truth.realtimeUsage(subject, metric as RealtimeUsageMetric, at)
        : truth.realtimeQuality(subject, metric as QualityMetric, at)
    return value !== expected
  })
  return {
    channelsAsked: new Set(stored.map(({ app, cname }) => `${app} ${cname}`)).size,
    wrongValues: wrong.map(each => `${keyOf(each)}: ${each.value}`),
  }
}

/** Of each window that a question was answered about: whether it was in an answer. */
function answersOf({ sandbox, plans }: Examination): ReadonlyMap<string, 'served' | 'asked'> {
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
    const { dataDelay } = limitsOf(plans[app!], 'realtime')!
    for (let at = Number(query.get('startTs')); at < Number(query.get('endTs')); at += 20) {
      const [product, metric] = [query.get('productType')!, query.get('metric')!]
      const key = keyOf({ app: app!, stream, product, metric, cname: query.get('cname') ?? '', at })
      const isServed = fault === undefined && servedFrom(name, at, 20) <= time / 1_000 - dataDelay
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
     from ingest.gap
     where stream like 'realtime-%'
       -- What a channel lacked when it was left may be had when it is chosen once more.
       and not (state = 'repaired' and series like '%/%/%')`,
  )) {
    for (let at = from; at < to; at += 20) gaps.set(`${key} ${at}`, state)
  }
  return gaps
}

/**
 * Windows that are lost or absent although the provider served them long enough: for a time in which each series is
 * asked once at an even pace, and a pause of a tenth of what is available is over.
 */
export async function lostInVain(examination: Examination): Promise<Readonly<Record<string, number>>> {
  const { sandbox, plans, start, database } = examination
  const minutes = new Map<string, readonly (Open | undefined)[]>()
  const found: Record<string, number> = {}
  for (const [window, state] of await gapsByWindow(database)) {
    const [app, stream, series, at] = window.split(' ') as [string, string, string, string]
    // Nobody asks once more about a channel that was left.
    if (state === 'absent' && series.split('/').length > 2) continue
    const operation = operationOf(stream)
    const key = `${app} ${operation}`
    const plan = limitsOf(plans[app], 'realtime')!
    if (!minutes.has(key)) minutes.set(key, openMinutes(examination, app, operation, plan))
    const known = secondsForAll(examination, operation) + plan.availableData * PAUSE_SHARE
    const isTaught = wasNarrow(minutes.get(key)!, { start: start / 1_000, at: Number(at), plan })
    const enough = Math.ceil((known + (isTaught ? secondsOfLessons(examination) : 0)) / 60)
    const from = sandbox.analytics(app).servedFrom(operation, Number(at), 20) + plan.dataDelay
    const longest = longestOpen(minutes.get(key)!, { start: start / 1_000, at: Number(at), step: 20, from })
    if (longest > enough) found[`${app} ${stream} ${series}`] = (found[`${app} ${stream} ${series}`] ?? 0) + 1
  }
  return found
}

function operationOf(stream: string): string {
  return stream === 'realtime-usage' ? 'realtimeUsage' : 'realtimeQuality'
}

/**
 * Until when what leaves the reach has been noticed, Unix seconds: a quarter of an hour after it, where questions could be
 * answered in that time; a series that cannot be asked about is not looked at either.
 */
function noticedAt(minutes: readonly (Open | undefined)[], start: number): number {
  let last = minutes.length
  while (last > QUARTER && !minutes.slice(last - QUARTER, last).every(Boolean)) last -= 1
  return start / 1_000 + (last - QUARTER) * 60
}

const QUARTER = 15

/** No pause after a fault is a larger part of what is available. */
const PAUSE_SHARE = 0.1

/** At an even pace, seconds in which every question that is counted with those to an operation is asked once. */
function secondsForAll({ plans, reading, realtimeSeries }: Examination, operation: string): number {
  const counter = counterOf(operation, reading)
  const series = Object.entries(realtimeSeries)
    .filter(([stream]) => counterOf(operationOf(stream), reading) === counter)
    .reduce((sum, [, count]) => sum + count, 0)
  return (series * 86_400) / sharedPerDay(plans, 'realtime')!
}

/** A refusal tells no number, so half of what is available is found in five steps, and twice the delay in three. */
const LESSONS = 8

/** At an even pace, seconds in which a project finds out what an hour serves, where others take turns with it. */
function secondsOfLessons({ plans }: Examination): number {
  const sharing = Object.values(plans).filter(plan => limitsOf(plan, 'realtime')).length
  return (LESSONS * sharing * 86_400) / sharedPerDay(plans, 'realtime')!
}

/** Whether less could be asked for than the plan says, while a window that begins `at` could be had; Unix seconds. */
function wasNarrow(
  minutes: readonly (Open | undefined)[],
  { start, at, plan }: { readonly start: number; readonly at: number; readonly plan: PlanLimits },
): boolean {
  const first = Math.max(0, Math.floor((at - start) / 60))
  const span = minutes.slice(first, first + Math.ceil(plan.availableData / 60))
  return span.some(
    open => open && (open.availableData < plan.availableData || open.dataDelay > plan.dataDelay),
  )
}

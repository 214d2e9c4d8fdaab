import type { TrueCall, TrueSeries } from '../../../sandbox/src/index.ts'
import { askedOf, Findings, say } from './asked.ts'
import type { CallJudge, StoredSeries } from './by-call.ts'
import { allowanceOf } from './contract.ts'
import { areDetailsDue, callsGivenUp, type Extent, extentOf, hasRoom, readListed } from './details.ts'
import type { Examination } from './examination.ts'
import { hasHeavySeconds, isBeyond } from './heavy.ts'
import { isMeasured } from './selection.ts'

type Switches = Examination['sandbox']['settings']['switches']

/** Every cell of analytics.session_metric, and whether all sessions and values are there that could be had. */
export async function judgeSamples(examination: Examination): Promise<CallJudge> {
  const { rows, apps, sandbox } = examination
  const found = new Findings()
  const measured = new Set(
    (
      await rows<{ key: string }>(
        `select app_id || ' ' || call_id as key from (select distinct app_id, call_id from analytics.session_series) s
         where exists (select from analytics.session_metric m where (m.app_id, m.call_id) = (s.app_id, s.call_id))`,
      )
    ).map(({ key }) => key),
  )
  const sids = Map.groupBy(
    await rows<{ key: string; sid: string }>(
      `select app_id || ' ' || call_id as key, sid from analytics.call_session`,
    ),
    ({ key }) => key,
  )
  // What cannot be read is stored as far as it can, where each answer came whole; and what has a heavy second but for that.
  const { isCalm = false, faults } = examination
  const lost = await callsGivenUp(
    examination,
    (isCalm && faults.length === 0) || hasHeavySeconds(examination)
      ? `reason not in ('unreadable', 'too_large')`
      : 'true',
  )
  const isListed = await readListed(examination)
  const starts = startsOf(examination)
  const judged = new Map<string, { readonly call: TrueCall; readonly mustHave: boolean }>()
  for (const { id: app, plan } of apps) {
    const allowance = allowanceOf('call-details', plan)
    const isRoomy = ['callSessions', 'callMetrics'].every(
      each => allowance && hasRoom(examination, app, each),
    )
    for (const call of sandbox.analytics(app).calls()) {
      const key = `${app} ${call.callId}`
      const hasValues = measured.delete(key)
      const isDue =
        isRoomy && allowance !== undefined && areDetailsDue(examination, call, allowance) && isListed(call)
      if (isDue && !lost.has(`${app} call-sessions ${call.callId}`)) {
        const stored = new Set((sids.get(key) ?? []).map(({ sid }) => sid))
        for (const { sid } of expectedSessions(examination, call))
          if (!stored.has(sid)) found.add('lost', `${app} call-sessions`, `${call.callId} ${sid}`)
      }
      const mustHave =
        isDue &&
        isMeasured(examination, app, call) &&
        !lost.has(`${app} call-metrics ${call.callId}`) &&
        !lost.has(`${app} call-sessions ${call.callId}`)
      if (hasValues || mustHave) judged.set(key, { call, mustHave })
    }
  }
  for (const key of measured) found.add('different', 'call-metrics', `of nobody: ${key}`)
  const { switches } = sandbox.settings
  return {
    calls: new Set(judged.keys()),
    judge: async ({ key, series, truth }) => {
      const { call, mustHave } = judged.get(key)!
      const listed = new Set(expectedSessions(examination, call).map(({ sid }) => sid))
      const isServed = (sid: string, at: number) => listed.has(sid) && !isBeyond(call, sid, at)
      const extent = extentOf(call)
      const world = { switches, starts: starts.get(key) ?? [], extent, mustHave, isServed }
      compareSeries(found, key, truth, series, world)
    },
    findings: () => found.list(),
  }
}

/** Those whose stay touches what is asked about. */
function expectedSessions({ sandbox }: Examination, call: TrueCall) {
  const { from, to } = extentOf(call)
  // The last to join are on the first page.
  const served = call.isCut ? call.sessions.slice(-sandbox.settings.switches.mostPerPage) : call.sessions
  return served.filter(({ item }) => item.join_ts <= to && item.leave_ts >= from)
}

/** Where questions about the metrics of a call began, Unix seconds. */
function startsOf(examination: Examination): ReadonlyMap<string, readonly number[]> {
  const starts = new Map<string, number[]>()
  for (const { app, operation, query, from } of askedOf(examination)) {
    if (operation !== 'callMetrics') continue
    const key = `${app} ${query.get('call_id')}`
    const known = starts.get(key)
    if (!known) starts.set(key, [from])
    else if (!known.includes(from)) known.push(from)
  }
  return starts
}

interface World {
  readonly switches: Switches
  readonly starts: readonly number[]
  readonly extent: Extent
  /** All values must be there that are served. */
  readonly mustHave: boolean
  readonly isServed: (sid: string, at: number) => boolean
}

function compareSeries(
  found: Findings,
  call: string,
  truth: Iterable<TrueSeries>,
  stored: readonly StoredSeries[],
  world: World,
): void {
  const left = new Map(stored.map(series => [`${series.sid} ${series.peer} ${series.mid}`, series]))
  for (const series of truth) {
    const peer = series.peer === 0 && world.switches.ownPeer === 'absent' ? '' : String(series.peer)
    const key = `${series.sid} ${peer} ${series.mid}`
    const row = left.get(key)
    left.delete(key)
    compareValues(found, `${call} ${key}`, series, row?.pairs, world)
    if (row) compareExtras(found, `${call} ${key}`, row, world)
  }
  for (const key of left.keys()) found.add('different', 'call-metrics', `of nobody: ${call} ${key}`)
}

/** Values that are words are not stored. */
function compareValues(
  found: Findings,
  name: string,
  { sid, moments, values }: TrueSeries,
  pairs: string | undefined,
  { extent: { from, to }, mustHave, switches, isServed }: World,
): void {
  // Of the last second of a question some answers do not tell.
  const served = switches.metricsEnd === 'inclusive' ? 1 : 0
  const expected: string[] = []
  moments.forEach((moment, n) => {
    const value = values[n]
    if (typeof value === 'number' && moment >= from && moment < to + served && isServed(sid, moment))
      expected.push(`${moment}=${value}`)
  })
  if (pairs === expected.join(',')) return
  const right = new Map<string, number>()
  moments.forEach((moment, n) => {
    const value = values[n]
    if (typeof value === 'number') right.set(String(moment), value)
  })
  const have = new Set<string>()
  for (const pair of pairs?.split(',') ?? []) {
    const [moment = '', value] = pair.split('=')
    have.add(moment)
    if (right.get(moment) !== Number(value))
      found.add(
        'different',
        'call-metrics value',
        `${name} ${say(Number(moment))}: ${value} instead of ${right.get(moment)}`,
      )
  }
  const missing = expected.map(pair => pair.split('=')[0]!).filter(moment => !have.has(moment))
  if (mustHave && missing.length > 0)
    found.add(
      'lost',
      'call-metrics',
      `${name}: ${missing.length} values, the first of ${say(Number(missing[0]))}`,
    )
}

/** Beside each value what came behind it; beside the first of an answer what its series and its entry say, too. */
function compareExtras(found: Findings, name: string, row: StoredSeries, { switches, starts }: World): void {
  const isThird = switches.kvs === 'triples'
  const isNoted = switches.unknownFields === 'present'
  if (row.extras === null) {
    if (isThird || isNoted) found.add('different', 'call-metrics extra', `${name}: nothing`)
    return
  }
  const { times } = row
  row.extras.split('\n').forEach((extra, n) => {
    const at = times[n]!
    const plain = isThird ? `[${at % 7}]` : ''
    const mustBeFirst = isNoted && n === 0
    if (extra === plain && !mustBeFirst) return
    // Whoever was asked about may have been away at the beginning, and values may be missing or be no numbers.
    const before = times[n - 1] ?? Number.NEGATIVE_INFINITY
    const mayBeFirst = mustBeFirst || starts.some(start => before < start && start <= at)
    const said = { ...(isThird && { pair: [at % 7] }), series: noted, entry: noted }
    const isFirst = isNoted && extra !== '' && extra !== plain && sameJson(JSON.parse(extra), said)
    const isRight = isFirst && mayBeFirst
    if (!isRight) found.add('different', 'call-metrics extra', `${name} ${say(at)}: ${extra || 'nothing'}`)
  })
}

/** What a deployment says that says more than the documents do. */
export const noted = { note: { revision: 3, of: 'the provider' } }

/** What stands beside a value of insights or real time: what nobody knows, and what the same answer gave for its time before. */
export function besideValue({ unknownFields, valueEntries }: Switches): object | null {
  const beside = unknownFields === 'present' ? noted : null
  return valueEntries === 'twice' ? { ...beside, others: [{ ...beside, value: otherValue }] } : beside
}

/** What the provider tells before the truth, where it tells two values. */
const otherValue = -7

export function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, each]) => [name, sorted(each)])
}

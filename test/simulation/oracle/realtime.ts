import { Findings, say } from './asked.ts'
import type { Examination, Finding } from './examination.ts'
import { isServed, promisedSeries, type QualityMetric, type Series, timesIn, trueValue } from './promised.ts'
import { besideValue, noted, sameJson } from './samples.ts'

interface StoredValue {
  readonly app: string
  readonly stream: 'realtime-usage' | 'realtime-quality'
  readonly product: string
  readonly metric: string
  readonly cname: string
  readonly uid: string
  /** Unix seconds. */
  readonly at: number
  readonly value: number
  readonly extra: unknown
}

/**
 * Every cell of analytics.usage_realtime and analytics.quality_realtime. Which values are missing, `ledger.ts` says;
 * users come and go, so that of them what is served is all there is.
 */
export async function examineRealtime(examination: Examination): Promise<readonly Finding[]> {
  const { sandbox, rows } = examination
  const found = new Findings()
  const columns = 'extract(epoch from at)::float8 as at, value, extra'
  const stored = await rows<StoredValue>(
    `select app_id as app, 'realtime-usage' as stream, product, metric, cname, '' as uid, ${columns} from analytics.usage_realtime
     union all
     select app_id, 'realtime-quality', product, metric, cname, uid, ${columns} from analytics.quality_realtime`,
  )
  const series = promisedSeries(examination).filter(({ stream }) => stream.startsWith('realtime'))
  for (const each of series) if (each.uids !== '') findMissing(examination, found, each, stored)
  const byName = Map.groupBy(series, each => nameOf(each, each.uids !== ''))
  for (const [name, members] of Map.groupBy(stored, row => nameOf(row, row.uid !== ''))) {
    const asked = byName.get(name) ?? []
    const served = new Map(asked.map(each => [each, servedTimes(examination, each)]))
    for (const row of members) {
      const of = asked.find(each => isAbout(each, row.uid) && served.get(each)!.has(row.at))
      if (of) compare(sandbox, found, of, row)
      else found.add('different', name, `${say(row.at)} ${row.uid} was in no answer: ${row.value}`)
    }
  }
  return found.list()
}

/** From when it is asked for until it is stored, ms. */
const soon = 60_000

/** Where no answer is lost, what was served of a user is stored. */
function findMissing(
  examination: Examination,
  found: Findings,
  series: Series,
  stored: readonly StoredValue[],
): void {
  const { sandbox, isCalm, isEnd, end } = examination
  if (!isCalm || !isEnd) return
  const truth = sandbox.analytics(series.app)
  const name = nameOf(series, true)
  const have = new Set(
    stored.filter(row => nameOf(row, row.uid !== '') === name).map(({ uid, at }) => `${uid} ${at}`),
  )
  const { product, cname, metric } = series
  const subject = { product, ...(cname && { cname }) }
  const asked = series.asked.filter(({ time }) => time < end - soon)
  for (const at of servedTimes(examination, { ...series, asked })) {
    for (const uid of series.uids.split(',')) {
      const value = truth.realtimeQuality(subject, metric as QualityMetric, at, Number(uid))
      if (value !== undefined && !have.has(`${uid} ${at}`)) found.add('lost', name, `${say(at)} ${uid}`)
    }
  }
}

function nameOf(
  of: Pick<StoredValue, 'app' | 'product' | 'metric' | 'cname'> & { readonly stream: string },
  isOfUsers: boolean,
): string {
  return [of.app, of.stream, of.product, of.metric, of.cname, isOfUsers ? 'users' : 'all'].join(' ')
}

function isAbout({ uids }: Series, uid: string): boolean {
  return uids === '' ? uid === '' : uids.split(',').includes(uid)
}

/** Times whose values were in an answer. */
function servedTimes({ sandbox }: Examination, series: Series): ReadonlySet<number> {
  const truth = sandbox.analytics(series.app)
  // An entry that holds all of a user lacks nothing, whatever lacks an entry for a time.
  const isWhole = series.uids !== '' && sandbox.settings.switches.realtimeUsers === 'users'
  const times = new Set<number>()
  for (const asked of series.asked)
    for (const at of timesIn(series, asked))
      if (!times.has(at) && (isServed(truth, series, at, asked) || (isWhole && asked.answer === 'served')))
        times.add(at)
  return times
}

function compare(
  { analytics, settings }: Examination['sandbox'],
  found: Findings,
  series: Series,
  row: StoredValue,
) {
  const truth = analytics(series.app)
  const { product, cname } = series
  const right =
    row.uid === ''
      ? trueValue(truth, series, row.at)
      : truth.realtimeQuality(
          { product, ...(cname && { cname }) },
          row.metric as QualityMetric,
          row.at,
          Number(row.uid),
        )
  const name = `${row.app} ${row.stream} ${series.key}`
  if (row.value !== right)
    found.add('different', `${name} value`, `${say(row.at)}: ${row.value} instead of ${right}`)
  const isNoted = settings.switches.unknownFields === 'present'
  // What is said of a user stands beside the first of the values.
  const ofUser = isNoted ? [null, { entry: noted }] : [null]
  const extras = row.uid === '' ? [besideValue(settings.switches)] : ofUser
  if (!extras.some(each => sameJson(row.extra, each)))
    found.add('different', `${name} extra`, `${say(row.at)}: ${JSON.stringify(row.extra)}`)
}

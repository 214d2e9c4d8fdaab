import { Findings, say } from './asked.ts'
import { type Book, booksOf, entryAt } from './book.ts'
import { allowanceOf, insightLateness } from './contract.ts'
import type { Examination, Finding } from './examination.ts'
import { margins, owedFrom } from './margins.ts'
import { trueValue } from './promised.ts'
import { type Whole, wholenessOfCalls } from './whole-calls.ts'

const minute = 60
const quarter = 900
const hour = 3_600
const day = 24 * hour

/** A range, Unix seconds, and what the database says of it. */
interface Judged {
  readonly from: number
  readonly to: number
  readonly complete: boolean
}

/**
 * What ingest.is_complete says of hours and days, held against the world: never true of what is not whole or may still
 * change; true of what is whole and was read when it could no longer change.
 */
export async function examineComplete(examination: Examination): Promise<readonly Finding[]> {
  const found = new Findings()
  const books = await booksOf(examination)
  for (const { id: app, plan } of examination.apps) {
    const own = Map.groupBy(
      books.filter(({ series }) => series.app === app),
      ({ series }) => series.stream,
    )
    for (const [stream, members] of own) {
      const reach = members[0]!.series.allowance.availableData
      const values = await storedValues(examination, app, stream)
      await judge(examination, found, { app, stream, reach, whole: wholeness(examination, members, values) })
    }
    const reach = allowanceOf('call-search', plan)?.availableData
    if (reach === undefined) continue
    for (const [stream, whole] of await wholenessOfCalls(examination, app))
      await judge(examination, found, { app, stream, reach, whole })
  }
  return found.list()
}

interface Question {
  readonly app: string
  readonly stream: string
  readonly reach: number
  readonly whole: Whole
}

async function judge(examination: Examination, found: Findings, { app, stream, reach, whole }: Question) {
  for (const { from, to, complete } of await ask(examination, app, stream, reach)) {
    const expected = whole(from, to)
    if (expected === undefined || expected === complete) continue
    const text = complete ? 'is said to be complete and is not' : 'is complete and is not said to be'
    found.add('complete', `${app} ${stream}`, `${say(from)} to ${say(to)} ${text}`)
  }
}

/**
 * Of each quarter of an hour of the run, of each hour of it and its day before, and of each day that was in reach; where
 * values change late, of each hour of the days that have just ceased to; and where the stream was off, of each minute then.
 */
function ask(
  { rows, start, end, switchedOff = [] }: Examination,
  app: string,
  stream: string,
  reach: number,
): Promise<readonly Judged[]> {
  const [first, last] = [Math.floor(start / 3_600_000) * hour, Math.floor(end / 3_600_000) * hour]
  const [begin, until] = [
    Math.floor(start / 1_000 / quarter) * quarter,
    Math.floor(end / 1_000 / quarter) * quarter,
  ]
  const earliest = Math.max(first - day, Math.ceil((first - reach) / hour) * hour)
  const series = (from: number, to: number, step: number) =>
    `select s::float8 as "from", (s + ${step})::float8 as "to" from generate_series(${from}, ${to - step}, ${step}) s`
  const settled = Math.floor((start / 1_000 - latenessOf(stream)) / day) * day
  const settling = latenessOf(stream) > 0 ? ([settled - day, settled + 2 * day] as const) : ([0, 0] as const)
  const off = switchedOff
    .filter(one => one.app === app && one.stream === stream && Number.isFinite(one.to))
    .map(({ from, to }) =>
      series(Math.ceil(from / 60_000) * minute, Math.floor(Math.min(to, end) / 60_000) * minute, minute),
    )
  return rows<Judged>(
    `select r.from, r.to, ingest.is_complete('${stream}', '${app}', to_timestamp(r.from), to_timestamp(r.to)) as complete
     from (${[...off, ''].join(' union ')} ${series(begin, until, quarter)} union ${series(earliest, last, hour)} union ${series(...settling, hour)} union ${series(Math.ceil((first - reach) / day) * day, last, day)}) r`,
  )
}

function wholeness(
  examination: Examination,
  books: readonly Book[],
  values: ReadonlyMap<string, number>,
): Whole {
  // Of channels each is judged by the time for which it was asked; they alone make nothing complete.
  const ofAll = books.filter(({ series }) => series.cname === '')
  const isAlone = ofAll.length === books.length
  const first = Math.max(...ofAll.map(({ series }) => owedFrom(examination, series)))
  return (from, to) => {
    if (ofAll.length === 0) return false
    const states = ofAll.map(book => stateOf(examination, book, values, { from, to }))
    if (states.includes('not whole')) return false
    return isAlone && from >= first && states.every(state => state === 'final') ? true : undefined
  }
}

function stateOf(
  { sandbox, isInterrupted, end }: Examination,
  book: Book,
  values: ReadonlyMap<string, number>,
  { from, to }: Pick<Judged, 'from' | 'to'>,
): 'not whole' | 'whole' | 'final' {
  const { series } = book
  const truth = sandbox.analytics(series.app)
  const { step, stream } = series
  const lateness = latenessOf(stream)
  let isFinal = !isInterrupted
  for (let at = Math.floor(from / step) * step; at < to; at += step) {
    const value = values.get(`${series.key} ${at}`)
    if (value === undefined || value !== trueValue(truth, series, at)) return 'not whole'
    const { served } = entryAt(book, at)
    // What cannot change any more is final as soon as it is served; what can is not, though it may be right by chance.
    const settled = lateness > 0 ? at + step + lateness : 0
    if (!served.some(({ time }) => time / 1_000 > settled)) return 'not whole'
    const surely = settled > 0 ? settled + series.allowance.dataDelay + margins.unknownClock : 0
    isFinal &&= served.some(({ time }) => time / 1_000 > surely && time < end - margins.unknownClock * 1_000)
  }
  return isFinal ? 'final' : 'whole'
}

/** For how long after its time a value may change, seconds. */
function latenessOf(stream: string): number {
  return stream === 'usage-insight' || stream === 'quality-insight' ? insightLateness[stream] : 0
}

/** By series and time. */
async function storedValues({ rows }: Examination, app: string, stream: string) {
  const table = {
    'usage-insight': ['usage_insight', `metric || '/' || granularity`],
    'quality-insight': ['quality_insight', `product || '/' || metric || '/' || granularity`],
    'realtime-usage': ['usage_realtime', `product || '/' || metric`],
    'realtime-quality': ['quality_realtime', `product || '/' || metric`],
  }[stream]!
  const isRealtime = stream.startsWith('realtime')
  const others = { 'realtime-usage': `and cname = ''`, 'realtime-quality': `and cname = '' and uid = ''` }
  const where = isRealtime ? others[stream as keyof typeof others] : ''
  const stored = await rows<{ key: string; at: number; value: number }>(
    `select ${table[1]} as key, extract(epoch from at)::float8 as at, value from analytics.${table[0]}
     where app_id = '${app}' ${where}`,
  )
  return new Map(stored.map(({ key, at, value }) => [`${key} ${at}`, value]))
}

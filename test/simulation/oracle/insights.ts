import { type Asked, Findings, say } from './asked.ts'
import { insightLateness, insightRound } from './contract.ts'
import type { Examination, Finding } from './examination.ts'
import { ourClocks } from './our-clocks.ts'
import { isServed, promisedSeries, type Series, timesIn, trueValue } from './promised.ts'
import { besideValue, sameJson } from './samples.ts'

interface StoredInsight {
  readonly app: string
  readonly stream: 'usage-insight' | 'quality-insight'
  readonly product: string
  readonly metric: string
  readonly granularity: string
  /** Unix seconds. */
  readonly at: number
  readonly value: number
  readonly revision: number
  readonly fetched: number
  readonly extra: unknown
}

/** From an answer to its row, seconds. */
const longestStoring = 120
/** The same where a process stood still with it. */
const longestStall = 600

/** Every cell of analytics.usage_insight and analytics.quality_insight. Which values are missing, `ledger.ts` says. */
export async function examineInsights(examination: Examination): Promise<readonly Finding[]> {
  const found = new Findings()
  const series = promisedSeries(examination).filter(({ stream }) => stream.endsWith('insight'))
  const columns = `metric, granularity, extract(epoch from at)::float8 as at, value, revision,
                   extract(epoch from fetched_at)::float8 as fetched, extra`
  const stored = await examination.rows<StoredInsight>(
    `select app_id as app, 'usage-insight' as stream, '' as product, ${columns} from analytics.usage_insight
     union all select app_id, 'quality-insight', product, ${columns} from analytics.quality_insight`,
  )
  const bySeries = Map.groupBy(stored, nameOf)
  for (const each of series) {
    const answers = answersOf(examination, each)
    for (const row of bySeries.get(nameOf(each)) ?? []) {
      const served = answers.get(row.at)
      if (served) compare(examination, found, { series: each, served, row })
      else found.add('different', nameOf(each), `${say(row.at)} was in no answer: ${row.value}`)
    }
    bySeries.delete(nameOf(each))
  }
  for (const name of bySeries.keys()) found.add('different', 'insights', `of no question: ${name}`)
  return found.list()
}

function nameOf(
  of: Pick<StoredInsight, 'app' | 'product' | 'metric'> & { stream: string; granularity: string },
) {
  return [of.app, of.stream, of.product, of.metric, of.granularity].join(' ')
}

/** Of each time the questions whose answers told its value, in their order. */
function answersOf({ sandbox }: Examination, series: Series): ReadonlyMap<number, readonly Asked[]> {
  const truth = sandbox.analytics(series.app)
  const answers = new Map<number, Asked[]>()
  for (const asked of series.asked) {
    for (const at of timesIn(series, asked)) {
      if (!isServed(truth, series, at, asked)) continue
      const known = answers.get(at)
      if (known) known.push(asked)
      else answers.set(at, [asked])
    }
  }
  return answers
}

interface Told {
  readonly series: Series
  readonly served: readonly Asked[]
  readonly row: StoredInsight
}

function compare(examination: Examination, found: Findings, { series, served, row }: Told): void {
  const { sandbox, isInterrupted } = examination
  const truth = sandbox.analytics(series.app)
  const values = served.map(asked => trueValue(truth, series, row.at, asked))
  const wrong = (column: string, is: unknown, should: unknown) =>
    found.add('different', `${nameOf(series)} ${column}`, `${say(row.at)}: ${is} instead of ${should}`)
  const counting = mayBeLast(examination, served)
  const fetched = ourClocks(examination).momentsOf(Math.round(row.fetched * 1_000))
  const late = (isInterrupted ? longestStall : longestStoring) * 1_000
  const told = counting.some(({ time }, n) => {
    const isNear = fetched.some(({ from }) => from >= time - 1_000 && from <= time + late)
    return isNear && values[served.length - counting.length + n] === row.value
  })
  if (!told)
    wrong('value and fetched_at', `${row.value}, ${say(row.fetched)}`, `${values.at(-1)}, the last told`)
  const changes = values.filter((value, n) => n > 0 && value !== values[n - 1]).length
  const isSurely = served.every(asked => isSurelyStored(examination, asked))
  if (isSurely ? row.revision !== changes + 1 : row.revision < 1 || row.revision > changes + 1)
    wrong('revision', row.revision, changes + 1)
  const extra = besideValue(sandbox.settings.switches)
  if (!sameJson(row.extra, extra)) wrong('extra', JSON.stringify(row.extra), JSON.stringify(extra))
  const final = trueValue(truth, series, row.at)
  if (isFinal(examination, series, row.at) && row.value !== final)
    wrong('value', row.value, `${final}, the last`)
}

type Storing = Pick<Examination, 'end' | 'isInterrupted' | 'rewound'>

/**
 * The answers of which each may be the last that is stored: from the last one on that surely is. Where processes were killed
 * or stood still any may be.
 */
export function mayBeLast<Answer extends { readonly time: number }>(
  storing: Storing,
  served: readonly Answer[],
): readonly Answer[] {
  const last = served.findLastIndex(answer => isSurelyStored(storing, answer))
  return served.slice(Math.max(0, last))
}

/** Not what came just now, and not what a database held that went back to an older history. */
export function isSurelyStored(
  { end, isInterrupted, rewound = [] }: Storing,
  { time }: { readonly time: number },
): boolean {
  const stored = time + longestStoring * 1_000
  return !isInterrupted && stored < end && !rewound.some(({ from, to }) => from < stored && time <= to)
}

/** Whether it must have been read after the last time that it could change. */
function isFinal({ isEnd, start, healed, end }: Examination, series: Series, at: number): boolean {
  if (!isEnd || !isInsight(series.stream)) return false
  const settles = at + series.step + insightLateness[series.stream]
  const isReachable = settles + 2 * insightRound < at + series.allowance.availableData
  return isReachable && Math.max(settles, start / 1_000, healed / 1_000) + 2 * insightRound < end / 1_000
}

function isInsight(stream: Series['stream']): stream is keyof typeof insightLateness {
  return Object.hasOwn(insightLateness, stream)
}

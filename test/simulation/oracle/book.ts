import type { Asked } from './asked.ts'
import type { Examination } from './examination.ts'
import { isServed, isStrange, promisedSeries, type Series, timesIn } from './promised.ts'

/** What became of the value of one time of a series. */
export interface Entry {
  /** Questions whose answers told it, in their order. */
  readonly served: readonly Asked[]
  /** Whether a question about it was answered without it, and when last, ms since the epoch; 0: never. */
  readonly lackedAt: number
  /** How often it was told in a shape that nobody can read. */
  readonly strange: number
  /** Whether there is a row. */
  readonly isStored: boolean
}

/** A series with all times that anything happened to, Unix seconds. */
export interface Book {
  readonly series: Series
  readonly entries: ReadonlyMap<number, Entry>
}

const nothing: Entry = { served: [], lackedAt: 0, strange: 0, isStored: false }

export function entryAt({ entries }: Book, at: number): Entry {
  return entries.get(at) ?? nothing
}

/** Of all series of which one value is promised for each time. Users come and go: of them nothing is promised. */
export async function booksOf(examination: Examination): Promise<readonly Book[]> {
  const stored = await storedTimes(examination)
  return promisedSeries(examination)
    .filter(({ uids }) => uids === '')
    .map(series => ({ series, entries: entriesOf(examination, series, stored.get(nameOf(series)) ?? []) }))
}

function entriesOf(
  { sandbox }: Examination,
  series: Series,
  stored: readonly number[],
): ReadonlyMap<number, Entry> {
  const truth = sandbox.analytics(series.app)
  const entries = new Map<number, { served: Asked[]; lackedAt: number; strange: number; isStored: boolean }>()
  const entry = (at: number) => {
    const known = entries.get(at) ?? { served: [], lackedAt: 0, strange: 0, isStored: false }
    entries.set(at, known)
    return known
  }
  for (const asked of series.asked) {
    if (asked.answer === 'none') continue
    for (const at of timesIn(series, asked)) {
      if (isServed(truth, series, at, asked)) entry(at).served.push(asked)
      else if (isStrange(truth, series, at, asked)) entry(at).strange += 1
      else entry(at).lackedAt = asked.time
    }
  }
  for (const at of stored) entry(at).isStored = true
  return entries
}

function nameOf(of: {
  app: string
  stream: string
  product: string
  metric: string
  granularity: string
  cname: string
}) {
  return JSON.stringify([of.app, of.stream, of.product, of.metric, of.granularity, of.cname])
}

async function storedTimes({ rows }: Examination): Promise<ReadonlyMap<string, readonly number[]>> {
  const stored = await rows<Parameters<typeof nameOf>[0] & { at: readonly number[] }>(
    `select app_id as app, stream, product, metric, granularity, cname, array_agg(extract(epoch from at)::float8) as at
     from (
       select app_id, 'usage-insight' as stream, '' as product, metric, granularity, '' as cname, at from analytics.usage_insight
       union all
       select app_id, 'quality-insight', product, metric, granularity, '', at from analytics.quality_insight
       union all
       select app_id, 'realtime-usage', product, metric, '', cname, at from analytics.usage_realtime
       union all
       select app_id, 'realtime-quality', product, metric, '', cname, at from analytics.quality_realtime where uid = ''
     ) value group by 1, 2, 3, 4, 5, 6`,
  )
  return new Map(stored.map(row => [nameOf(row), row.at]))
}

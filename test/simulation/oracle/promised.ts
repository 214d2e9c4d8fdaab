import type { AnalyticsTruth } from '../../../sandbox/src/index.ts'
import { type Asked, askedOf, onceEach } from './asked.ts'
import { type Allowance, allowanceOf, documentedSeries, type PromisingStream, promising } from './contract.ts'
import type { Examination } from './examination.ts'
import { isOffThroughout } from './switched-off.ts'

/** A question of which one value is promised for each step of time. */
export interface Series {
  readonly app: string
  readonly stream: PromisingStream
  /** What names it in the ledgers: its parts, encoded, one after the other. */
  readonly key: string
  readonly operation: string
  /** Empty where the question has none; so are all of these. */
  readonly product: string
  readonly metric: string
  readonly granularity: 'minute' | 'hour' | 'day' | ''
  readonly cname: string
  readonly uids: string
  /** Seconds that one value stands for. */
  readonly step: number
  readonly allowance: Allowance
  /** Its questions as they arrived, in their order. */
  readonly asked: readonly Asked[]
}

const steps = { minute: 60, hour: 3_600, day: 86_400, '': 20 } as const
const granularities = new Map<string, Series['granularity']>([
  ['1d', 'day'],
  ['1h', 'hour'],
  ['1m', 'minute'],
])

/** Those that are to be asked, and those that were. */
export const promisedSeries = onceEach(readSeries)

function readSeries(examination: Examination): readonly Series[] {
  const asked = Map.groupBy(askedOf(examination), ({ app, operation, query }) => {
    return `${app} ${operation} ${keyOf(operation, query)}`
  })
  return examination.apps.flatMap(({ id: app, plan }) =>
    promising.flatMap(({ stream, operation, group }) => {
      const allowance = allowanceOf(group, plan)
      const isOff = examination.streams && !examination.streams.includes(stream)
      if (!allowance || isOff || isOffThroughout(examination, app, stream)) return []
      const start = `${app} ${operation} `
      const made = [...asked.keys()].filter(key => key.startsWith(start)).map(key => key.slice(start.length))
      const wanted = examination.series?.[stream] ?? documentedSeries[stream]
      return [...new Set([...wanted, ...made])].map(key => ({
        ...{ app, stream, key, operation, allowance },
        ...partsOf(stream, key),
        asked: asked.get(`${start}${key}`) ?? [],
      }))
    }),
  )
}

function keyOf(operation: string, query: URLSearchParams): string {
  const names = ['productType', 'metric', 'aggregateGranularity', 'cname', 'uids']
  const parts = names.map(name => query.get(name) ?? '').map(part => granularities.get(part) || part)
  if (operation.endsWith('Insight'))
    return parts
      .filter(part => part !== '')
      .map(encodeURIComponent)
      .join('/')
  const last = parts.findLastIndex(part => part !== '')
  const said = parts.filter((_, n) => n !== 2 && n <= last)
  return said.map(encodeURIComponent).join('/')
}

function partsOf(stream: PromisingStream, key: string) {
  const parts = key.split('/').map(decodeURIComponent)
  if (!stream.endsWith('insight')) {
    const [product = '', metric = '', cname = '', uids = ''] = parts
    return { product, metric, granularity: '' as const, cname, uids, step: steps[''] }
  }
  const granularity = parts.at(-1) as 'minute' | 'hour' | 'day'
  const metric = parts.at(-2) ?? ''
  const product = parts.length > 2 ? parts[0]! : ''
  return { product, metric, granularity, cname: '', uids: '', step: steps[granularity] }
}

/** Begins of the times whose values an answer owes: those of insights with its end, those of real time before it. */
export function timesIn({ stream, step }: Series, { from, to }: Asked): readonly number[] {
  const first = Math.ceil(from / step) * step
  const last = stream.endsWith('insight') ? to : to - step
  return Array.from(
    { length: Math.max(0, Math.floor((last - first) / step) + 1) },
    (_, n) => first + n * step,
  )
}

/** Whether the value of a time was in the answer to a question. */
export function isServed(truth: AnalyticsTruth, series: Series, at: number, asked: Asked): boolean {
  if (asked.answer !== 'served' || isStrange(truth, series, at, asked)) return false
  const { operation, step, allowance } = series
  return truth.servedFrom(operation, at, step) <= asked.time / 1_000 - allowance.dataDelay
}

const said = ['productType', 'metric', 'aggregateGranularity', 'cname'] as const

/** How the answer to a question told the value of a time, where nobody can read it. */
export function isStrange(
  truth: AnalyticsTruth,
  { operation, step, allowance, uids }: Pick<Series, 'operation' | 'step' | 'allowance' | 'uids'>,
  at: number,
  { query, time, answer }: Asked,
): boolean {
  if (answer !== 'served' || uids !== '') return false
  if (truth.servedFrom(operation, at, step) > time / 1_000 - allowance.dataDelay) return false
  const words = said.map(name => query.get(name) ?? '')
  return truth.strangeness({ operation, words, time }, at) !== undefined
}

/** The value of a time as an answer told it, or as it is in the end. */
export function trueValue(
  truth: AnalyticsTruth,
  series: Series,
  at: number,
  asked?: Asked,
): number | undefined {
  const { stream, product, metric, granularity, cname, allowance } = series
  const subject = { product, ...(cname && { cname }) }
  const moment = asked && { time: asked.time, known: asked.time - allowance.dataDelay * 1_000 }
  switch (stream) {
    case 'usage-insight':
      return truth.usage(metric as Parameters<AnalyticsTruth['usage']>[0], granularity || 'hour', at, moment)
    case 'quality-insight':
      return truth.quality(
        { product, granularity: granularity || 'hour', metric: metric as QualityMetric },
        at,
        moment,
      )
    case 'realtime-usage':
      return truth.realtimeUsage(subject, metric as Parameters<AnalyticsTruth['realtimeUsage']>[1], at)
    case 'realtime-quality':
      return truth.realtimeQuality(subject, metric as QualityMetric, at)
  }
}

export type QualityMetric = Parameters<AnalyticsTruth['realtimeQuality']>[1]

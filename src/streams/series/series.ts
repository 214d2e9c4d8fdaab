import { z } from 'zod'
import type { RangeLimits } from '../../planning/windows.ts'
import {
  defaultParameterNames,
  type Granularity,
  granularities,
  granularitySeconds,
  type ParameterNames,
  realtimeWindow,
  SeriesAnswer,
  type SeriesParameter,
  withParameterNames,
  word,
} from '../../provider/analytics/index.ts'
import { listOf, wordOr } from '../../settings/leaf.ts'
import { channelName, duration, formatDuration, formatSeconds, oneOf, text } from '../../settings/values.ts'
import type { Table } from '../../tables/index.ts'
import type { QualityValue, WindowPage, WindowResult, WindowSeries } from '../page.ts'
import { cronKey, paceOf, pausesOf, type Said } from '../parts/cadence.ts'
import { arrivalTime } from '../parts/values.ts'
import type { Mistake, WindowSettings, WindowStream } from '../stream.ts'
import { readUserValues, readValues, wholeWindow } from './values.ts'

/** One question without its range: what its key is made of, and what it asks. */
interface Question {
  readonly path: readonly string[]
  readonly ask: Readonly<Record<string, string>>
}

/** Metrics are asked for product by product. */
export function questionsOf({
  products,
  metrics,
}: {
  readonly products: readonly string[]
  readonly metrics: readonly string[]
}): readonly Question[] {
  return products.flatMap(productType =>
    metrics.map(metric => ({ path: [productType, metric], ask: { productType, metric } })),
  )
}

/** A value is promised for each hour or day. */
export function insight(
  path: Question['path'],
  ask: Question['ask'],
  granularity: Granularity,
): WindowSeries {
  return {
    key: keyOf([...path, granularity]),
    ask: { ...ask, aggregateGranularity: granularity },
    step: granularitySeconds[granularity],
    expects: 'each',
  }
}

/**
 * One entry a window is promised, of a project and of a channel alike. A user comes and goes, and has none while away.
 */
export function realtime(path: Question['path'], ask: Question['ask']): WindowSeries {
  const series = { key: keyOf(path), ask, step: realtimeWindow }
  return ask.uids === undefined ? { ...series, expects: 'each' } : series
}

/** One series for each product and metric: of the whole project, and of each channel. */
export function realtimeSeries(settings: {
  readonly products: readonly string[]
  readonly metrics: readonly string[]
  readonly channels: readonly string[]
}): readonly WindowSeries[] {
  return questionsOf(settings).flatMap(({ path, ask }) => [
    realtime(path, ask),
    ...settings.channels.map(cname => realtime([...path, cname], { ...ask, cname })),
  ])
}

/** Parts are encoded, so that a slash inside one of them makes no other key of it. */
function keyOf(path: Question['path']): string {
  return path.map(encodeURIComponent).join('/')
}

/** A word that the settings hold twice is asked for once. */
export function distinct(series: readonly WindowSeries[]): readonly WindowSeries[] {
  return [...new Map(series.map(one => [one.key, one])).values()]
}

const newest = 'How often the newest values are asked for.'

/**
 * The values of a day are computed again about two days after its end, so those of its first hour are three days old
 * by then. What is older than the delay and this has been computed again, in every plan.
 */
export function insightTimes(allowedLateness: string) {
  return {
    every: duration('10m', '7d').prefault('6h').describe(newest),
    ...cronKey(),
    allowedLateness: duration('0s', '30d')
      .prefault(allowedLateness)
      .describe(
        'How long after its time a value is read again, because the provider computes it again; then it is complete.',
      ),
  }
}

export function realtimeTimes() {
  return { every: duration('20s', '1h').prefault('5m').describe(newest), ...cronKey() }
}

function words(item: string, usual: readonly string[]) {
  const word = text(`${item}: 1 to 64 letters, digits, "_", "." or "-"`, /^[A-Za-z0-9_.-]{1,64}$/)
  return listOf(word, { min: 1, unique: true }).prefault([...usual])
}

export function products() {
  return words('a product', ['Native']).describe(
    'Products that are asked for, one by one. Native and WebRTC are known to exist.',
  )
}

export function metrics(usual: readonly string[]) {
  return words('a metric', usual).describe(
    'Metrics that are asked for, one by one, by the names of the provider.',
  )
}

export function granularity<const G extends Granularity>(allowed: readonly G[]) {
  return listOf(oneOf(allowed), { min: 1, unique: true })
    .prefault(['hour', 'day'])
    .describe('How long a time one value stands for; each is asked for by itself.')
}

export function channels() {
  return wordOr(oneOf(['live']), listOf(channelName(), { unique: true }))
    .prefault([])
    .describe(
      'Channels that are asked for besides the whole project; live: those with a room or call going on, as many as the budget has room for, which `penstock forecast` tells.',
    )
}

interface InsightTimes extends Said {
  readonly allowedLateness: number
}

/** Insights cost the same however long the frame is. */
export function followInsight(
  { allowedLateness, ...said }: InsightTimes,
  series: readonly WindowSeries[],
): WindowSettings {
  return {
    ...{ series, ...paceOf(said), frame: 'full' },
    allowedLateness: Math.ceil(allowedLateness / 1_000),
  }
}

/** One request reads a frame of the span's length up to now: a value must become final while it is inside. */
export function insightMistakes(
  { allowedLateness, ...said }: InsightTimes,
  allowed: RangeLimits | undefined,
): readonly Mistake[] {
  if (!allowed || allowedLateness + paceOf(said).every <= allowed.timeFrame * 1_000) return []
  const { key, text, remedy } = pausesOf(said)
  return [
    {
      settings: said.cron ? [key, 'allowedLateness'] : ['allowedLateness', key],
      limit: 'timeFrame',
      text: `allowedLateness (${formatDuration(allowedLateness)}) and ${text} must together be at most the longest window (${formatSeconds(allowed.timeFrame)}): as it is, no value would ever be complete${remedy}`,
    },
  ]
}

/**
 * Real-time values cost the same however long the frame is, and are not computed again. How many live channels the
 * budget has room for is known only once all that is asked is.
 */
export function followRealtime<S extends Said & { readonly channels: readonly string[] | 'live' }>(
  settings: S,
  seriesIn: (settings: S, channels: readonly string[]) => readonly WindowSeries[],
): WindowSettings {
  const { channels } = settings
  const times = { ...paceOf(settings), allowedLateness: 0, frame: 'full' } as const
  if (channels !== 'live') return { ...times, series: seriesIn(settings, channels) }
  const of = (channel: string) => seriesIn(settings, [channel]).filter(({ ask }) => ask.cname === channel)
  return { ...times, series: seriesIn(settings, []), live: { most: 0, of } }
}

/** What is older than one request reaches is lost. */
export function realtimeMistakes(
  { every, cron }: Said,
  allowed: RangeLimits | undefined,
): readonly Mistake[] {
  if (!allowed) return []
  const said = { every, cron }
  const most = Math.min(allowed.availableData - allowed.dataDelay, allowed.timeFrame)
  if (paceOf(said).every < most * 1_000) return []
  const { key, text, remedy } = pausesOf(said)
  return [
    {
      settings: [key],
      limit: 'any',
      text: `${text} must be shorter than what one request can read (${formatSeconds(most)}): as it is, the time between would be lost${remedy}`,
    },
  ]
}

/** Asks for a series in the words of a deployment: its names of parameters and of granularities. */
function askIn({ parameters, granularities }: ParameterNames): WindowStream['request'] {
  const wordOf = (name: string, value: string) => {
    if (name !== 'aggregateGranularity' || !Object.hasOwn(granularities, value)) return value
    return granularities[value as keyof typeof granularities]
  }
  return (app, { ask }, { start, end }) => ({
    [parameters.startTs]: start,
    [parameters.endTs]: end,
    [parameters.appid]: app,
    ...Object.fromEntries(
      Object.entries(ask).map(([name, value]) => [parameters[name as SeriesParameter], wordOf(name, value)]),
    ),
  })
}

interface ValueStream extends Omit<WindowStream, 'kind' | 'read' | 'request' | 'toRows' | 'writes'> {
  readonly table: Table
}

/** A stream of insights or real-time values, asked in the words of its deployment: one answer is the whole window. */
export function valueStream({ table, ...own }: ValueStream): WindowStream {
  const toRows = (page: WindowPage) => rowsOf(table, own, page)
  const asked = { ...own, kind: 'window', writes: [table], read: readData, toRows } as const
  return {
    ...asked,
    request: askIn(defaultParameterNames),
    configured: ({ words }) => ({
      ...asked,
      operation: withParameterNames(own.operation, words),
      request: askIn(words),
    }),
  }
}

function readData(answer: unknown): Pick<WindowPage, 'items' | 'hasMore'> {
  return { items: SeriesAnswer.parse(answer).data, hasMore: false }
}

/** What a question tells of all its values. */
const Asked = z.object({
  productType: word.optional(),
  metric: word,
  aggregateGranularity: z.enum(granularities).optional(),
  cname: z.string().default(''),
})

/** A row for each value: what the table has columns for, of the question, the value and the answer. */
function rowsOf(
  { name, columns }: Table,
  { namesUsers, tellsQuality }: Pick<WindowStream, 'namesUsers' | 'tellsQuality'>,
  page: WindowPage,
): WindowResult {
  const { productType: product, aggregateGranularity: granularity, ...asked } = Asked.parse(page.series.ask)
  const read = (namesUsers ? readUserValues : readValues)(page, asked.metric)
  const common = { ...asked, product, granularity, fetched_at: arrivalTime(page) }
  const rows = read.values.map(value => {
    const told = Object.entries({ ...common, ...value })
    return Object.fromEntries(told.filter(([column]) => Object.hasOwn(columns, column)))
  })
  const quality = tellsQuality && { quality: rows as unknown as readonly QualityValue[] }
  return { ...wholeWindow({ [name]: rows }, read, page), ...quality }
}

import type { AnalyticsTruth } from '../../../sandbox/src/index.ts'
import type { CallStage } from './stage.ts'
import type { StoredValue } from './stored.ts'

/** Names as the truth of the sandbox wants them. */
type Usage = Parameters<AnalyticsTruth['usage']>
type Quality = Parameters<AnalyticsTruth['quality']>[0]
type Realtime = Parameters<AnalyticsTruth['realtimeUsage']>

export interface ValueFindings {
  readonly lost: readonly string[]
  readonly different: readonly string[]
  readonly compared: number
}

const minute = 60
const hour = 60 * minute
const day = 24 * hour
const step = 20

/** Holds every stored value of insights and real-time metrics against the truth, and looks for those that are missing. */
export function compareValues(stage: CallStage, app: string, stored: readonly StoredValue[]): ValueFindings {
  const truth = stage.sandbox.analytics(app)
  const begun = Math.floor(stage.origin / 1_000)
  const different = stored
    .filter(row => truthOf(truth, row) !== row.value)
    .map(row => `${nameOf(row)}: ${row.value}, must be ${truthOf(truth, row)}`)
  const found = new Set(stored.map(nameOf))
  const lost = expected(stage, app, begun).filter(
    row => truthOf(truth, row) !== undefined && !found.has(nameOf(row)),
  )
  return { lost: lost.map(nameOf), different, compared: stored.length }
}

type Named = Omit<StoredValue, 'value'>

function nameOf({ app, table, metric, of, at }: Named): string {
  return `${app} ${table} ${metric} ${of} ${at}`
}

function truthOf(truth: AnalyticsTruth, { table, metric, of, at }: Named): number | undefined {
  const [product = '', second = '', user = ''] = of.split('/')
  switch (table) {
    case 'usage_insight':
      return truth.usage(metric as Usage[0], of as Usage[1], at)
    case 'quality_insight':
      return truth.quality(
        { product, metric: metric as Quality['metric'], granularity: second as Quality['granularity'] },
        at,
      )
    case 'usage_realtime':
      return truth.realtimeUsage(subject(product, second), metric as Realtime[1], at)
    case 'quality_realtime':
      return truth.realtimeQuality(
        subject(product, second),
        metric as Quality['metric'],
        at,
        user === '' ? undefined : Number(user),
      )
  }
}

function subject(product: string, cname: string) {
  return { product, cname: cname === '' ? undefined : cname }
}

/**
 * What must be there in any case: of insights the newest frame that the plan allows, less what lies at its ends; of
 * real-time values the fifty minutes before the daemon began.
 */
function expected(stage: CallStage, app: string, begun: number): readonly Named[] {
  const { subjects, world } = stage
  const { qualityBy = 'hour', without = [] } = world
  const newest = begun - 6 * hour
  const insight = (table: StoredValue['table'], metric: string, of: string, length: number) =>
    times(newest - 6 * day, newest - 3 * hour, length).map(at => ({ app, table, metric, of, at }))
  const realtime = (table: StoredValue['table'], metric: string, of: string) =>
    times(begun - 50 * minute, begun - minute, step).map(at => ({ app, table, metric, of, at }))
  return [
    ...(without.includes('usage-insight') ? [] : insight('usage_insight', 'userCount', 'hour', hour)),
    ...(without.includes('quality-insight')
      ? []
      : insight(
          'quality_insight',
          'networkDelay',
          `Native/${qualityBy}`,
          qualityBy === 'hour' ? hour : minute,
        )),
    ...subjects.channels.flatMap(channel => [
      ...realtime('usage_realtime', 'userCount', `Native/${channel}`),
      ...realtime('quality_realtime', 'audioFreezeRate', `Native/${channel}/`),
    ]),
    ...subjects.users.flatMap(user =>
      realtime('quality_realtime', 'audioFreezeRate', `Native/${subjects.channels.at(-1)}/${user}`),
    ),
  ]
}

/** Multiples of `length` between two moments. */
function times(from: number, to: number, length: number): readonly number[] {
  const first = Math.ceil(from / length)
  return Array.from(
    { length: Math.max(0, Math.floor(to / length) - first + 1) },
    (_, n) => (first + n) * length,
  )
}

import {
  type AnalyticsGroup,
  callMetrics,
  callSearch,
  callSessions,
  defaultParameterNames,
  granularities,
  granularitySeconds,
  qualityInsight,
  realtimeQuality,
  realtimeUsage,
  realtimeWindow,
  usageInsight,
} from '../../../src/provider/analytics/index.ts'
import type { Operation } from '../../../src/provider/operation.ts'
import { readQualityInsight, readUsageInsight } from './frames.ts'
import { readMetrics } from './metrics.ts'
import { readRealtimeQuality, readRealtimeUsage } from './realtime.ts'
import { searchCalls } from './search.ts'
import { listSessions } from './sessions.ts'
import { said, servedFrom, strangely, strangeness, withUnknown } from './thin.ts'
import type { AnalyticsContext } from './visit.ts'

export interface Play {
  readonly operation: Operation & { readonly limitGroup: AnalyticsGroup }
  /** Names of the parameters that hold the range. */
  readonly range: readonly [start: string, end: string]
  /** A successful answer, besides its code and message. Throws AnalyticsRefusal. */
  readonly act: (context: AnalyticsContext) => object
}

const ofCalls = ['start_ts', 'end_ts'] as const
const ofSeries = ['startTs', 'endTs'] as const

export const analyticsPlays: readonly Play[] = [
  { operation: callSearch, range: ofCalls, act: searchCalls },
  { operation: callSessions, range: ofCalls, act: listSessions },
  { operation: callMetrics, range: ofCalls, act: readMetrics },
  series(usageInsight, readUsageInsight),
  series(qualityInsight, readQualityInsight),
  series(realtimeUsage, readRealtimeUsage),
  series(realtimeQuality, readRealtimeQuality),
]

function series(operation: Play['operation'], read: (context: AnalyticsContext) => readonly object[]): Play {
  return {
    operation,
    range: ofSeries,
    act: context => {
      const entries = Map.groupBy(read(context), entry => isServed(context, operation.name, entry))
      const told = [
        ...entriesOf(entries.get(true) ?? [], context),
        ...unserved(entries.get(false) ?? [], context),
      ]
      const shaped = told.map(entry => perhapsStrange(context, operation.name, entry))
      return { data: shaped.map(entry => withUnknown(context.settings, entry)) }
    },
  }
}

/** Entries of users, and such that are there without a value, are told as they should be. */
function perhapsStrange(
  { settings, app, query, time }: AnalyticsContext,
  operation: string,
  entry: object,
): object {
  if (!('ts' in entry) || query.optionalText('uids') !== undefined) return entry
  if (Object.values(entry).includes(null)) return entry
  const words = said.map(name => query.optionalText(name) ?? '')
  const way = strangeness(settings, { app, operation, words, time }, Number(entry.ts))
  return way ? strangely(entry, way) : entry
}

/** Users have no entry for a time at which they are away in any deployment. */
function isServed(
  { settings, app, query, counted }: AnalyticsContext,
  operation: string,
  entry: object,
): boolean {
  if (!('ts' in entry)) return true
  const step = stepOf({ query })
  return servedFrom(settings, { app, operation, ts: Number(entry.ts), step }) <= counted / 1_000
}

/** Seconds that one value stands for. */
function stepOf({ query }: Pick<AnalyticsContext, 'query'>): number {
  const word = query.optionalText('aggregateGranularity')
  const granularity = granularities.find(one => defaultParameterNames.granularities[one] === word)
  return granularity ? granularitySeconds[granularity] : realtimeWindow
}

/** What stands in the place of entries that are promised and have no value. */
function unserved(entries: readonly object[], { settings }: AnalyticsContext): readonly object[] {
  return settings.switches.missingEntries === 'null' ? entries.map(entry => without(entry, null)) : []
}

/** What an answer says besides the values that are asked for is wrong, so that it shows wherever it is believed. */
function entriesOf(served: readonly object[], context: AnalyticsContext): readonly object[] {
  const { asked, settings } = context
  const { valueEntries } = settings.switches
  if (valueEntries === 'twice') {
    return served.flatMap(entry => ('ts' in entry ? [wrong(entry), entry] : [entry]))
  }
  const some = served.find(entry => 'ts' in entry)
  if (valueEntries === 'once' || !some) return served
  const step = stepOf(context)
  const [first, last] = [asked.start, asked.end].map(second => Math.floor(second / step) * step)
  return [wrong({ ...some, ts: first! - step }), ...served, wrong({ ...some, ts: last! + 2 * step })]
}

function wrong(entry: object): object {
  return without(entry, -7)
}

/** The entry with something else in the place of its value. */
function without(entry: object, instead: number | null): object {
  return Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [name, name === 'ts' ? value : instead]),
  )
}

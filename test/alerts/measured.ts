import { collectDefaultMetrics, Registry } from 'prom-client'
import { createInstruments } from '../../src/telemetry/instruments.ts'
import { allRules } from './rule-files.ts'
import { groupedIn, selectorsIn } from './selectors.ts'

/** Every series that a query may name, with its labels besides job and instance. */
async function labelsByMetric(): Promise<ReadonlyMap<string, readonly string[]>> {
  const registry = new Registry()
  createInstruments(registry)
  collectDefaultMetrics({ register: registry })
  const metrics = await registry.getMetricsAsArray()
  const measured = metrics.flatMap(metric => {
    const { labelNames = [] } = metric as unknown as { readonly labelNames?: readonly string[] }
    const buckets =
      String(metric.type) === 'histogram' ? [[`${metric.name}_bucket`, [...labelNames, 'le']]] : []
    return [[metric.name, labelNames], ...buckets] as [string, readonly string[]][]
  })
  const byName = new Map<string, readonly string[]>([...measured, ['up', []]])
  for (const { record, expr, labels = {} } of allRules()) {
    if (record === undefined) continue
    const inherited = selectorsIn(expr).flatMap(({ metric }) => byName.get(metric) ?? [])
    byName.set(record, [...Object.keys(labels), ...inherited])
  }
  return byName
}

/** What in these queries no process of Penstock tells: a metric, or a label of one. */
export async function unknownIn(queries: readonly string[]): Promise<readonly string[]> {
  const measured = await labelsByMetric()
  return queries.flatMap(query => {
    const selectors = selectorsIn(query)
    const all = new Set(selectors.flatMap(({ metric }) => measured.get(metric) ?? []))
    return [
      ...selectors
        .filter(({ metric }) => !measured.has(metric))
        .map(({ metric }) => `${metric} is not measured`),
      ...selectors.flatMap(({ metric, labels }) =>
        labels
          .filter(label => !measured.get(metric)?.includes(label))
          .map(label => `${metric} has no label ${label}`),
      ),
      ...groupedIn(query)
        .filter(label => !all.has(label))
        .map(label => `nothing has a label ${label} in: ${query}`),
    ]
  })
}

import { systemClock } from '../../src/clock/system.ts'
import type { Prometheus } from '../alerts/prometheus.ts'
import type { Panel, Target, Variable } from './files.ts'
import { putVariables, type Values } from './macros.ts'

/** A series as Prometheus answers it, with the values that are numbers. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>
  readonly values: readonly number[]
}

/** Seconds that are looked back at, and between two points. */
const [span, step] = [60, 5]

/** What Grafana puts into a query of Prometheus. */
function put(expr: string, values: Values): string {
  const timed = expr.replaceAll('$__rate_interval', '10s').replaceAll('$__range', `${span}s`)
  return putVariables(timed, values)
}

export async function askProm(
  { ask }: Prometheus,
  { expr = '', instant }: Pick<Target, 'expr' | 'instant'>,
  values: Values,
): Promise<readonly Series[]> {
  const query = encodeURIComponent(put(expr, values))
  const now = Math.floor(systemClock.now() / 1_000)
  const path = instant
    ? `/api/v1/query?query=${query}`
    : `/api/v1/query_range?query=${query}&start=${now - span}&end=${now}&step=${step}`
  const { result } = (await ask(path)) as {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>
      readonly value?: readonly [number, string]
      readonly values?: readonly (readonly [number, string])[]
    }[]
  }
  return result.map(({ metric, value, values: points = value ? [value] : [] }) => ({
    labels: metric,
    values: points.map(([, text]) => Number(text)).filter(Number.isFinite),
  }))
}

/** The values that a variable offers: those of one label of some series. */
export async function labelValues(
  { ask }: Prometheus,
  variable: Variable,
  values: Values,
): Promise<readonly string[]> {
  const { query } = variable.query as { readonly query: string }
  const [, match, label] = /^label_values\((.+), (\w+)\)$/.exec(query) ?? []
  if (!match || !label) throw new Error(`${query} cannot be asked`)
  return (await ask(
    `/api/v1/label/${label}/values?match[]=${encodeURIComponent(put(match, values))}`,
  )) as readonly string[]
}

/** Labels that a panel names to people, in a legend or as a column, and that none of its series has. */
export function unknownLabels(panel: Panel, target: Target, series: readonly Series[]): readonly string[] {
  const known = new Set(['Time', 'Value', ...series.flatMap(({ labels }) => Object.keys(labels))])
  const renamed = (panel.transformations ?? []).flatMap(({ options }) =>
    Object.keys((options as { readonly renameByName?: object }).renameByName ?? {}),
  )
  const inLegend = [...(target.legendFormat ?? '').matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label!)
  return [...renamed, ...inLegend].filter(label => !known.has(label))
}

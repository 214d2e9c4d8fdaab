import type { AppConfig, Config } from '../../config/config.ts'
import type { GroupForecast } from '../../planning/forecast.ts'
import type { GroupFacts } from '../../planning/forecast-facts.ts'
import { forecastStorage, type StorageFacts, type StoredTable } from '../../planning/forecast-storage.ts'
import { ofCalls } from '../../postgres/prune.ts'
import { sessionMetrics } from '../../provider/analytics/call-details.ts'
import { type MeasuredSettings, measured } from '../../streams/calls/selection.ts'
import { streams } from '../../streams/index.ts'
import { shortName } from '../../tables/table.ts'
import { countText } from '../../telemetry/wording.ts'

const day = 86_400

/** What an app brings into the tables of call analytics; live channels come and go, and are left out. */
export function storageOf(
  { retention }: Config,
  app: AppConfig,
  facts: readonly GroupFacts[],
  groups: readonly GroupForecast[],
): readonly StoredTable[] {
  const values: Record<string, number> = {}
  for (const each of facts.flatMap(({ streams }) => streams)) {
    if (each.kind !== 'windows' || each.pageSize !== undefined) continue
    const table = tableOf(each.stream)
    values[table] = (values[table] ?? 0) + (each.series * day) / each.step
  }
  const calls = callsOf(app, groups)
  return forecastStorage({ ...(calls && { calls }), values, keptDays: keptDays(retention) })
}

/** As many as are expected, or as the plan can measure where nobody says. */
function callsOf(app: AppConfig, groups: readonly GroupForecast[]): StorageFacts['calls'] {
  const measurable = groups.find(group => group.measurable)?.measurable
  if (!measurable) return undefined
  const { callsPerDay, users, minutes } = measurable
  const perDay = app.expect?.callsPerDay ?? callsPerDay
  const isMeasured = groups.some(group => group.streams.some(({ stream }) => stream === measured.name))
  if (!isMeasured) return { ...{ perDay, users, minutes }, measured: 0, metrics: 0 }
  const { select } = app.streams[measured.name] as MeasuredSettings
  return {
    ...{ perDay, users, minutes, measured: Math.min(perDay, callsPerDay) / select.everyNth },
    metrics: select.mids.length > 0 ? select.mids.length : Object.keys(sessionMetrics).length,
  }
}

function tableOf(stream: string): string {
  return shortName(Object.values(streams).find(each => each.name === stream)!.writes[0]!)
}

function keptDays(retention: Config['retention']): Readonly<Record<string, number>> {
  const kept = { ...retention, ...Object.fromEntries(ofCalls.map(name => [name, retention.calls!])) }
  return Object.fromEntries(
    Object.entries(kept).flatMap(([table, ms]) => (ms === 'forever' ? [] : [[table, ms / (day * 1_000)]])),
  )
}

/** For people: how much comes in a day, and how much there is of what goes again. */
export function storageRows(stored: readonly StoredTable[]): readonly (readonly (string | number)[])[] {
  const sum = (of: (each: StoredTable) => number | null) =>
    stored.reduce((total, each) => total + (of(each) ?? 0), 0)
  const growth = ({ bytesPerDay, bytesKept }: StoredTable) => (bytesKept === null ? bytesPerDay * 365 : 0)
  const all = [
    ...['all', Math.ceil(sum(each => each.rowsPerDay)), sizeText(sum(each => each.bytesPerDay)), ''],
    `${sizeText(sum(each => each.bytesKept))}, and ${sizeText(sum(growth))} a year`,
  ]
  const rows = stored.map(({ table, rowsPerDay, bytesPerDay, keptDays, bytesKept }) => [
    ...[table, Math.ceil(rowsPerDay), sizeText(bytesPerDay)],
    keptDays === null ? 'ever' : `${countText(keptDays)} days`,
    bytesKept === null ? `${sizeText(bytesPerDay * 365)} a year` : sizeText(bytesKept),
  ])
  return [...rows, all]
}

function sizeText(bytes: number): string {
  const [unit, size] = bytes < 1e9 ? ['MB', 1e6] : ['GB', 1e9]
  return `${countText(Number((bytes / size).toPrecision(2)))} ${unit}`
}

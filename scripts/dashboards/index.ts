import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { callQuality } from './call-quality/index.ts'
import { oneClass } from './class/index.ts'
import type { DashboardName } from './frame.ts'
import { operations } from './operations/index.ts'
import { usage } from './usage/index.ts'

/** Every dashboard by the name of its file. */
export function dashboards(): Readonly<Record<DashboardName, Dashboard>> {
  return { operations: operations(), 'call-quality': callQuality(), class: oneClass(), usage: usage() }
}

/** The text of each file, by its path. */
export function dashboardTexts(): Readonly<Record<string, string>> {
  const entries = Object.entries(dashboards()).map(([name, dashboard]) => [
    `helm/penstock/dashboards/${name}.json`,
    `${JSON.stringify(dashboard, null, 2)}\n`,
  ])
  return Object.fromEntries(entries)
}

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A dashboard as Grafana reads it, as far as the tests look into it. */
export interface Dashboard {
  readonly uid: string
  readonly title: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly refresh?: string
  readonly schemaVersion: number
  readonly time: { readonly from: string; readonly to: string }
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly Variable[] }
  readonly annotations: { readonly list: readonly Annotation[] }
  readonly links?: readonly Link[]
}

export interface SourceRef {
  readonly type: string
  readonly uid: string
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly interval?: string
  readonly gridPos: Place
  readonly datasource?: SourceRef
  readonly targets?: readonly Target[]
  readonly links?: readonly Link[]
  readonly options?: { readonly legend?: { readonly showLegend: boolean } }
  readonly transformations?: readonly { readonly id: string; readonly options: object }[]
  readonly fieldConfig?: {
    readonly defaults: FieldDefaults
    readonly overrides: readonly Override[]
  }
}

export interface Place {
  readonly x: number
  readonly y: number
  readonly w: number
  readonly h: number
}

export interface FieldDefaults {
  readonly unit?: string
  readonly noValue?: string
  readonly color?: { readonly mode: string }
  readonly thresholds?: {
    readonly steps: readonly { readonly value: number | null; readonly color: string }[]
  }
  readonly mappings?: readonly { readonly options: Readonly<Record<string, object>> }[]
}

export interface Override {
  readonly matcher: { readonly id: string; readonly options: string }
  readonly properties: readonly { readonly id: string; readonly value: unknown }[]
}

export interface Target {
  readonly refId: string
  readonly datasource: SourceRef
  readonly hide?: boolean
  readonly rawSql?: string
  readonly format?: string
  readonly expr?: string
  readonly instant?: boolean
  readonly range?: boolean
  readonly legendFormat?: string
}

export interface Variable {
  readonly name: string
  readonly type: string
  readonly label?: string
  readonly description?: string
  readonly query: string | { readonly query: string }
  readonly datasource?: SourceRef
  readonly multi?: boolean
  /** 2 where it is out of sight. */
  readonly hide?: number
  readonly includeAll?: boolean
  readonly allValue?: string
  readonly current?: { readonly value: string | readonly string[] }
}

export interface Annotation {
  readonly name: string
  readonly datasource: SourceRef
  readonly target: Target
  readonly expr?: string
}

export interface Link {
  readonly title: string
  readonly url?: string
  readonly keepTime?: boolean
  readonly includeVars?: boolean
}

const folder = fileURLToPath(new URL('../../helm/penstock/dashboards/', import.meta.url))

/** The dashboards by the name of their file, read anew each time: as they were committed. */
export function readDashboards(): Readonly<Record<string, Dashboard>> {
  const names = readdirSync(folder).filter(name => name.endsWith('.json'))
  return Object.fromEntries(
    names.map(name => [
      name.replace('.json', ''),
      JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')) as Dashboard,
    ]),
  )
}

export function panelsOf(dashboard: Dashboard): readonly Panel[] {
  return dashboard.panels.filter(({ type }) => type !== 'row')
}

/** Where a panel stands, for messages. */
export function nameOf(dashboard: Dashboard, panel: Panel): string {
  return `${dashboard.uid}: ${panel.title}`
}

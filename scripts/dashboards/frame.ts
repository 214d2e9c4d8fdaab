import type * as cog from '@grafana/grafana-foundation-sdk/cog'
import {
  type AnnotationQuery,
  AnnotationQueryBuilder,
  type Dashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  RowBuilder,
  type VariableModel,
} from '@grafana/grafana-foundation-sdk/dashboard'
import type { PanelPart } from './panels.ts'
import { type Query, refTo, type Source, sourceVariable } from './sources.ts'

/** The dashboards by the name of their file, with the UID that links and bookmarks hold on to. */
export const uids = {
  operations: 'penstock-operations',
  'call-quality': 'penstock-call-quality',
  class: 'penstock-class',
  usage: 'penstock-usage',
} as const

export type DashboardName = keyof typeof uids

const titles: Readonly<Record<DashboardName, string>> = {
  operations: 'Penstock: operations',
  'call-quality': 'Penstock: call quality',
  class: 'Penstock: one class',
  usage: 'Penstock: usage',
}

export interface Row {
  readonly title: string
  readonly panels: readonly PanelPart[]
}

export interface DashboardParts {
  readonly name: DashboardName
  readonly description: string
  readonly source: Source
  /** Begin of the time that it opens with, as in now-24h. */
  readonly from: string
  readonly refresh: string
  /** Days of usage are those of UTC; everything else is told in the reader's own time. */
  readonly timezone: 'browser' | 'utc'
  readonly variables: readonly cog.Builder<VariableModel>[]
  readonly annotations: readonly cog.Builder<AnnotationQuery>[]
  readonly rows: readonly Row[]
}

/** A whole dashboard, its panels numbered from 1 as they stand, and links to the others on top. */
export function assemble(parts: DashboardParts): Dashboard {
  const builder = new DashboardBuilder(titles[parts.name])
    .uid(uids[parts.name])
    .description(parts.description)
    .tags(['penstock'])
    .time({ from: parts.from, to: 'now' })
    .refresh(parts.refresh)
    .timezone(parts.timezone)
    .tooltip(DashboardCursorSync.Crosshair)
    .variables([sourceVariable(parts.source), ...parts.variables])
    .annotations([...parts.annotations])
    .links(linksFrom(parts.name))
  for (const { title, panels } of parts.rows) {
    builder.withRow(new RowBuilder(title))
    for (const panel of panels) builder.withPanel(panel)
  }
  const dashboard = builder.build()
  for (const [n, panel] of (dashboard.panels ?? []).entries()) panel.id = n + 1
  // In sight, and not in a menu, which is what the builders say of what is not told where to stand.
  for (const placed of [...(dashboard.links ?? []), ...(dashboard.annotations.list ?? [])])
    delete placed.placement
  return dashboard
}

function linksFrom(name: DashboardName): DashboardLinkBuilder[] {
  const others = Object.entries(uids).filter(([other]) => other !== name)
  return others.map(([other, uid]) =>
    new DashboardLinkBuilder(titles[other as DashboardName])
      .type(DashboardLinkType.Link)
      .url(`/d/${uid}`)
      .icon('dashboard')
      .keepTime(true)
      .includeVars(true),
  )
}

/** What is marked in all panels over time. SQL answers columns time, timeend, text and tags. */
export function annotation(name: string, color: string, query: Query): AnnotationQueryBuilder {
  return new AnnotationQueryBuilder()
    .name(name)
    .datasource(refTo(query.source))
    .enable(true)
    .iconColor(color)
    .target(query.build('Anno'))
}

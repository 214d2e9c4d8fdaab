import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as units from '@grafana/grafana-foundation-sdk/units'
import { selectorsIn } from '../alerts/selectors.ts'
import { type Dashboard, type Link, nameOf, type Panel, panelsOf } from './files.ts'

type Dashboards = Readonly<Record<string, Dashboard>>

const knownUnits = new Set<unknown>(Object.values(units))

const described = readFileSync(fileURLToPath(new URL('../../docs/metrics.md', import.meta.url)), 'utf8')

/** Names of metrics that docs/metrics.md explains, and the suffixes that a histogram has. */
const metrics = new Set(
  [...described.matchAll(/^\| (penstock_\w+) \| (\w+)/gm)].flatMap(([, name, type]) =>
    type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name!],
  ),
)

const labelsOfMetric = new Map(
  [...described.matchAll(/^\| (penstock_\w+) \| \w+ \| ([^|]*) \|/gm)].map(([, name, labels]) => [
    name!,
    new Set(labels!.split(',').map(label => label.trim())),
  ]),
)

/** Of the rules, of Prometheus itself, and of every process on Node.js. */
const foreign = /^(penstock_threshold|up|process_\w+|nodejs_\w+)$/

/** Everything that is wrong with the dashboards as they are written, before anything is asked. */
export function faultsOf(dashboards: Dashboards): readonly string[] {
  const all = Object.values(dashboards)
  return [
    ...twice(all.map(({ uid }) => uid)).map(uid => `two dashboards have the UID ${uid}`),
    ...all.flatMap(dashboard => [
      ...faultsOfFrame(dashboard),
      ...carriedInVain(dashboard, all),
      ...panelsOf(dashboard).flatMap(panel =>
        faultsOfPanel(panel).map(fault => `${nameOf(dashboard, panel)}: ${fault}`),
      ),
      ...overlaps(dashboard),
      ...linksOf(dashboard).flatMap(link => faultsOfLink(link, all)),
    ]),
  ]
}

function faultsOfFrame(dashboard: Dashboard): readonly string[] {
  const { uid, panels, templating } = dashboard
  const faults = [
    ...(/^[a-z-]{8,40}$/.test(uid) ? [] : ['its UID is not stable']),
    ...(dashboard.tags?.includes('penstock') ? [] : ['it has no tag penstock']),
    ...(dashboard.description ? [] : ['it has no description']),
    ...(dashboard.refresh ? [] : ['it is never refreshed']),
    ...(dashboard.schemaVersion === 42 ? [] : ['its schema is another']),
    ...twice(panels.map(({ id }) => String(id))).map(id => `two panels have the number ${id}`),
    ...twice(panelsOf(dashboard).map(({ title }) => title)).map(title => `two panels are called ${title}`),
    ...templating.list.flatMap(({ name, label, description }) =>
      label && description ? [] : [`variable ${name} lacks a label or a description`],
    ),
    ...unusedVariables(dashboard),
  ]
  return faults.map(fault => `${uid}: ${fault}`)
}

/** Words that Grafana itself puts into queries and links. */
const ofGrafana = /^__/

function unusedVariables({ panels, templating, annotations }: Dashboard): readonly string[] {
  const declared = templating.list.map(({ name }) => name)
  const seen = templating.list.filter(({ hide }) => hide !== 2).map(({ name }) => name)
  const asking = JSON.stringify([
    panels,
    annotations,
    templating.list.map(({ query, datasource }) => [query, datasource]),
  ])
  const used = [...asking.matchAll(/\$\{?(\w+)/g)]
    .map(([, name]) => name!)
    .filter(name => !ofGrafana.test(name))
  return [
    ...seen.filter(name => !used.includes(name)).map(name => `nothing uses its variable ${name}`),
    ...[...new Set(used)].filter(name => !declared.includes(name)).map(name => `it has no variable ${name}`),
  ]
}

/** A variable out of sight is there for the dashboards that a reader goes on to. */
function carriedInVain({ uid, templating }: Dashboard, all: readonly Dashboard[]): readonly string[] {
  const shown = all.flatMap(other =>
    other.uid === uid ? [] : other.templating.list.filter(({ hide }) => hide !== 2).map(({ name }) => name),
  )
  return templating.list
    .filter(({ name, hide }) => hide === 2 && !shown.includes(name))
    .map(({ name }) => `${uid}: no other dashboard shows ${name}, which it carries`)
}

function faultsOfPanel(panel: Panel): readonly string[] {
  const { type, title, description = '', targets = [], fieldConfig, options } = panel
  const { unit, noValue, thresholds, mappings, color } = fieldConfig?.defaults ?? {}
  const drawn = type === 'timeseries' || type === 'state-timeline'
  return [
    ...(title ? [] : ['it has no title']),
    ...(description.length >= 40 ? [] : ['its description does not say what is good and what is bad']),
    ...(unit && knownUnits.has(unit) ? [] : [`its unit is ${unit}`]),
    ...(noValue ? [] : ['it does not say what an empty panel means']),
    ...(targets.length > 0 ? [] : ['it asks nothing']),
    ...(drawn && !options?.legend?.showLegend ? ['it has no legend'] : []),
    ...(type === 'state-timeline' && !mappings?.length ? ['its states have no words'] : []),
    ...(type === 'state-timeline' && color?.mode !== 'palette-classic'
      ? ['thresholds would make one state of several']
      : []),
    ...(type !== 'stat' && type !== 'bargauge' ? [] : stepless(thresholds?.steps ?? [])),
    ...twice(targets.map(({ refId }) => refId)).map(refId => `two queries are called ${refId}`),
    ...targets.flatMap(target => [
      ...(target.datasource.uid === panel.datasource?.uid
        ? []
        : ['a query asks another source than its panel']),
      ...(target.datasource.type === 'prometheus' ? faultsOfExpr(target.expr ?? '') : []),
      ...(target.datasource.type === 'prometheus' && drawn && !target.legendFormat
        ? ['a line has no name']
        : []),
    ]),
    ...overridesOf(panel),
  ]
}

/** A step that is not higher than the one before it is never reached. */
function stepless(steps: readonly { readonly value: number | null }[]): readonly string[] {
  const isRising = steps.every(({ value }, n) =>
    n === 0 ? value === null : value! > (steps[n - 1]!.value ?? -Infinity),
  )
  return isRising && steps.length > 0 ? [] : ['its thresholds do not rise']
}

/** Metrics and labels that nobody has, and processes of other installations. */
function faultsOfExpr(expr: string): readonly string[] {
  const selectors = selectorsIn(expr.replaceAll(/"[^"]*"/g, text => text.replaceAll(/[{}]/g, ' ')))
  const isWhole = balanced(expr)
  return [
    ...(isWhole ? [] : ['its brackets do not match']),
    ...selectors.flatMap(({ metric, labels }) => {
      if (!metrics.has(metric) && !foreign.test(metric)) return [`${metric} is not in docs/metrics.md`]
      const known =
        labelsOfMetric.get(metric.replace(/_(bucket|sum|count)$/, '')) ?? labelsOfMetric.get(metric)
      return labels
        .filter(label => label !== 'namespace' && known && !known.has(label))
        .map(label => `${metric} has no label ${label}`)
    }),
    ...[...expr.matchAll(/\b(?:penstock_\w+|process_\w+|nodejs_\w+|up|ALERTS)\b(?!")(\{[^}]*\})?/g)]
      .filter(([, braces = '']) => !braces.includes('job="$job"'))
      .map(([whole]) => `${whole} is not narrowed down to a job`),
  ]
}

function balanced(expr: string): boolean {
  const count = (sign: string) => expr.split(sign).length
  return ['()', '{}', '[]'].every(([open, close]) => count(open!) === count(close!))
}

/** What an override or a link names must be a column that the query answers under that name. */
function overridesOf(panel: Panel): readonly string[] {
  if (panel.datasource?.type !== 'grafana-postgresql-datasource' || panel.type !== 'table') return []
  const columns = columnsOf(panel)
  const named = panel.fieldConfig?.overrides.map(({ matcher }) => matcher.options) ?? []
  const linked = [
    ...JSON.stringify(panel.fieldConfig?.overrides ?? []).matchAll(/__data\.fields\[\\\\?"?\\?"?([\w ]+)/g),
  ]
  return [
    ...linked
      .map(([, name]) => name!)
      .filter(name => !columns.has(name))
      .map(name => `a link names the column ${name}`),
    ...(named.some(name => columns.has(name)) || named.length === 0 ? [] : ['no override meets a column']),
  ]
}

function columnsOf(panel: Panel): ReadonlySet<string> {
  const sql = panel.targets?.[0]?.rawSql ?? ''
  return new Set([...sql.matchAll(/ as (?:"([^"]+)"|(\w+))/g)].map(([, quoted, bare]) => quoted ?? bare!))
}

function overlaps(dashboard: Dashboard): readonly string[] {
  const { panels } = dashboard
  return panels.flatMap((one, n) => [
    ...(one.gridPos.x + one.gridPos.w > 24 ? [`${nameOf(dashboard, one)} leaves the grid`] : []),
    ...panels
      .slice(n + 1)
      .filter(({ gridPos: b }) => {
        const a = one.gridPos
        return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h
      })
      .map(other => `${nameOf(dashboard, one)} and ${other.title} overlap`),
  ])
}

function linksOf(dashboard: Dashboard): readonly Link[] {
  const nested = panelsOf(dashboard).flatMap(panel => [
    ...(panel.links ?? []),
    ...(panel.fieldConfig?.overrides ?? [])
      .flatMap(({ properties }) => properties)
      .filter(({ id }) => id === 'links')
      .flatMap(({ value }) => value as readonly Link[]),
  ])
  return [...(dashboard.links ?? []), ...nested]
}

function faultsOfLink({ title, url = '' }: Link, all: readonly Dashboard[]): readonly string[] {
  const [, uid, query = ''] = /^\/d\/([\w-]+)(\?.*)?$/.exec(url) ?? []
  const target = all.find(dashboard => dashboard.uid === uid)
  if (!target) return [`the link ${title} leads to ${url}, where nothing is`]
  const variables = new Set(target.templating.list.map(({ name }) => name))
  return [...query.matchAll(/[?&]var-(\w+)=/g)]
    .map(([, name]) => name!)
    .filter(name => !variables.has(name))
    .map(name => `the link ${title} sets ${name}, which ${target.uid} has not`)
}

function twice(names: readonly string[]): readonly string[] {
  return names.filter((name, n) => names.indexOf(name) < n)
}

import type pg from 'pg'
import { type Dashboard, nameOf, type Panel, panelsOf, type Target, type Variable } from './files.ts'
import { intervalFor, type Moment, putMacros, putVariables, spanOf, type Values } from './macros.ts'

/** What the database answers to one query of a panel. */
export interface Answer {
  readonly columns: readonly { readonly name: string; readonly kind: Kind }[]
  readonly rows: readonly (readonly unknown[])[]
}

export type Kind = 'time' | 'number' | 'text' | 'other'

/** By the OID of the type, as Grafana's data source sorts them. */
const kinds: Readonly<Record<number, Kind>> = {
  ...{ 1184: 'time', 1114: 'time', 1082: 'time' },
  ...{ 20: 'number', 21: 'number', 23: 'number', 700: 'number', 701: 'number', 1700: 'number' },
  ...{ 25: 'text', 1043: 'text', 1042: 'text' },
}

/** The time that a dashboard opens with, where now is `to`; or another span, ms. */
export function momentOf(dashboard: Dashboard, to: number, span = spanOf(dashboard.time.from)): Moment {
  return { from: to - span, to, interval: intervalFor(span, 1_000) }
}

export async function askSql(
  client: pg.Client,
  sql: string,
  values: Values,
  moment: Moment,
): Promise<Answer> {
  const text = putMacros(putVariables(sql, values), moment)
  const { fields, rows } = await client.query({ text, rowMode: 'array' })
  return {
    columns: fields.map(({ name, dataTypeID }) => ({ name, kind: kinds[dataTypeID] ?? 'other' })),
    rows: rows as unknown[][],
  }
}

/** The answers of a panel, by the letter of the query. */
export async function askPanel(
  client: pg.Client,
  panel: Panel,
  values: Values,
  moment: Moment,
): Promise<readonly (readonly [Target, Answer])[]> {
  const interval = Math.max(moment.interval, panel.interval ? spanOf(panel.interval) : 0)
  const answers: [Target, Answer][] = []
  for (const target of panel.targets ?? []) {
    answers.push([target, await askSql(client, target.rawSql!, values, { ...moment, interval })])
  }
  return answers
}

/** Every value of a variable, given those before it; the first is what Grafana takes where nothing was chosen. */
export async function valuesOf(
  client: pg.Client,
  variable: Variable,
  values: Values,
  moment: Moment,
): Promise<readonly string[]> {
  const { columns, rows } = await askSql(client, variable.query as string, values, moment)
  const names = columns.map(({ name }) => name)
  const place = Math.max(names.indexOf('__value'), 0)
  const texts = rows.map(row => String(row[Math.max(names.indexOf('__text'), 0)]))
  if (new Set(texts).size < texts.length) throw new Error(`two values of ${variable.name} look alike`)
  return rows.map(row => String(row[place]))
}

/** Values of all variables that ask the database: everything where several may be chosen, else the first. */
export async function choose(client: pg.Client, dashboard: Dashboard, moment: Moment): Promise<Values> {
  const values: Record<string, string | readonly string[]> = {}
  for (const variable of dashboard.templating.list.filter(({ type }) => type === 'query')) {
    const all = await valuesOf(client, variable, values, moment)
    if (all.length === 0) throw new Error(`${dashboard.uid}: variable ${variable.name} has no value`)
    values[variable.name] = variable.includeAll ? all : all[0]!
  }
  return values
}

/** What is wrong with what a panel was answered: nothing that it could draw, or something else than it draws. */
export function faultsOfAnswer(panel: Panel, [target, answer]: readonly [Target, Answer]): readonly string[] {
  const isDrawn = panel.type === 'timeseries' || panel.type === 'state-timeline'
  const faults = isDrawn ? faultsOfSeries(panel, target, answer) : faultsOfTable(panel, target, answer)
  return faults.map(fault => `${panel.title}: ${fault}`)
}

function faultsOfSeries(panel: Panel, { format }: Target, { columns, rows }: Answer): readonly string[] {
  const place = columns.findIndex(({ name }) => name === 'time')
  const named = columns.findIndex(({ name }) => name === 'metric')
  const values = columns.flatMap(({ name }, n) => (name === 'time' || name === 'metric' ? [] : [n]))
  if (place === -1) return ['it has no column time']
  const times = rows.map(row => Number(row[place]))
  const keys = rows.map(row => `${Number(row[place])} ${named === -1 ? '' : row[named]}`)
  return [
    ...(format === 'time_series' ? [] : ['its format is not a series']),
    ...(columns[place]!.kind === 'time' || columns[place]!.kind === 'number' ? [] : ['its time is no time']),
    ...(rows.every(row => row[place] !== null) ? [] : ['a time is missing']),
    ...(times.every((time, n) => n === 0 || time >= times[n - 1]!) ? [] : ['it is not sorted by time']),
    ...(values.every(n => columns[n]!.kind === 'number') ? [] : ['a value is no number']),
    ...(named === -1 || (columns[named]!.kind === 'text' && values.length === 1)
      ? []
      : ['metric names a line only beside a single value']),
    ...(named === -1 || rows.every(row => row[named] !== null) ? [] : ['a line has no name']),
    ...(new Set(keys).size === keys.length ? [] : ['a line has two values at one time']),
    ...(panel.type === 'state-timeline' ? wordless(panel, rows, values[0]!) : []),
  ]
}

function wordless(panel: Panel, rows: Answer['rows'], value: number): readonly string[] {
  const words = new Set(
    (panel.fieldConfig?.defaults.mappings ?? []).flatMap(({ options }) => Object.keys(options)),
  )
  const unknown = new Set(rows.map(row => String(row[value])).filter(state => !words.has(state)))
  return [...unknown].map(state => `there is no word for the state ${state}`)
}

function faultsOfTable(panel: Panel, { format }: Target, { columns, rows }: Answer): readonly string[] {
  const hidden = new Set(
    (panel.fieldConfig?.overrides ?? [])
      .filter(({ properties }) => properties.some(({ id }) => id === 'custom.hideFrom'))
      .map(({ matcher }) => matcher.options),
  )
  const names = columns.map(({ name }) => name)
  const unmet = (panel.fieldConfig?.overrides ?? [])
    .map(({ matcher }) => matcher.options)
    .filter(name => !names.includes(name))
  const numbers = columns.filter(({ kind }) => kind === 'number')
  return [
    ...(format === 'table' ? [] : ['its format is not a table']),
    ...(panel.type === 'stat' && (columns.length !== 1 || rows.length !== 1 || numbers.length !== 1)
      ? ['it is not one number']
      : []),
    ...(panel.type === 'table' ? names : [])
      .filter(name => !hidden.has(name) && !/^[A-Z]/.test(name))
      .map(name => `the column ${name} has no heading`),
    ...columns.filter(({ kind }) => kind === 'other').map(({ name }) => `the column ${name} cannot be shown`),
    ...unmet.map(name => `an override is for the column ${name}, which is not there`),
  ]
}

/** What was answered, by panel and column. */
export class Filled {
  readonly #columns = new Map<string, Map<string, Set<unknown>>>()

  note(panel: Panel, { columns, rows }: Answer): void {
    const filled = this.#columns.get(panel.title) ?? new Map<string, Set<unknown>>()
    this.#columns.set(panel.title, filled)
    for (const [n, { name }] of columns.entries()) {
      const values = filled.get(name) ?? new Set()
      filled.set(name, values)
      for (const row of rows) if (row[n] !== null) values.add(row[n])
    }
  }

  /** Every text that was answered. */
  texts(): readonly string[] {
    const values = [...this.#columns.values()].flatMap(columns =>
      [...columns.values()].flatMap(set => [...set]),
    )
    return values.filter(value => typeof value === 'string')
  }

  /** What was never answered; a panel without any value is told as a whole. */
  missing(dashboard: Dashboard): readonly string[] {
    return panelsOf(dashboard).flatMap(panel => {
      const columns = [...(this.#columns.get(panel.title) ?? [])]
      const empty = columns.filter(([, values]) => values.size === 0).map(([name]) => name)
      const title = nameOf(dashboard, panel)
      return empty.length === columns.length ? [title] : empty.map(name => `${title}: ${name}`)
    })
  }
}

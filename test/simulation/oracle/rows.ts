import { canonical, isSame } from './canonical.ts'
import type { Examination, Finding } from './examination.ts'

export type Row = Readonly<Record<string, unknown>>

/** What a cell may hold where that is not one value. */
export class Rule {
  readonly says: string
  readonly allows: (value: unknown, row: Row) => boolean

  constructor(says: string, allows: Rule['allows']) {
    this.says = says
    this.allows = allows
  }
}

export interface ExpectedRow {
  /** By column; each is a value or a Rule. One that is not named is judged by nobody. */
  readonly cells: Row
  /** Must be there by now. */
  readonly isDue: boolean
}

export interface StoredTable {
  readonly name: string
  /** Names of the columns of its primary key. */
  readonly key: readonly string[]
  readonly columns: readonly string[]
  readonly rows: readonly Row[]
}

/** Tables of a schema by their names in it. Times are ms since the epoch, integers of 64 bits are texts. */
export type StoredSchema = ReadonlyMap<string, StoredTable>

interface CatalogueColumn {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly place: number | null
}

/** Every table of a schema, with all of its columns as the database has them. */
export async function readSchema({ rows }: Pick<Examination, 'rows'>, schema: string): Promise<StoredSchema> {
  const columns = await rows<CatalogueColumn>(`
    select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
           array_position(i.indkey::int2[], a.attnum) as place
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = '${schema}'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname, a.attnum`)
  const tables = new Map<string, StoredTable>()
  for (const [name, own] of Map.groupBy(columns, ({ table }) => table)) {
    const asked = own.map(({ column, type }) => `${expression(column, type)} as "${column}"`)
    tables.set(name, {
      name: `${schema}.${name}`,
      key: own
        .filter(({ place }) => place !== null)
        .sort((a, b) => a.place! - b.place!)
        .map(({ column }) => column),
      columns: own.map(({ column }) => column),
      rows: await rows<Row>(`select ${asked.join(', ')} from ${schema}.${name}`),
    })
  }
  return tables
}

function expression(column: string, type: string): string {
  if (type === 'bigint') return `"${column}"::text`
  if (!type.startsWith('timestamp')) return `"${column}"`
  return `case when "${column}" is null then null when isfinite("${column}") then round(extract(epoch from "${column}") * 1000)::float8
               when "${column}" = 'infinity' then 'infinity' else '-infinity' end`
}

/** The key of a row, as the map of what is expected has it. */
export function keyOf(key: readonly string[], row: Row): string {
  return key.map(column => String(row[column])).join(' ')
}

/** These columns of a row alone. */
export function pick(row: Row, columns: readonly string[]): Row {
  return Object.fromEntries(columns.map(column => [column, row[column]]))
}

/** Null where there is nothing to have a share of. */
export function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

/** Holds each row and cell of a table against what is expected there. */
export function compareTable(
  { name, key, columns, rows }: StoredTable,
  expected: ReadonlyMap<string, ExpectedRow>,
): readonly Finding[] {
  const findings: Finding[] = []
  const seen = new Set<string>()
  for (const row of rows) {
    const place = keyOf(key, row)
    const wanted = expected.get(place)
    if (seen.has(place) || !wanted) findings.push({ kind: 'duplicate', text: `${name} ${place}` })
    seen.add(place)
    if (!wanted) continue
    for (const column of columns) {
      if (key.includes(column)) continue
      const fault = column in wanted.cells ? faultOf(wanted.cells[column], row, column) : 'nobody judges it'
      if (fault) findings.push({ kind: 'different', text: `${name} ${place} ${column}: ${fault}` })
    }
  }
  for (const [place, { isDue }] of expected) {
    if (isDue && !seen.has(place)) findings.push({ kind: 'lost', text: `${name} ${place}` })
  }
  return findings
}

function faultOf(wanted: unknown, row: Row, column: string): string | undefined {
  const found = row[column]
  if (wanted instanceof Rule) {
    return wanted.allows(found, row) ? undefined : `${canonical(found)} is not ${wanted.says}`
  }
  const value = wanted ?? null
  return isSame(found, value) ? undefined : `${canonical(found)} is not ${canonical(value)}`
}

/** One of these values. */
export function oneOf(values: readonly unknown[]): Rule {
  const texts = new Set(values.map(value => canonical(value ?? null)))
  return new Rule(`one of ${[...texts].join(', ')}`, value => texts.has(canonical(value)))
}

/** The rule, or null. */
export function orNull({ says, allows }: Rule): Rule {
  return new Rule(`null or ${says}`, (value, row) => value === null || allows(value, row))
}

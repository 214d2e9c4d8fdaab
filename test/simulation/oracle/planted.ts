import type { Examination, Finding } from './examination.ts'

export interface Column {
  readonly table: string
  readonly column: string
  readonly type: string
  readonly isKey: boolean
}

/** Columns that can be written, of all tables of a schema. */
export async function columnsOf({ rows }: Examination, schema: string): Promise<readonly Column[]> {
  return rows<Column>(`
    select c.relname as table, a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
           coalesce(a.attnum = any (i.indkey), false) as "isKey"
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_index i on i.indrelid = c.oid and i.indisprimary
    where c.relnamespace = '${schema}'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and a.attgenerated = ''
    order by c.relname, a.attnum`)
}

/** Another value, whatever the column holds. */
export function otherValue({ column, type }: Column): string {
  if (type === 'boolean') return `not coalesce("${column}", false)`
  if (type === 'jsonb') return `'{"planted": true}'`
  if (type === 'text[]') return `array_prepend('x', "${column}")`
  if (type.endsWith('[]')) return `array_prepend(coalesce("${column}"[1], 0) + 77, "${column}"[2:])`
  if (type.startsWith('timestamp')) return `coalesce("${column}", ingest.clock()) + interval '9 days'`
  if (type === 'text') return `coalesce("${column}", '') || 'x'`
  return `coalesce("${column}", 0) + 1000003`
}

/** What is found once these statements were made, and taken back. */
export async function foundAfter(
  examination: Examination,
  examine: (examination: Examination) => Promise<readonly Finding[]>,
  ...statements: readonly string[]
): Promise<readonly string[]> {
  await examination.rows('begin')
  try {
    for (const statement of statements) await examination.rows(statement)
    return (await examine(examination)).map(({ kind, text }) => `${kind}: ${text}`)
  } finally {
    await examination.rows('rollback')
  }
}

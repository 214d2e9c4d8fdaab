/** Runs a query and answers its rows. */
export type Ask = (text: string) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** Those for people first. Without the partitions, which are made of their tables. */
const relations = `
  select n.nspname || '.' || c.relname as name, c.relkind = 'v' as is_view, obj_description(c.oid) as comment,
         (select json_agg(json_build_array(a.attname, format_type(a.atttypid, a.atttypmod), col_description(c.oid, a.attnum))
                          order by a.attnum)
          from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname in ('classroom', 'analytics', 'players', 'ingest') and c.relkind in ('r', 'v', 'p') and not c.relispartition
    and c.relname <> 'test_clock'
  order by n.nspname = 'ingest', n.nspname, c.relkind = 'v', c.relname`

interface Relation {
  readonly name: string
  readonly is_view: boolean
  readonly comment: string
  readonly columns: readonly (readonly [name: string, type: string, comment: string])[]
}

/** docs/tables.md, out of the catalogue of a migrated database: what stands there is what people find. */
export async function tablesReference(ask: Ask): Promise<string> {
  const found = (await ask(relations)) as unknown as readonly Relation[]
  return `# Tables

<!-- Made by npm run docs:sql; edit src/tables or a migration instead. -->

Every table and view with its columns, as \`\\d+ classroom.room\` tells them in psql. All times are in UTC. Keys begin with
app_id.
${found.map(section).join('')}`
}

function section({ name, is_view, comment, columns }: Relation): string {
  const rows = columns.map(
    ([column, type, text]) => `| \`${column}\` | ${short(type)} | ${text.replaceAll('|', '\\|')} |`,
  )
  return `
## ${name}

${is_view ? 'View. ' : ''}${comment}.

| column | type | what it is |
|---|---|---|
${rows.join('\n')}
`
}

function short(type: string): string {
  return type.replace('timestamp with time zone', 'timestamptz').replace('character varying', 'varchar')
}

import { ask } from '../support/embedded.ts'

/** The tables of people and of the daemon that hold a text which matches `pattern`, a regular expression of Postgres. */
export async function tablesWith(databaseUrl: string, pattern: string): Promise<readonly string[]> {
  const tables = await ask(
    databaseUrl,
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('classroom', 'analytics', 'players', 'ingest') order by 1`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const [row] = await ask(
      databaseUrl,
      `select exists (
         select from ${name} t
         where t::text ~ '${pattern}' ${name === 'ingest.dead_letter' ? `or encode(t.body, 'escape') ~ '${pattern}'` : ''}
       ) as is_hit`,
    )
    if (row!.is_hit) found.push(String(name))
  }
  return found
}

/** The sum of a metric over the series that have these labels. */
export function sumOf(metrics: string, name: string, labels: Readonly<Record<string, string>>): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return metrics
    .split('\n')
    .filter(line => line.startsWith(`${name}{`) && wanted.every(label => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

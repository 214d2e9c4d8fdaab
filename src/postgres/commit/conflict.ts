import type { Table } from '../../tables/index.ts'

/**
 * What happens to a stored row `t` when one with the same key comes, as the action of an `on conflict`. `instead` are
 * expressions of what columns become against the rules of their table.
 */
export function resolution(table: Table, instead: Readonly<Record<string, string>> = {}): string {
  if (table.onConflict === 'keep') return 'do nothing'
  if (table.onConflict === 'revise') return revision
  const changes = changesOf(table, instead)
  const stored = changes.map(([column]) => `t.${column}`).join(', ')
  const wanted = changes.map(([, value]) => value).join(',\n        ')
  const touched = table.touched ? [[table.touched, 'ingest.clock()'] as const] : []
  return `do update set ${[...changes, ...touched].map(([column, value]) => `${column} = ${value}`).join(',\n        ')}
      where (${stored}) is distinct from (
        ${wanted})`
}

/**
 * A value that was read before the stored one says nothing, unless that was dated by a clock that was minutes ahead; the same value
 * again only says that it still holds.
 */
const revision = `do update set value = excluded.value, extra = excluded.extra, fetched_at = excluded.fetched_at,
        revision = t.revision + case when excluded.value is distinct from t.value then 1 else 0 end
      where excluded.fetched_at > t.fetched_at or t.fetched_at > ingest.clock() + interval '5 minutes'
        or excluded.fetched_at = t.fetched_at and excluded.value is distinct from t.value`

/** Columns that may change and the expression of what they become. */
function changesOf(
  table: Table,
  instead: Readonly<Record<string, string>>,
): readonly (readonly [column: string, value: string])[] {
  const key = new Set<string>([...(table.within === 'room' ? ['room_uuid'] : []), ...table.key])
  return Object.keys(table.columns)
    .filter(column => !key.has(column))
    .flatMap(column => {
      const value = instead[column] ?? newValue(column, table.except[column] ?? table.onConflict)
      return value === undefined ? [] : [[column, value] as const]
    })
}

function newValue(column: string, rule: string): string | undefined {
  const [stored, come] = [`t.${column}`, `excluded.${column}`]
  switch (rule) {
    case 'keep':
      return undefined
    case 'merge':
      return `coalesce(${come}, ${stored})`
    case 'latch':
      return `case when ${stored} then true else coalesce(${come}, ${stored}) end`
    case 'final':
      return `case when t.finished and excluded.finished is not true then coalesce(${stored}, ${come}) else coalesce(${come}, ${stored}) end`
    case 'alive':
      return `case when t.destroyed_at is not null and excluded.destroyed_at is null then ${come} else coalesce(${come}, ${stored}) end`
    default:
      return come
  }
}

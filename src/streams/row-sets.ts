import type { RowSet, TableName } from '../tables/index.ts'

/** All rows of the sets, by table, in the order they come; tables without rows are left out. */
export function mergeRows(sets: readonly RowSet[]): RowSet {
  const merged: Partial<Record<TableName, unknown[]>> = {}
  for (const set of sets) {
    for (const table of Object.keys(set) as TableName[]) {
      const rows = set[table] ?? []
      if (rows.length === 0) continue
      const target = merged[table]
      if (target) target.push(...rows)
      else merged[table] = [...rows]
    }
  }
  return merged as RowSet
}

/** One item a key; the last one wins, at the place of the first. */
export function lastByKey<T>(items: readonly T[], key: (item: T) => unknown): readonly T[] {
  return [...new Map(items.map(item => [key(item), item])).values()]
}

import { type Difference, type Incarnation, type Kind, mostKeys } from '../../postgres/replay.ts'

/** Where a row differs: the key of its table, never what it holds. */
export type DifferingKey = Incarnation & Readonly<Record<string, string | number | bigint>>

/** What was found in one table, over all rooms. */
export interface TableTally {
  readonly table: string
  readonly missing: number
  readonly extra: number
  readonly different: number
  /** Of different rows: how many differ in each column. */
  readonly columns: Readonly<Record<string, number>>
  /** The first of each kind. */
  readonly keys: Readonly<Record<Kind, readonly DifferingKey[]>>
}

export interface Tally {
  readonly add: (place: Incarnation, differences: readonly Difference[]) => void
  /** Rows that differ so far. */
  readonly rows: () => number
  readonly tables: () => readonly TableTally[]
}

export function createTally(): Tally {
  const tables = new Map<string, TableTally>()
  let rows = 0
  return {
    add: (place, differences) => {
      for (const each of differences) {
        rows += each.rows
        tables.set(each.table, grow(tables.get(each.table) ?? nothing(each.table), place, each))
      }
    },
    rows: () => rows,
    tables: () => [...tables.values()].sort((a, b) => (a.table < b.table ? -1 : 1)),
  }
}

function nothing(table: string): TableTally {
  const keys = { missing: [], extra: [], different: [] }
  return { table, missing: 0, extra: 0, different: 0, columns: {}, keys }
}

function grow(tally: TableTally, place: Incarnation, { kind, rows, columns, keys }: Difference): TableTally {
  const found = keys.map(key => ({ ...place, ...key }))
  const counts = columns.map(column => [column, (tally.columns[column] ?? 0) + rows])
  return {
    ...tally,
    [kind]: tally[kind] + rows,
    columns: { ...tally.columns, ...Object.fromEntries(counts) },
    keys: { ...tally.keys, [kind]: [...tally.keys[kind], ...found].slice(0, mostKeys) },
  }
}

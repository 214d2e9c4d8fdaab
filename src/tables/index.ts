import { analyticsTables, type SessionSeriesRow } from './analytics.ts'
import { classroomTables } from './classroom.ts'
import { ownTables } from './ingest.ts'
import { playersTables } from './players.ts'
import type { Columns, RowOf, Table } from './table.ts'

/** Every table that the streams of this program fill. */
export const tables = [...classroomTables, ...analyticsTables, ...playersTables]

type Rows = { readonly [T in (typeof tables)[number] as T['name']]: RowOf<T> }

/** Rows by the name of their table. A stream of one's own declares its table here as well (`declare module`). */
export interface Tables extends Omit<Rows, 'analytics.session_series'> {
  readonly 'analytics.session_series': SessionSeriesRow
}
export type TableName = keyof Tables & string

/** The rows of one page, by table. A key occurs at most once per table. */
export type RowSet = { readonly [T in TableName]?: readonly Tables[T][] }

export type { Table }

/** What every described table says to people: of itself and of its columns, those of the daemon's own included. */
export const descriptions: readonly {
  readonly name: string
  readonly comment: string
  readonly columns: Columns
}[] = [
  ...tables.map(({ name, comment, columns, made, given }) => {
    const stored = Object.entries({ ...made, ...columns }).filter(([column]) => !given.includes(column))
    return { name, comment, columns: Object.fromEntries(stored) }
  }),
  ...ownTables,
]

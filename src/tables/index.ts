import * as analytics from './analytics.ts'
import * as classroom from './classroom.ts'
import * as players from './players.ts'
import type { RowOf, Table } from './table.ts'

/** Every table that the streams of this program fill. */
const { eventTables: _, ...inClassroom } = classroom
export const tables = Object.values({ ...inClassroom, ...analytics, ...players })

type Rows = { readonly [T in (typeof tables)[number] as T['name']]: RowOf<T> }

/** Rows by the name of their table. A stream of one's own declares its table here as well (`declare module`). */
export interface Tables extends Omit<Rows, 'analytics.session_metric'> {
  readonly 'analytics.session_metric': analytics.SessionMetricRow
}
export type TableName = keyof Tables & string

/** The rows of one page, by table. A key occurs at most once per table. */
export type RowSet = { readonly [T in TableName]?: readonly Tables[T][] }

export type { Table }

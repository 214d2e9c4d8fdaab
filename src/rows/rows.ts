import type { AnalyticsTables } from './analytics.ts'
import type { ClassroomTables } from './classroom.ts'
import type { PlayersTables } from './players.ts'

/** Every table that streams fill, by its qualified name. */
export type Tables = ClassroomTables & AnalyticsTables & PlayersTables
export type TableName = keyof Tables

/** The rows of one page, by table. A key occurs at most once per table. */
export type RowSet = { readonly [T in TableName]?: readonly Tables[T][] }

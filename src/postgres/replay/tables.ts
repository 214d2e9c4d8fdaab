import type { ClassroomTables } from '../../rows/classroom.ts'
import { classroomTables, eventTables } from '../tables/classroom.ts'
import type { TableSpec } from '../tables/spec.ts'

/** Tables that hold nothing but what the raw items of quizzes and polls say. */
const widgetTables = [
  'classroom.quiz',
  'classroom.quiz_submission',
  'classroom.poll',
  'classroom.poll_submission',
  'classroom.poll_tally',
] as const satisfies readonly (keyof ClassroomTables)[]

/** Tables that hold nothing but what the raw rows of a room say. */
export const derivedTables = [...eventTables, ...widgetTables] as const
export type DerivedTable = (typeof derivedTables)[number]

/** A derived table, its columns, and the table of the session that its rebuilt rows are laid beside it in. */
export interface Derived {
  readonly table: DerivedTable
  readonly spec: TableSpec
  /** `pg_temp.` and a name of its own. */
  readonly rebuilt: string
  /** Columns of the key after those of the room. */
  readonly key: readonly string[]
  /** Columns after the key, as [name, type]. */
  readonly values: readonly (readonly [column: string, type: string])[]
}

export function derived(table: DerivedTable): Derived {
  const spec = classroomTables[table] as TableSpec
  const key: readonly string[] = spec.key
  const values = Object.entries<string>(spec.columns).filter(
    ([column]) => column !== 'room_uuid' && !key.includes(column),
  )
  return { table, spec, rebuilt: `pg_temp.replay_${table.slice(table.indexOf('.') + 1)}`, key, values }
}

/** Columns that the key of every table in a room begins with. */
export const placeColumns = ['app_id', 'room_uuid', 'incarnation'] as const

/** Restricts a table to one incarnation of a room; `t` is its name in the statement. */
export function atPlace(t: string): string {
  return `${t}.app_id = :app and ${t}.room_uuid = :room and ${t}.incarnation = :incarnation`
}

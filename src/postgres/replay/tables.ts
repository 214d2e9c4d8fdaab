import type { Stream } from '../../streams/stream.ts'
import { room, roomEvent, widgetEvent } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'

/** What can be rebuilt of a room: whatever its logs write besides what they keep raw. */
export interface Rebuildable {
  /** Streams whose commits write it. */
  readonly logs: readonly string[]
  readonly tables: readonly Table[]
}

export function rebuildable(streams: readonly Stream[]): Rebuildable {
  const logs = streams.filter(({ kind }) => kind === 'log')
  const tables = new Set(logs.flatMap(({ writes }) => writes))
  for (const kept of [room, roomEvent, widgetEvent]) tables.delete(kept)
  return { logs: logs.map(({ name }) => name), tables: [...tables] }
}

/** A table that is rebuilt, and the table of the session that its rebuilt rows are laid beside it in. */
export interface Derived {
  readonly table: Table
  /** `pg_temp.` and a name of its own. */
  readonly rebuilt: string
  /** Columns of the key after those of the room. */
  readonly key: readonly string[]
  /** Columns after the key, as [name, type]. */
  readonly values: readonly (readonly [column: string, type: string])[]
}

export function derived(table: Table): Derived {
  const { key } = table
  const values = Object.entries(table.columns)
    .filter(([column]) => column !== 'room_uuid' && !key.includes(column))
    .map(([column, { type }]) => [column, type] as const)
  return { table, rebuilt: `pg_temp.replay_${table.name.slice(table.name.indexOf('.') + 1)}`, key, values }
}

/** Columns that the key of every table in a room begins with. */
export const placeColumns = ['app_id', 'room_uuid', 'incarnation'] as const

/** Restricts a table to one incarnation of a room; `t` is its name in the statement. */
export function atPlace(t: string): string {
  return `${t}.app_id = :app and ${t}.room_uuid = :room and ${t}.incarnation = :incarnation`
}

import type { Stream } from '../../streams/stream.ts'
import { room, roomEvent, widgetEvent } from '../../tables/classroom.ts'
import type { RowSet, Table } from '../../tables/index.ts'
import { shortName } from '../../tables/table.ts'
import { resolution } from '../commit/conflict.ts'
import { encodeRows, incoming, parameterName } from '../commit/ctes.ts'
import { bind, type Statement, statement } from '../statement.ts'
import { type Ask, placeColumns } from './session.ts'

/** What can be rebuilt of a room: whatever its logs write besides what they keep raw. */
interface Rebuildable {
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
  return { table, rebuilt: `pg_temp.replay_${shortName(table)}`, key, values }
}

/**
 * The rebuilt rows, in tables that only this connection sees: they have the columns and the keys of the stored ones, and
 * rows meet in them by the rules of the commit.
 */

/** Rows of so many are laid up before the tables are emptied: emptying costs more than many small rooms. */
const mostRows = 20_000

export interface Rebuilt {
  /** Forgets what is no longer needed; afterwards nothing of this incarnation is laid up. */
  readonly begin: (place: string) => Promise<void>
  readonly put: (app: string, incarnation: number, rows: RowSet) => Promise<void>
}

/** Makes the tables. Throws StoreUnavailable where the role may not have tables of its own. */
export async function openRebuilt(ask: Ask, tables: readonly Table[]): Promise<Rebuilt> {
  for (const table of tables) await ask({ text: creation(table), values: [] })
  const puts = new Map(tables.map(table => [table, putStatement(table)]))
  const places = new Set<string>()
  let held = 0

  return {
    begin: async place => {
      if (held > mostRows || places.has(place)) {
        await ask({
          text: `truncate ${tables.map(table => derived(table).rebuilt).join(', ')}`,
          values: [],
        })
        places.clear()
        held = 0
      }
      places.add(place)
    },
    put: async (app, incarnation, rows) => {
      const byTable: Readonly<Record<string, readonly object[] | undefined>> = rows
      for (const [table, put] of puts) {
        const list: readonly object[] | undefined = byTable[table.name]
        if (!list || list.length === 0) continue
        held += list.length
        await ask(bind(put, { app, incarnation, [parameterName(table)]: encodeRows(list) }))
      }
    },
  }
}

function creation(table: Table): string {
  const { rebuilt, key } = derived(table)
  return `create temporary table ${rebuilt} (like ${table.name}, primary key (${[...placeColumns, ...key].join(', ')}))`
}

function putStatement(table: Table): Statement {
  const { rebuilt, key } = derived(table)
  const columns = Object.keys(table.columns)
  return statement(
    `replay_put_${parameterName(table)}`,
    `insert into ${rebuilt} as t (app_id, incarnation, ${columns.join(', ')})
     select :app, :incarnation::int, ${columns.map(column => `d.${column}`).join(', ')} from ${incoming(table)}
     on conflict (${[...placeColumns, ...key].join(', ')}) ${resolution(table)}`,
  )
}

import type { Stream } from '../../streams/stream.ts'
import { room, roomEvent, widgetEvent } from '../../tables/classroom.ts'
import type { RowSet, Table } from '../../tables/index.ts'
import { shortName } from '../../tables/table.ts'
import { resolution } from '../commit/conflict.ts'
import { encodeRows, incoming, parameterName } from '../commit/ctes.ts'
import { bind, type Statement, statement } from '../statement.ts'
import { type Ask, placeColumns } from './session.ts'

/** What can be rebuilt of a room: whatever its logs write besides what they keep raw. `logs` are the streams that do. */
export function rebuildable(streams: readonly Stream[]) {
  const logs = streams.filter(({ kind }) => kind === 'log')
  const tables = new Set(logs.flatMap(({ writes }) => writes))
  for (const kept of [room, roomEvent, widgetEvent]) tables.delete(kept)
  return { logs: logs.map(({ name }) => name), tables: [...tables] }
}

/**
 * The table of the session that the rebuilt rows of a table are laid beside it in, `rebuilt`, with the columns of the key
 * after those of the room, and those after the key as [name, type].
 */
export function derived(table: Table) {
  const { key } = table
  const values: readonly (readonly [string, string])[] = Object.entries(table.columns)
    .filter(([column]) => column !== 'room_uuid' && !key.includes(column))
    .map(([column, { type }]) => [column, type] as const)
  return { rebuilt: `pg_temp.replay_${shortName(table)}`, key, values }
}

/** Rows of so many are laid up before the tables are emptied: emptying costs more than many small rooms. */
const mostRows = 20_000

/**
 * Makes tables that only this connection sees, with the columns and the keys of the stored ones: rows meet in them by the
 * rules of the commit. Throws StoreUnavailable where the role may not have tables of its own.
 */
export async function openRebuilt(ask: Ask, tables: readonly Table[]) {
  for (const table of tables) await ask({ text: creation(table), values: [] })
  const puts = new Map(tables.map(table => [table, putStatement(table)]))
  const places = new Set<string>()
  let held = 0

  return {
    /** Forgets what is no longer needed; afterwards nothing of this incarnation is laid up. */
    begin: async (place: string) => {
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
    put: async (app: string, incarnation: number, rows: RowSet) => {
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

import type { RowSet } from '../../rows/rows.ts'
import { resolution } from '../commit/conflict.ts'
import { encodeRows, incoming, parameterName } from '../commit/ctes.ts'
import { bind, type Statement, statement } from '../statement.ts'
import type { Ask } from './session.ts'
import { type DerivedTable, derived, derivedTables, placeColumns } from './tables.ts'

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
export async function openRebuilt(ask: Ask): Promise<Rebuilt> {
  for (const table of derivedTables) await ask({ text: creation(table), values: [] })
  const puts = new Map(derivedTables.map(table => [table, putStatement(table)]))
  const places = new Set<string>()
  let held = 0

  return {
    begin: async place => {
      if (held > mostRows || places.has(place)) {
        await ask({
          text: `truncate ${derivedTables.map(table => derived(table).rebuilt).join(', ')}`,
          values: [],
        })
        places.clear()
        held = 0
      }
      places.add(place)
    },
    put: async (app, incarnation, rows) => {
      for (const [table, put] of puts) {
        const list = rows[table]
        if (!list || list.length === 0) continue
        held += list.length
        await ask(bind(put, { app, incarnation, [parameterName(table)]: encodeRows(list) }))
      }
    },
  }
}

function creation(table: DerivedTable): string {
  const { rebuilt, key } = derived(table)
  return `create temporary table ${rebuilt} (like ${table}, primary key (${[...placeColumns, ...key].join(', ')}))`
}

function putStatement(table: DerivedTable): Statement {
  const { rebuilt, spec, key } = derived(table)
  const columns = Object.keys(spec.columns)
  return statement(
    `replay_put_${parameterName(table)}`,
    `insert into ${rebuilt} as t (app_id, incarnation, ${columns.join(', ')})
     select :app, :incarnation::int, ${columns.map(column => `d.${column}`).join(', ')} from ${incoming(table)}
     on conflict (${[...placeColumns, ...key].join(', ')}) ${resolution(spec)}`,
  )
}

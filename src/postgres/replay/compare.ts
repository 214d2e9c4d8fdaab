import type { Table } from '../../tables/index.ts'
import { isoTime } from '../../tables/json.ts'
import { shortName } from '../../tables/table.ts'
import { type Statement, statement } from '../statement.ts'
import { derived } from './rebuilt.ts'
import { atPlace, placeColumns } from './session.ts'

/**
 * A time that the raw rows do not tell: it was taken from the clock of the answer in which an item was first heard
 * of, and nothing kept that. A rebuilt row says this instead, and whatever is stored stays. No provider's time is
 * likely to be the last but one millisecond that can be written.
 */
export const untold = Date.UTC(9999, 11, 31, 23, 59, 59, 998)

/** How a stored table differs: rows that should be there, rows that should not, rows with other values. */
export type Kind = 'missing' | 'extra' | 'different'

/** Rows of a table that differ in the same way. */
export interface Difference {
  readonly table: string
  readonly kind: Kind
  /** Of different rows the columns; else empty. */
  readonly columns: readonly string[]
  readonly rows: number
  /** Keys of the first of them, inside their room. */
  readonly keys: readonly Readonly<Record<string, string | number | bigint>>[]
}

/** Keys of a difference that are told at most, for each room. */
export const mostKeys = 20

const untoldTime = `timestamptz '${isoTime(untold)}'`

/** Lays the rebuilt rows of one incarnation of a room beside the stored ones, all tables in one round trip. */
export function compareRows(tables: readonly Table[]): Statement {
  return statement('replay_compare', tables.map(comparison).join('\nunion all\n'))
}

function comparison(table: Table): string {
  const { rebuilt, key, values } = derived(table)
  const join = [...placeColumns, ...key].map(column => `r.${column} = t.${column}`).join(' and ')
  const columns = values.map(([column, type]) => `case when ${differs(column, type)} then '${column}' end`)
  const keys = key.map(column => `coalesce(t.${column}, r.${column}) as ${column}`).join(', ')
  const fields = key.map(column => `'${column}', d.${column}`).join(', ')
  const order = key.map(column => `d.${column}`).join(', ')
  return `
  select '${table.name}' as "table", c.kind, c.columns, count(*)::int as rows,
         (json_agg(c.key order by c.place) filter (where c.place <= ${mostKeys}))::text as keys
  from (
    select d.kind, d.columns, json_build_object(${fields}) as key,
           row_number() over (partition by d.kind, d.columns order by ${order}) as place
    from (
      select case when t.app_id is null then 'missing' when r.app_id is null then 'extra' else 'different' end as kind,
             case when t.app_id is null or r.app_id is null then '{}'::text[]
                  else array_remove(array[${columns.join(', ')}]::text[], null) end as columns,
             ${keys}
      from (select * from ${table.name} t where ${atPlace('t')}) t
      full join (select * from ${rebuilt} r where ${atPlace('r')}) r on ${join}
    ) d
    where d.kind <> 'different' or cardinality(d.columns) > 0
  ) c group by 1, 2, 3`
}

/** Whether a stored value `t` is another than the rebuilt one `r`. */
function differs(column: string, type: string): string {
  const differs = `t.${column} is distinct from r.${column}`
  return type === 'timestamptz' ? `${differs} and r.${column} is distinct from ${untoldTime}` : differs
}

/**
 * Makes a table what it should be for one incarnation of a room. Its three parts see the same rows, and none sees
 * what another has done.
 */
export function mendRows(table: Table): Statement {
  const { rebuilt, key, values } = derived(table)
  const same = [...placeColumns, ...key].map(column => `r.${column} = t.${column}`).join(' and ')
  const isChanged = values.map(([column, type]) => `(${differs(column, type)})`).join(' or ')
  const changes = values.map(([column, type]) => `${column} = ${mended(column, type)}`)
  const columns = [...placeColumns, ...key, ...values.map(([column]) => column)]
  const told = [
    ...[...placeColumns, ...key].map(column => `r.${column}`),
    ...values.map(([column, type]) =>
      type === 'timestamptz' ? `nullif(r.${column}, ${untoldTime})` : `r.${column}`,
    ),
  ]
  return statement(
    `replay_mend_${shortName(table)}`,
    `with gone as (
       delete from ${table.name} t where ${atPlace('t')} and not exists (select from ${rebuilt} r where ${same})
     ), changed as (
       update ${table.name} t set ${changes.join(', ')} from ${rebuilt} r
       where ${atPlace('t')} and ${same} and (${isChanged})
     )
     insert into ${table.name} (${columns.join(', ')})
     select ${told.join(', ')} from ${rebuilt} r
     where ${atPlace('r')} and not exists (select from ${table.name} t where ${same})`,
  )
}

function mended(column: string, type: string): string {
  if (type !== 'timestamptz') return `r.${column}`
  return `case when r.${column} = ${untoldTime} then t.${column} else r.${column} end`
}

import {
  type Compilable,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type RawBuilder,
  sql,
} from 'kysely'
import type pg from 'pg'
import type { ownTables } from '../tables/ingest.ts'
import type { OwnTable, ReadRowOf } from '../tables/table.ts'
import { query } from './connect.ts'

type OwnTables = (typeof ownTables)[number]
type Database = { [T in OwnTables as T extends OwnTable<infer Name> ? Name : never]: ReadRowOf<T> }

/** Writes statements whose tables and columns the compiler checks; it has no connection, so that it runs none. */
export const db = new Kysely<Database>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: kysely => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
})

/** Runs such a statement like every other one. Throws StoreUnavailable and RefusedRows. */
export function rowsOf<Row extends object>(
  pool: pg.Pool,
  statement: Compilable<Row>,
): Promise<readonly Row[]> {
  const { sql: text, parameters } = statement.compile()
  return query<Row>(pool, { text, values: [...parameters] })
}

/** The time of the database, which only a test replaces. */
export const clock = sql<Date>`ingest.clock()`

/** A count or a sum that fits into a number. */
export function whole(expression: string): RawBuilder<number> {
  return sql.raw<number>(`(${expression})::int`)
}

/** A moment as ISO 8601 in UTC, to the second; `expression` is SQL. */
export function isoTime(expression: string): RawBuilder<string> {
  return sql.raw<string>(isoText(expression))
}

/** The same in a statement that is written as a text. */
export function isoText(expression: string): string {
  return `to_char(${expression} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
}

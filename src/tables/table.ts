import type { Json, Timestamp } from './json.ts'

/** Types of Postgres that columns have, and the values that rows bring for them. */
interface Values {
  readonly text: string
  readonly int: number
  readonly 'int[]': readonly number[]
  readonly bigint: number | bigint
  readonly 'double precision': number
  readonly 'double precision[]': readonly number[]
  readonly boolean: boolean
  readonly timestamptz: Timestamp
  readonly jsonb: Json
  readonly bytea: Uint8Array
  readonly tstzmultirange: string
}
type ColumnType = keyof Values

/** One column: its type in Postgres, whether it may be null, and what it says to people, without a full stop. */
export interface Column<Value = unknown, Type extends ColumnType = ColumnType> {
  readonly type: Type
  readonly isNullable: boolean
  readonly comment: string
  /** What it tells of a person. */
  readonly tells?: Tells
  /** The type of its values, for the compiler alone. */
  readonly value?: Value
}

/**
 * What a column tells of a person: who it is in classrooms (`user`) or in calls (`uid`, which may be several), the name, what
 * was written in a chat, or what else came with the person.
 */
export type Tells = 'user' | 'uid' | 'name' | 'chat' | 'person'
export type Columns = Readonly<Record<string, Column>>

function column<Type extends ColumnType>(type: Type) {
  return <Value extends Values[Type] = Values[Type]>(comment: string): Column<Value, Type> => {
    return { type, isNullable: false, comment }
  }
}

function nullable<Type extends ColumnType>(type: Type) {
  return <Value extends Values[Type] = Values[Type]>(comment: string): Column<Value | null, Type> => {
    return { type, isNullable: true, comment }
  }
}

/** Makes a column that is never null; `required.text<'a' | 'b'>(...)` where its words are known. */
export const required = {
  text: column('text'),
  int: column('int'),
  ints: column('int[]'),
  bigint: column('bigint'),
  double: column('double precision'),
  doubles: column('double precision[]'),
  boolean: column('boolean'),
  timestamp: column('timestamptz'),
  json: column('jsonb'),
  bytes: column('bytea'),
  ranges: column('tstzmultirange'),
}

/** Makes a column that may be null. */
export const optional = {
  text: nullable('text'),
  int: nullable('int'),
  ints: nullable('int[]'),
  bigint: nullable('bigint'),
  double: nullable('double precision'),
  boolean: nullable('boolean'),
  timestamp: nullable('timestamptz'),
  json: nullable('jsonb'),
}

/** The column, which tells something of a person. */
export function telling<C extends Column>(tells: Tells, column: C): C {
  return { ...column, tells }
}

/** What a row does to a stored one with the same key. */
type OnConflict = 'keep' | 'replace' | 'merge' | 'revise'

/** Rules of single columns that escape that of their table. */
type ColumnRule = 'keep' | 'replace' | 'merge' | 'latch' | 'final' | 'alive'

interface Parts<Key extends Columns, Own extends Columns, Given extends Columns> {
  /** What the key begins with: app_id, room_uuid and incarnation of what is in a room; else app_id alone. */
  readonly within: 'room' | 'app'
  /** What makes a row unique besides, in this order. */
  readonly key: Key
  /** What rows bring besides. */
  readonly columns: Own
  /** What rows bring that is no column: the database makes others of it. */
  readonly given?: Given
  /** Columns that no row brings: the database makes them of other rows, or keeps them for itself. */
  readonly made?: Columns
  /**
   * `keep`: a stored row stays; `replace`: newer wins; `merge`: newer wins where it says something, null leaves what is
   * known; `revise`: the one with the latest fetched_at wins, and revision counts how often the value changed.
   */
  readonly onConflict: OnConflict
  /**
   * `latch`: once true it stays true; `final`: what came with a true `finished` is not replaced by what comes without;
   * `alive`: merged, but what was known of one that had been destroyed no longer holds when it comes back.
   */
  readonly except?: { readonly [Name in keyof Own]?: ColumnRule }
  /**
   * Partitioned by time, and the key of `retention` in the configuration that says how long its rows are kept. Postgres does
   * not tell which rows of such a table were new: changed ones count as well.
   */
  readonly partitioned?: { readonly keptAs: 'samples' | 'realtime' }
  /** Column that the database sets to its clock when a stored row changes. */
  readonly touched?: string
}

/**
 * One table that streams fill, as rows and statements need it: the one description of its columns. What makes it in the
 * database are the migrations; a test holds them against this, and migrating writes the comments from here.
 */
export interface Table<Name extends string = string, Row extends object = object> {
  readonly name: Name
  readonly comment: string
  readonly within: 'room' | 'app'
  /** Names of the key's columns, without those that every table of its kind begins with. */
  readonly key: readonly string[]
  /** What rows bring, the roomUuid of a room's rows and what is `given` included. */
  readonly columns: Columns
  readonly given: readonly string[]
  readonly made: Columns
  readonly onConflict: OnConflict
  readonly except: Readonly<Record<string, ColumnRule | undefined>>
  readonly partitioned: { readonly keptAs: 'samples' | 'realtime' } | undefined
  readonly touched: string | undefined
  /** The type of its rows, for the compiler alone. */
  readonly row?: Row
}

/** The name of a table without that of its schema. */
export function shortName({ name }: Pick<Table, 'name'>): string {
  return name.slice(name.indexOf('.') + 1)
}

/** A table of the daemon's own, which no stream fills: what it says to people, and the types of its columns. */
export interface OwnTable<Name extends string = string, Own extends Columns = Columns> {
  readonly name: Name
  readonly comment: string
  readonly columns: Own
}

export function ownTable<Name extends string, Own extends Columns>(
  name: Name,
  comment: string,
  columns: Own,
): OwnTable<Name, Own> {
  return { name, comment, columns }
}

/** Null in every column of a table that may be: a row of it that says nothing beside its key. */
export function blank<Row extends object>({ columns }: Table<string, Row>): Nulls<Row> {
  const nullable = Object.keys(columns).filter(name => columns[name]!.isNullable)
  return Object.fromEntries(nullable.map(name => [name, null])) as Nulls<Row>
}
type Nulls<Row> = { readonly [Name in keyof Row as null extends Row[Name] ? Name : never]: null }

/** A row of such a table, as the driver reads it: times are dates, and a bigint is a text. */
export type ReadRowOf<T> =
  T extends OwnTable<string, infer Own>
    ? {
        readonly [Name in keyof Own]: Own[Name] extends Column<infer Value, infer Type>
          ? Read<Value, Type>
          : never
      }
    : never
type Read<Value, Type> = Type extends 'timestamptz'
  ? Date | Extract<Value, null>
  : Type extends 'bigint'
    ? string | Extract<Value, null>
    : Value

/** A row of a table, as a stream hands it over; the commit adds `app_id` and `incarnation`. */
export type RowOf<T> = T extends Table<string, infer Row> ? Row : never

type ValuesOf<C> = { readonly [Name in keyof C]: C[Name] extends Column<infer Value> ? Value : never }
type InRoom<Within> = Within extends 'room' ? { readonly room_uuid: string } : object

/** Describes a table. */
export function table<
  Name extends string,
  const Within extends 'room' | 'app',
  Key extends Columns,
  Own extends Columns,
  Given extends Columns = Record<never, Column>,
>(
  name: Name,
  comment: string,
  parts: Parts<Key, Own, Given> & { readonly within: Within },
): Table<Name, InRoom<Within> & ValuesOf<Key> & ValuesOf<Own> & ValuesOf<Given>> {
  const { within, key, columns, given, made = {}, onConflict, except = {}, partitioned, touched } = parts
  const room = within === 'room' ? { room_uuid: roomUuid } : {}
  return {
    ...{ name, comment, within, onConflict, except, partitioned, touched },
    key: Object.keys(key),
    columns: { ...room, ...key, ...columns, ...given },
    given: Object.keys(given ?? {}),
    made: { app_id: appId, ...(within === 'room' && { incarnation }), ...made },
  }
}

const appId = required.text('App ID of the project')
const roomUuid = required.text("The provider's classroom ID, also the channel name of its calls")
const incarnation = required.int('Counts from 1 how often this room_uuid has been used for a new room')

import { room, roomEvent, widgetEvent } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { isoTime } from '../../tables/json.ts'
import { decodeColumn, decodeText } from '../encode.ts'
import { bind, type Statement, statement } from '../statement.ts'
import { type Ask, atPlace, type Incarnation, ms, placeValues } from './session.ts'

/** What events tell of a room themselves, as it is stored. Times are ms since the epoch. */
export interface StoredRoom {
  readonly state: number | null
  readonly state_sequence: number | bigint | null
  readonly started_at: number | null
  readonly ended_at: number | null
}
export type RoomColumn = keyof StoredRoom

/**
 * Finds the incarnation after another one, of any room of its app, by whatever is kept under it: also what is there without a
 * room or without anything raw. `tables` are those rebuilt.
 */
export function nextStatement(tables: readonly Table[]): Statement {
  // Of a room that retention has emptied nothing is left to compare.
  const isFull = (table: Table) =>
    table === room ? 'and (t.emptied_at is null or t.verified_at > t.emptied_at)' : ''
  const each = [room, roomEvent, widgetEvent, ...tables].map(
    table => `(select t.room_uuid, t.incarnation from ${table.name} t
      where t.app_id = :app and (t.room_uuid, t.incarnation) > (:room::text, :incarnation::int) ${isFull(table)}
      order by t.room_uuid, t.incarnation limit 1)`,
  )
  return statement('replay_next', `select * from (${each.join(' union all ')}) n order by 1, 2 limit 1`)
}

export const beforeAll = { room: '', incarnation: 0 } as const

/** The incarnation that the statement finds. */
export async function nextIncarnation(
  ask: Ask,
  next: Statement,
  after: Incarnation,
): Promise<Incarnation | undefined> {
  const [row] = await ask<{ room_uuid: string; incarnation: number }>(bind(next, placeValues(after)))
  return row && { app: after.app, room: decodeText(row.room_uuid), incarnation: row.incarnation }
}

const count = statement(
  'replay_count',
  'select count(*)::int as rooms from classroom.room where app_id = any(:apps)',
)

export async function countRooms(ask: Ask, apps: readonly string[]): Promise<number> {
  const [row] = await ask<{ rooms: number }>(bind(count, { apps }))
  return row!.rooms
}

const readStored = statement(
  'replay_room',
  `select r.state, r.state_sequence::text, ${ms('r.started_at')} as started_at, ${ms('r.ended_at')} as ended_at
   from classroom.room r where ${atPlace('r')}`,
)

type StoredRow = Omit<StoredRoom, 'state_sequence'> & { readonly state_sequence: string | null }

export async function readRoom(ask: Ask, place: Incarnation): Promise<StoredRoom | undefined> {
  const [row] = await ask<StoredRow>(bind(readStored, placeValues(place)))
  if (!row) return undefined
  const { state_sequence: sequence } = row
  return { ...row, state_sequence: decodeColumn(sequence) as number | bigint | null }
}

const bound: Readonly<Record<RoomColumn, string>> = {
  state: ':state::int',
  state_sequence: ':state_sequence::bigint',
  started_at: ':started_at::timestamptz',
  ended_at: ':ended_at::timestamptz',
}

/** Sets columns of a room. */
export async function mendRoom(
  ask: Ask,
  place: Incarnation,
  { state, state_sequence, started_at, ended_at }: StoredRoom,
  columns: readonly RoomColumn[],
): Promise<void> {
  const changes = columns.map(column => `${column} = ${bound[column]}`)
  const update = statement(
    'replay_mend_room',
    `update classroom.room r set ${changes.join(', ')} where ${atPlace('r')}`,
  )
  const time = (at: number | null) => (at === null ? null : isoTime(at))
  const wanted = {
    state,
    state_sequence: state_sequence?.toString() ?? null,
    started_at: time(started_at),
    ended_at: time(ended_at),
  }
  // Without its name, under which the server would keep the plan for these columns only.
  const { text, values } = bind(update, { ...placeValues(place), ...wanted })
  await ask({ text, values })
}

import { room, roomEvent, widgetEvent } from '../../tables/classroom.ts'
import type { Table } from '../../tables/index.ts'
import { isoTime } from '../../tables/json.ts'
import { decodeJson, decodeText } from '../encode.ts'
import { bind, type Statement, statement } from '../statement.ts'
import { type Ask, atPlace, type Incarnation, placeValues } from './session.ts'

/** What events decide of a room. Times are ms since the epoch. */
export interface RoomValues {
  readonly state: number | null
  readonly state_sequence: number | bigint | null
  readonly started_at: number | null
  readonly ended_at: number | null
  readonly valid_from: number | null
  readonly valid_to: number | null
}
export type RoomColumn = keyof RoomValues

/** The row of a room as it is stored. */
export interface StoredRoom extends RoomValues {
  /** The latest time that any reading of an event told; it is not derived itself. */
  readonly last_event_at: number | null
}

/** The room that the roomUuid means after this one. */
export interface NextRoom {
  /** When the first of those of its events happened that came together, first of all; null where none is kept. */
  readonly firstAt: number | null
  /** Whether one of its events happened when this room is said to have ceased. */
  readonly begins: boolean
}

/** Whatever is kept under it: also what is there without a room or without anything raw. */
function nextStatement(name: string, tables: readonly Table[], condition: string) {
  // Of a room that retention has emptied nothing is left to compare.
  const isFull = (table: Table) =>
    table === room ? 'and (t.emptied_at is null or t.verified_at > t.emptied_at)' : ''
  const each = [room, roomEvent, widgetEvent, ...tables].map(
    table => `(select t.room_uuid, t.incarnation from ${table.name} t where t.app_id = :app and ${condition} ${isFull(table)}
      order by t.room_uuid, t.incarnation limit 1)`,
  )
  return statement(name, `select * from (${each.join(' union all ')}) n order by 1, 2 limit 1`)
}

/** Finds the incarnation after another one, of any room of an app or of the same room; `tables` are those rebuilt. */
export function nextStatements(tables: readonly Table[]): Readonly<Record<'app' | 'room', Statement>> {
  return {
    app: nextStatement(
      'replay_next',
      tables,
      '(t.room_uuid, t.incarnation) > (:room::text, :incarnation::int)',
    ),
    room: nextStatement(
      'replay_next_of_room',
      tables,
      't.room_uuid = :room and t.incarnation > :incarnation::int',
    ),
  }
}

export const beforeAll = { room: '', incarnation: 0 } as const

/** The incarnation that such a statement finds. */
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

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::double precision`

const readStored = statement(
  'replay_room',
  `select r.state, r.state_sequence::text, ${ms('r.started_at')} as started_at, ${ms('r.ended_at')} as ended_at,
          ${ms('r.valid_from')} as valid_from, ${ms('r.valid_to')} as valid_to, ${ms('r.last_event_at')} as last_event_at
   from classroom.room r where ${atPlace('r')}`,
)

type StoredRow = Omit<StoredRoom, 'state_sequence'> & { readonly state_sequence: string | null }

export async function readRoom(ask: Ask, place: Incarnation): Promise<StoredRoom | undefined> {
  const [row] = await ask<StoredRow>(bind(readStored, placeValues(place)))
  if (!row) return undefined
  const { state_sequence: sequence } = row
  return { ...row, state_sequence: sequence === null ? null : (decodeJson(sequence) as number | bigint) }
}

const readNext = statement(
  'replay_next_room',
  `with next as (
     select min(n.incarnation) as incarnation from classroom.room n
     where n.app_id = :app and n.room_uuid = :room and n.incarnation > :incarnation::int
   ), began as (
     select e.at, e.received_at from classroom.room_event e, next
     where e.app_id = :app and e.room_uuid = :room and e.incarnation = next.incarnation
   )
   select ${ms('(select min(b.at) from began b where b.received_at = (select min(received_at) from began))')} as first_at,
          exists (select from began b join classroom.room r on r.valid_to = b.at and ${atPlace('r')}) as begins
   from next where next.incarnation is not null`,
)

export async function readNextRoom(ask: Ask, place: Incarnation): Promise<NextRoom | undefined> {
  const [row] = await ask<{ first_at: number | null; begins: boolean }>(bind(readNext, placeValues(place)))
  return row && { firstAt: row.first_at, begins: row.begins }
}

const roomColumns = ['state', 'state_sequence', 'started_at', 'ended_at', 'valid_from', 'valid_to'] as const

function bound(column: RoomColumn): string {
  if (column === 'state') return ':state::int'
  return column === 'state_sequence' ? ':state_sequence::bigint' : `:${column}::timestamptz`
}

const insertion = statement(
  'replay_add_room',
  `insert into classroom.room (app_id, room_uuid, incarnation, region, ${roomColumns.join(', ')}, last_event_at,
                               first_seen_at, verified_at)
   select :app, :room, :incarnation::int, :region, ${roomColumns.map(bound).join(', ')},
          max(e.at), min(e.received_at), '-infinity'
   from classroom.room_event e where ${atPlace('e')}`,
)

function roomValues(wanted: RoomValues): Readonly<Record<string, unknown>> {
  const { state, state_sequence, ...times } = wanted
  const told = Object.entries(times).map(([column, at]) => [column, at === null ? null : isoTime(at)])
  return { state, state_sequence: state_sequence?.toString() ?? null, ...Object.fromEntries(told) }
}

/** Sets columns of a room. */
export async function mendRoom(
  ask: Ask,
  place: Incarnation,
  wanted: RoomValues,
  columns: readonly RoomColumn[],
): Promise<void> {
  const changes = columns.map(column => `${column} = ${bound(column)}`)
  const update = statement(
    'replay_mend_room',
    `update classroom.room r set ${changes.join(', ')} where ${atPlace('r')}`,
  )
  // Without its name, under which the server would keep the plan for these columns only.
  const { text, values } = bind(update, { ...placeValues(place), ...roomValues(wanted) })
  await ask({ text, values })
}

/** Adds a room that events are kept of. Nobody vouches for it: its log shows first whose it is. */
export async function addRoom(
  ask: Ask,
  place: Incarnation,
  region: string | null,
  wanted: RoomValues,
): Promise<void> {
  await ask(bind(insertion, { ...placeValues(place), region, ...roomValues(wanted) }))
}

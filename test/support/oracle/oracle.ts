import type { TruthLine } from '../../../sandbox/src/index.ts'
import {
  Bound,
  type ExpectedRoom,
  type ExpectedRow,
  type Table,
  tableKeys,
  tableNames,
} from './expectation.ts'
import { pairIncarnations } from './incarnations.ts'
import type { Difference, Report, RowName } from './report.ts'
import { expectRoom } from './rooms.ts'
import { readStored, type Stored, type StoredGap, type StoredLetter, type StoredRow } from './stored.ts'
import { gatherRooms } from './truth.ts'
import { type Fields, isFields, textOf } from './values.ts'

/**
 * Compares a database with the sandbox's truth. It shares no code with the daemon: what must be in each table it
 * works out itself, from what the provider served. `now` is the world's time, Unix ms.
 */
export async function compareWithTruth(
  truth: Iterable<TruthLine>,
  now: number,
  databaseUrl: string,
): Promise<Report> {
  const rooms = expectedRooms(truth, now)
  return compare(rooms, await readStored(databaseUrl))
}

function expectedRooms(lines: Iterable<TruthLine>, now: number): readonly ExpectedRoom[] {
  const truths = gatherRooms(lines)
  const latest = new Map(truths.map(({ room }) => [`${room.app} ${room.roomUuid}`, room.incarnation]))
  return truths.map(truth => {
    const { app, roomUuid, incarnation } = truth.room
    return expectRoom(truth, now, latest.get(`${app} ${roomUuid}`) === incarnation)
  })
}

function compare(rooms: readonly ExpectedRoom[], stored: Stored): Report {
  const incarnationOf = pairIncarnations(rooms, stored)
  const actual = new Map<string, StoredRow>()
  const foreign: RowName[] = []
  for (const table of tableNames) {
    for (const row of stored.tables.get(table) ?? []) {
      const incarnation = incarnationOf(row)
      const name = nameOf(
        table,
        row.app_id,
        row.room_uuid,
        incarnation ?? `stored ${row.incarnation}`,
        row.columns,
      )
      if (incarnation === undefined) foreign.push(name)
      else actual.set(name, row)
    }
  }
  const found = rooms.map(room => compareRoom(room, actual, stored))
  const letters = rooms.flatMap(room => room.letters)
  const bodies = stored.letters.flatMap(({ item }) => (isFields(item) ? [item] : []))
  const unsent = letters.filter(({ item }) => !bodies.some(body => holds(body, item)))
  return {
    rooms: rooms.length,
    reused: rooms.filter(({ incarnation }) => incarnation > 1).length,
    rows: Object.fromEntries(tableNames.map(table => [table, stored.tables.get(table)?.length ?? 0])),
    lost: [...found.flatMap(({ lost }) => lost), ...unsent.map(({ what }) => `dead letter for ${what}`)],
    excused: found.flatMap(({ excused }) => excused),
    duplicates: duplicatesIn(rooms, stored),
    foreign: [...foreign, ...actual.keys()],
    differences: found.flatMap(({ differences }) => differences),
    secrets: secretsIn(stored),
    gaps: stored.gaps,
    letters: stored.letters.map(({ stream, reason }) => ({ stream, reason })),
    divergences: stored.divergences,
  }
}

interface RoomFindings {
  readonly lost: RowName[]
  readonly excused: RowName[]
  readonly differences: Difference[]
}

/** Takes the rows of the room out of `actual`; what stays there in the end belongs to no room. */
function compareRoom(room: ExpectedRoom, actual: Map<string, StoredRow>, stored: Stored): RoomFindings {
  const findings: RoomFindings = { lost: [], excused: [], differences: [] }
  for (const row of room.rows) {
    const name = nameOf(row.table, room.app, room.roomUuid, room.incarnation, row.columns)
    const there = actual.get(name)
    actual.delete(name)
    if (there) findings.differences.push(...differencesOf(name, row, there.columns))
    else if (!row.optional) findings[isOwnedUp(room, row, stored.gaps) ? 'excused' : 'lost'].push(name)
  }
  return findings
}

/** Whether the gap ledger says that these sequences of the room are lost. */
function isOwnedUp(room: ExpectedRoom, { columns }: ExpectedRow, gaps: readonly StoredGap[]): boolean {
  if (typeof columns.sequence !== 'string') return false
  const sequence = BigInt(columns.sequence)
  return gaps.some(gap => {
    if (gap.unit !== 'sequence' || gap.series !== room.roomUuid || gap.state !== 'lost') return false
    return BigInt(gap.sequence_from ?? 0) <= sequence && sequence <= BigInt(gap.sequence_to ?? 0)
  })
}

function differencesOf(row: RowName, expected: ExpectedRow, actual: Fields): readonly Difference[] {
  return Object.entries(expected.columns).flatMap(([column, value]): Difference[] => {
    const stored = actual[column] ?? null
    const isRight = value instanceof Bound ? value.holds(stored) : textOf(value ?? null) === textOf(stored)
    if (isRight) return []
    return [
      { row, column, expected: value instanceof Bound ? value.says : textOf(value), stored: textOf(stored) },
    ]
  })
}

function nameOf(
  table: Table,
  app: string,
  room: string,
  incarnation: number | string,
  columns: Fields,
): RowName {
  const key = tableKeys[table].map(column => String(columns[column]))
  return [`${table}: ${app}/${room}#${incarnation}`, ...key].join(' ')
}

/** Items that are stored more often than they exist, whatever key they are stored under. */
function duplicatesIn(rooms: readonly ExpectedRoom[], stored: Stored): readonly RowName[] {
  return (['room_event', 'widget_event'] as const).flatMap(table => {
    const left = new Map<string, number>()
    for (const { app, roomUuid, rows } of rooms) {
      for (const row of rows) {
        if (row.table !== table) continue
        const item = identity(table, app, roomUuid, row.columns)
        left.set(item, (left.get(item) ?? 0) + 1)
      }
    }
    return (stored.tables.get(table) ?? []).flatMap(row => {
      const item = identity(table, row.app_id, row.room_uuid, row.columns)
      const count = left.get(item)
      if (count === undefined) return []
      left.set(item, count - 1)
      return count > 0
        ? []
        : [nameOf(table, row.app_id, row.room_uuid, `stored ${row.incarnation}`, row.columns)]
    })
  })
}

function identity(table: 'room_event' | 'widget_event', app: string, room: string, columns: Fields): string {
  const key = tableKeys[table].map(column => columns[column])
  return textOf([app, room, ...key, columns.cmd ?? null, columns.data])
}

/** Whether a dead letter holds the item: all of its fields, as they were served. */
function holds(body: Fields, item: Fields): boolean {
  return Object.entries(item).every(([field, value]) => {
    const inBody = field === 'sequence' ? String(body[field]) : textOf(body[field])
    return inBody === (field === 'sequence' ? String(value) : textOf(value))
  })
}

const secret = /(?:board|task)-secret-/

function secretsIn({ tables, letters }: Stored): readonly string[] {
  const inRows = [...tables].flatMap(([table, rows]) => {
    return rows.filter(({ columns }) => secret.test(textOf(columns))).map(() => `a token in ${table}`)
  })
  return [...inRows, ...letters.filter(holdsSecret).map(() => 'a token in a dead letter')]
}

function holdsSecret({ text }: StoredLetter): boolean {
  return secret.test(text)
}

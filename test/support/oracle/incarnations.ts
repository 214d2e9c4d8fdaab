import type { ExpectedRoom } from './expectation.ts'
import type { Stored, StoredRow } from './stored.ts'

/**
 * Which incarnation of the truth a stored one is. Where the database has as many as the truth they pair in
 * order; else the time when the class started decides, and what has none stays unknown.
 */
export function pairIncarnations(
  rooms: readonly ExpectedRoom[],
  stored: Stored,
): (row: StoredRow) => number | undefined {
  const truths = Map.groupBy(rooms, room => `${room.app} ${room.roomUuid}`)
  const known = Map.groupBy(stored.tables.get('room') ?? [], row => `${row.app_id} ${row.room_uuid}`)
  const pairs = new Map<string, number>()
  for (const [room, rows] of known) {
    const truth = truths.get(room) ?? []
    const ordered = rows.toSorted((a, b) => a.incarnation - b.incarnation)
    for (const [index, row] of ordered.entries()) {
      const inOrder = rows.length === truth.length ? truth[index] : undefined
      const pair = inOrder ?? truth.find(({ startedAt }) => startedAt === row.columns.started_at)
      if (pair) pairs.set(`${room} ${row.incarnation}`, pair.incarnation)
    }
  }
  return row => pairs.get(`${row.app_id} ${row.room_uuid} ${row.incarnation}`)
}

import { roomStates } from '../../provider/classroom/index.ts'
import type { RoomEventRow, RoomRow, RoomStateChangeRow } from '../../tables/classroom.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Timestamp } from '../../tables/json.ts'
import type { Page, ToldState } from '../page.ts'
import { bySequence, highest, type Sequence } from '../parts/holes.ts'
import { mergeRows } from '../parts/items.ts'
import { arrivalTime, latestBelieved } from '../parts/values.ts'
import { answerTime, type PlacedEvent } from './event.ts'

/** All rows that events make: the raw one always, those of its type, and one row a room. */
export function eventRows(placed: readonly PlacedEvent[], page: Page): RowSet {
  const received_at = arrivalTime(page)
  const latest = latestBelieved(page)
  const derived = mergeRows(
    placed.map(({ event, at }) =>
      event.reading.rows({ room_uuid: event.room_uuid, sequence: event.sequence, at }, latest),
    ),
  )
  const raw = placed.map(event => rawRow(event, received_at))
  const firm = new Set(raw.filter((_, n) => placed[n]!.firm))
  const changes = derived['classroom.room_state_change'] ?? []
  const toldBy = earlier(received_at, answerTime(page).at)
  return mergeRows([
    { 'classroom.room': roomRows(raw, changes, firm, toldBy) },
    { 'classroom.room_event': raw },
    derived,
  ])
}

/** What is of a room beside its log counts as read by the earlier of the two clocks, too. */
function earlier(one: Timestamp, other: Timestamp): Timestamp {
  return one < other ? one : other
}

function rawRow({ event, at, at_source }: PlacedEvent, received_at: Timestamp): RoomEventRow {
  return {
    room_uuid: event.room_uuid,
    sequence: event.sequence,
    cmd: event.cmd,
    version: event.version,
    data: event.data,
    event_time: event.reading.ownTime,
    at,
    at_source,
    received_at,
    extra: event.extra,
  }
}

/**
 * One row for each room that the events are of. The states of all count, but only firm times: an estimate made
 * anew at each reading would move the room's bounds each time. `toldBy`: when all of them had happened.
 */
export function roomRows(
  events: readonly RoomEventRow[],
  changes: readonly RoomStateChangeRow[],
  firm: ReadonlySet<RoomEventRow>,
  toldBy: Timestamp | null = null,
): readonly RoomRow[] {
  const changesByRoom = Map.groupBy(changes, change => change.room_uuid)
  const eventsByRoom = Map.groupBy(events, event => event.room_uuid)
  return [...eventsByRoom].map(([room_uuid, all]) => {
    const own = all.filter(event => firm.has(event))
    const told = changesByRoom.get(room_uuid) ?? []
    const late_ends = lateEnds(all, told)
    const ended_by = late_ends === null ? null : toldBy
    return { room_uuid, ...lifeOf(told, own), ended_by, late_ends, ...spanOf(own) }
  })
}

/** The last change of state decides; an end counts only while the room has not been started again. */
function lifeOf(
  changes: readonly RoomStateChangeRow[],
  own: readonly RoomEventRow[],
): Pick<RoomRow, 'state' | 'state_sequence' | 'started_at' | 'ended_at'> {
  const firm = new Set(own.map(({ sequence }) => sequence))
  const ordered = changes.toSorted((a, b) => bySequence(a.sequence, b.sequence))
  const last = ordered.at(-1)
  const start = ordered.find(({ state }) => state === roomStates.started)
  const ends = ordered.filter(({ state, sequence }) => isOver(state) && firm.has(sequence))
  const end = last && isOver(last.state) ? endOf(ends) : undefined
  return {
    state: last?.state ?? null,
    state_sequence: last?.sequence ?? null,
    started_at: start?.started_at ?? (start && firm.has(start.sequence) ? start.at : null),
    ended_at: end?.at ?? null,
  }
}

/** Times that ends have from events before them; null for none. Which end counts is for all that is known of the room to decide. */
function lateEnds(
  events: readonly RoomEventRow[],
  changes: readonly RoomStateChangeRow[],
): readonly Timestamp[] | null {
  const ends = new Set(changes.filter(({ state }) => isOver(state)).map(({ sequence }) => sequence))
  const late = events.filter(({ sequence, at_source }) => at_source === 'neighbour' && ends.has(sequence))
  return late.length > 0 ? late.map(({ at }) => at) : null
}

/** What changes of state say of the room that they made; `heardAt` is when it ended where no time says so, ms. */
export function toldState(
  room: RoomRow | undefined,
  changes: readonly RoomStateChangeRow[],
  heardAt: number,
): ToldState | undefined {
  if (!room || room.state_sequence === null) return undefined
  const starts = changes.filter(({ state }) => !isOver(state)).map(({ sequence }) => sequence)
  const started = starts.reduce<Sequence | null>(highest, null) ?? undefined
  const endedAt = room.ended_at === null ? heardAt : Date.parse(room.ended_at)
  return {
    sequence: room.state_sequence,
    ...(started !== undefined && { started }),
    endedAt: isOver(room.state) ? endedAt : undefined,
  }
}

/** A class that was ended and then closed ended when it was ended. */
function endOf(ends: readonly RoomStateChangeRow[]): RoomStateChangeRow | undefined {
  return ends.findLast(({ state }) => state === roomStates.ended) ?? ends.at(-1)
}

/** Ended or closed. */
export function isOver(state: number | null): boolean {
  return state === roomStates.ended || state === roomStates.closed
}

function spanOf(events: readonly RoomEventRow[]): Pick<RoomRow, 'first_event_at' | 'last_event_at'> {
  let first: Timestamp | null = null
  let last: Timestamp | null = null
  for (const { at } of events) {
    if (first === null || at < first) first = at
    if (last === null || at > last) last = at
  }
  return { first_event_at: first, last_event_at: last }
}

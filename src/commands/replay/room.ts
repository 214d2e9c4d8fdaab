import type { NextRoom, RoomColumn, RoomFault, RoomValues, StoredRoom } from '../../postgres/replay.ts'
import { batchSize } from '../../provider/classroom/index.ts'
import { isOver } from '../../streams/events/room-rows.ts'
import type { Evidence } from './life.ts'

/**
 * Holds the stored row of a room against its events.
 *
 * A time that the events tell themselves must be that time. An end tells none, nor do most first events: each reading
 * of them, by the feed or by the log, has estimated one, the raw row keeps that of the first reading, and the room has
 * merged those of all. So the room may differ from its raw rows by what some reading can have estimated, and no more.
 */
export function judgeRoom(
  stored: StoredRoom | undefined,
  found: Evidence,
  next: NextRoom | undefined,
): RoomFault | undefined {
  const { all } = found
  const should: RoomValues = {
    state: all.state,
    state_sequence: all.stateSequence,
    started_at: all.startedAt,
    ended_at: all.endedAt,
    valid_from: all.firstAt,
    valid_to: next ? next.firstAt : null,
  }
  if (!stored) {
    // What only the feed has told makes a room only where it contradicted nothing.
    return found.logEvents > 0 ? { kind: 'missing', columns: [], wanted: should } : undefined
  }
  const columns = wrongColumns(stored, found, next)
  if (columns.length === 0) return undefined
  return { kind: 'different', columns, wanted: should }
}

/** A page that was answered first may be stored second: it is under way for this long at most, ms. */
const longestWay = 60_000

function wrongColumns(
  stored: StoredRoom,
  found: Evidence,
  next: NextRoom | undefined,
): readonly RoomColumn[] {
  const isStateRight = isState(stored, found)
  const right: Readonly<Record<RoomColumn, boolean>> = {
    state: isStateRight,
    state_sequence: isStateRight,
    started_at: isStart(stored, found),
    ended_at: isEnd(isStateRight ? stored : { ...stored, state: found.all.state }, found),
    valid_from: isBegin(stored, found),
    valid_to: isCease(stored, next),
  }
  const { all } = found
  const columns = Object.keys(right) as RoomColumn[]
  return columns.filter(column => {
    if (column === 'state') return !right.state && stored.state !== all.state
    if (column === 'state_sequence') return !right.state && stored.state_sequence !== all.stateSequence
    return !right[column]
  })
}

/** What only the feed has told counts only where the same answer contradicted nothing, which nobody kept. */
function isState({ state, state_sequence }: StoredRoom, { log, unconfirmed }: Evidence): boolean {
  const told = [{ state: log.state, sequence: log.stateSequence }, ...unconfirmed]
  return told.some(each => each.state === state && each.sequence === state_sequence)
}

function isStart({ started_at: at, ...room }: StoredRoom, { all, log, isStartTold }: Evidence): boolean {
  if (at === all.startedAt || at === log.startedAt) return true
  return !isStartTold && all.startedAt !== null && (at === null || isWithin(at, room))
}

/**
 * The estimates of an end: by the first reading; by a neighbour that had a time; by an answer that came a little
 * earlier; and by a later answer, where that held the beginning of the class too and so told all of it again.
 */
function isEnd({ state, ended_at: at, ...room }: StoredRoom, found: Evidence): boolean {
  const { all, log, unconfirmed, isEndLate, endsLikeNeighbour, eventsToEnd } = found
  if (at === all.endedAt || at === log.endedAt) return true
  if (!isOver(state)) return false
  if (at === null) return isEndLate
  const isUncertain = unconfirmed.length > 0 || isEndLate
  if (isUncertain || all.endedAt === null) return isWithin(at, room)
  if (at < all.endedAt) return endsLikeNeighbour || at >= all.endedAt - longestWay
  return eventsToEnd <= batchSize && isWithin(at, room)
}

/** No estimate lies outside the first and the last time that any reading has told. */
function isWithin(at: number, room: Pick<StoredRoom, 'valid_from' | 'last_event_at'>): boolean {
  return at >= (room.valid_from ?? at) && at <= (room.last_event_at ?? at)
}

function isBegin(
  { valid_from: at, last_event_at }: StoredRoom,
  { all, log, firstEstimate }: Evidence,
): boolean {
  if (at === all.firstAt) return true
  if (at === null || all.firstAt === null) return false
  const latest = log.firstAt ?? last_event_at ?? all.firstAt
  if (at > all.firstAt) return at <= latest
  return firstEstimate !== null && at >= firstEstimate - longestWay
}

function isCease({ valid_to: at }: StoredRoom, next: NextRoom | undefined): boolean {
  if (!next) return at === null
  return next.firstAt === null || (at !== null && next.begins)
}

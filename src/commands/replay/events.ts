import { isoTime } from '../../planning/time.ts'
import type { Incarnation, StoredEvent } from '../../postgres/replay.ts'
import type { RoomEventRow, RoomRow } from '../../rows/classroom.ts'
import type { Json } from '../../rows/json.ts'
import type { RowSet } from '../../rows/rows.ts'
import { LogState } from '../../streams/events/log-state.ts'
import type { FeedStream, LogStream, Page, ReadingSettings, Reject } from '../../streams/stream.ts'
import { readState } from '../../streams/stream-state.ts'

/** What one event becomes when it is read again. */
export interface ReadEvent {
  readonly event: StoredEvent
  /** Of the derived tables. */
  readonly rows: RowSet
  /** What it says of its room. */
  readonly room: RoomRow | undefined
  /** The provider's own time inside it, ms since the epoch. */
  readonly ownTime: number | null
}

/**
 * Reads stored events of one incarnation of a room one by one, in the order of the log, as the streams read them when
 * they came: what the log has shown as its log, with all that this remembers, what only the feed has shown as the feed.
 *
 * When an event without a time of its own happened was told by the answer in which it was first seen, or by its
 * neighbours then. That stands in the raw row, so each event comes in an answer of its own, given at that time, and no
 * neighbour is asked.
 */
export function eventReader(
  streams: { readonly 'room-events': LogStream; readonly 'app-events': FeedStream },
  { room, incarnation }: Incarnation,
  settings: ReadingSettings,
  onReject: (reject: Reject) => void,
): (event: StoredEvent) => ReadEvent {
  let streamState: Json = { incarnation }
  let cursor: string | null = null

  function readLog(page: Page): RowSet {
    const toRows = streams['room-events'].toRows({ ...page, series: room, cursor }, streamState)
    streamState = withoutTime(toRows.streamState)
    cursor = onwards
    toRows.rejects.forEach(onReject)
    return toRows.rows
  }

  function readFeed(page: Page): RowSet {
    const { rows, rejects } = streams['app-events'].toRows(page, null)
    rejects.forEach(onReject)
    return rows
  }

  return event => {
    const page = pageOf(event, room, settings)
    const rows = event.source === 'log' ? readLog(page) : readFeed(page)
    const { 'classroom.room': rooms, 'classroom.room_event': raws, ...derived } = rows
    const ownTime = timeOf(raws?.[0])
    return { event, rows: firstSeen(derived, event, ownTime), room: rooms?.[0], ownTime }
  }
}

/** There is always more to come, or else the log would take the page for its end and wait at it. */
const onwards = 'onwards'

function pageOf(event: StoredEvent, room: string, settings: ReadingSettings): Page {
  return {
    series: '',
    cursor: null,
    purpose: 'read',
    items: [recordOf(event, room)],
    nextId: onwards,
    answeredAt: event.at,
    receivedAt: event.receivedAt,
    // Holes were counted when the log was read.
    settings: { ...settings, sequenceScope: 'app' },
  }
}

/** The record as it came. A version that was no number stands among the other fields. */
function recordOf({ sequence, cmd, version, data, extra }: StoredEvent, room: string): Json {
  const others = typeof extra === 'object' && extra !== null ? extra : {}
  return { roomUuid: room, cmd, sequence, data, ...(version !== null && { version }), ...others }
}

function withoutTime(streamState: Json): Json {
  const { fold, ...log } = readState(LogState, streamState)
  return { ...log, fold: fold && { ...fold, lastTime: null } }
}

function timeOf(raw: RoomEventRow | undefined): number | null {
  return raw === undefined || raw.event_time === null ? null : Date.parse(raw.event_time)
}

/** An event keeps the time at which it was first seen, unless its own time is now read as another one. */
function firstSeen(rows: RowSet, event: StoredEvent, ownTime: number | null): RowSet {
  if (ownTime === null || ownTime !== event.ownTime || ownTime === event.at) return rows
  const at = isoTime(event.at)
  const tables = Object.entries(rows).map(([table, list]) => [table, list.map(row => ({ ...row, at }))])
  return Object.fromEntries(tables) as RowSet
}

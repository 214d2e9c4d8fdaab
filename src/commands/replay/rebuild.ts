import { untold } from '../../postgres/replay/compare.ts'
import type { StoredEvent, StoredItem } from '../../postgres/replay/raw.ts'
import type { RoomColumn, StoredRoom } from '../../postgres/replay/rooms.ts'
import type { Incarnation } from '../../postgres/replay/session.ts'
import type { Rebuild, RoomFault } from '../../postgres/replay.ts'
import { isOver } from '../../streams/events/event-rows.ts'
import { LogState } from '../../streams/events/read-log.ts'
import type { Page, ReadingSettings, Reject } from '../../streams/page.ts'
import { after, type Sequence } from '../../streams/parts/holes.ts'
import { mergeRows } from '../../streams/parts/items.ts'
import { readState } from '../../streams/parts/stream-state.ts'
import type { FeedStream, LogStream, Stream } from '../../streams/stream.ts'
import { beginning, WidgetState } from '../../streams/widgets/read-items.ts'
import { type RoomEventRow, type RoomRow, roomEvent, widgetEvent } from '../../tables/classroom.ts'
import type { RowSet } from '../../tables/index.ts'
import { isoTime, type Json, type Timestamp } from '../../tables/json.ts'

/** How much has been read again. */
export interface Volume {
  readonly events: number
  readonly items: number
}

/** Rebuilds one incarnation of a room, a batch at a time; `onRead` hears of every batch, `onReject` of what cannot be read. */
export function rebuildWith(
  streams: readonly Stream[],
  settings: ReadingSettings,
  onRead: (volume: Volume) => void,
  onReject: (reject: Reject) => void = () => {},
): Rebuild {
  const feed = streams.find(stream => stream.kind === 'feed')!
  const logs = streams.filter(stream => stream.kind === 'log')
  const roomLog = logs.find(({ writes }) => writes.includes(roomEvent))!
  const widgets = logs.filter(({ writes }) => writes.includes(widgetEvent))
  return async (place, raw, put) => {
    const life = watchLife()
    const readEvent = eventReader(feed, roomLog, place, settings, onReject)
    for await (const batch of raw.events) {
      const rows: RowSet[] = []
      for (const event of batch) {
        const read = readEvent(event)
        life.see(read)
        rows.push(read.rows)
      }
      await put(mergeRows(rows))
      onRead({ events: batch.length, items: 0 })
    }
    for (const widget of widgets) {
      const readItems = itemReader(widget, place, settings, onReject)
      for await (const batch of raw.items(widget.operation.name)) {
        for (const rows of readItems(batch)) await put(rows)
        onRead({ events: 0, items: batch.length })
      }
    }
    return raw.stored && judgeRoom(raw.stored, life.evidence())
  }
}

/**
 * Reads stored events of one incarnation of a room one by one, in the order of the log, as the streams read them when
 * they came: what the log has shown as its log, with all that this remembers, what only the feed has shown as the feed.
 *
 * When an event without a time of its own happened was told by the answer in which it was first seen, or by its
 * neighbours then. That stands in the raw row, so each event comes in an answer of its own, given at that time, and no
 * neighbour is asked.
 */
function eventReader(
  feed: FeedStream,
  roomLog: LogStream,
  { room, incarnation }: Incarnation,
  settings: ReadingSettings,
  onReject: (reject: Reject) => void,
): (event: StoredEvent) => ReadEvent {
  let streamState: Json = { incarnation }
  let cursor: string | null = null

  function readLog(page: Page): RowSet {
    const read = roomLog.toRows({ ...page, series: room, cursor }, streamState)
    streamState = withoutTime(read.streamState)
    cursor = onwards
    read.rejects.forEach(onReject)
    return read.rows
  }

  function readFeed(page: Page): RowSet {
    const { rows, rejects } = feed.toRows(page, null)
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

/**
 * Reads stored items of one widget of one incarnation of a room again, in the order of the log, with all that the
 * stream remembers from the beginning. An item that tells no time got that of the answer in which it was first heard
 * of, if the log had been read to its end before; neither is kept. Its rows say `untold` instead.
 *
 * An item without a number has its place in the log, counted with those that were set aside and not kept: so items make
 * a page of their own, with the rows of one page together, wherever a place is left out.
 */
function itemReader(
  stream: LogStream,
  { room, incarnation }: Incarnation,
  settings: ReadingSettings,
  onReject: (reject: Reject) => void,
): (items: readonly StoredItem[]) => readonly RowSet[] {
  let streamState = WidgetState.parse({ incarnation })

  function readRun(run: readonly StoredItem[]): RowSet {
    const page: Page = {
      series: room,
      cursor: onwards,
      purpose: 'read',
      items: run.map(({ data }) => data),
      nextId: onwards,
      answeredAt: untold,
      receivedAt: run[0]!.receivedAt,
      settings,
    }
    const first = run[0]!.position
    // A place beyond 2^53 is a number that the item has itself.
    const position = Number.isSafeInteger(first) ? Number(first) : 0
    const known: WidgetState = { ...streamState, fold: { ...(streamState.fold ?? beginning), position } }
    // On the last page of a log that had been read to its end everything is new and told at once; but only a page
    // that others follow counts among what came before them.
    const { rows, rejects } = stream.toRows(
      { ...page, nextId: undefined },
      { ...known, caughtUp: true, seen: null },
    )
    rejects.forEach(onReject)
    streamState = readState<WidgetState & Json>(WidgetState, stream.toRows(page, known).streamState)
    const { 'classroom.widget_event': _, ...derived } = rows
    return derived
  }

  return items => runsOf(items).map(readRun)
}

/** Items whose places follow each other. */
function runsOf(items: readonly StoredItem[]): readonly (readonly StoredItem[])[] {
  const runs: StoredItem[][] = []
  for (const item of items) {
    const last = runs.at(-1)?.at(-1)
    if (last && after(last.position) === item.position) runs.at(-1)!.push(item)
    else runs.push([item])
  }
  return runs
}

/** What one event becomes when it is read again. */
interface ReadEvent {
  readonly event: StoredEvent
  /** Of the derived tables. */
  readonly rows: RowSet
  /** What it says of its room. */
  readonly room: RoomRow | undefined
  /** The provider's own time inside it, ms since the epoch. */
  readonly ownTime: number | null
}

/** What events say of their room, taken together. Times are ms since the epoch. */
interface Life {
  readonly state: number | null
  readonly stateSequence: Sequence | null
  readonly startedAt: number | null
}

/** What the events of one incarnation say of it. */
interface Evidence {
  /** By all events, and by those alone that the log has shown. */
  readonly all: Life
  readonly log: Life
  /** Changes of state after the last one of the log that only the feed has shown. */
  readonly unconfirmed: readonly Pick<Life, 'state' | 'stateSequence'>[]
  /** Whether the beginning of the class says when that was. */
  readonly isStartTold: boolean
}

/**
 * Holds the stored row of a room against its events. What they tell themselves must be so: the state, when the class
 * began, and that it has not ended. Other times are estimates of the answers that brought the events, and stay.
 */
function judgeRoom(
  stored: StoredRoom,
  { all, log, unconfirmed, isStartTold }: Evidence,
): RoomFault | undefined {
  // What only the feed has told counts only where the same answer contradicted nothing, which nobody kept.
  const told = [log, ...unconfirmed]
  const isStateRight = told.some(
    each => each.state === stored.state && each.stateSequence === stored.state_sequence,
  )
  const { state } = isStateRight ? stored : all
  const startedAt = stored.started_at
  const isEstimate = all.startedAt !== null && !isStartTold
  const right: Readonly<Record<RoomColumn, boolean>> = {
    state: isStateRight || stored.state === all.state,
    state_sequence: isStateRight || stored.state_sequence === all.stateSequence,
    started_at: isEstimate || startedAt === all.startedAt || startedAt === log.startedAt,
    ended_at: isOver(state) || stored.ended_at === null,
  }
  const columns = (Object.keys(right) as RoomColumn[]).filter(column => !right[column])
  if (columns.length === 0) return undefined
  const { state: wanted, stateSequence, startedAt: began } = all
  return {
    columns,
    wanted: { state: wanted, state_sequence: stateSequence, started_at: began, ended_at: null },
  }
}

const unborn: Life = { state: null, stateSequence: null, startedAt: null }

/** Takes the events of one incarnation in the order of the log. */
function watchLife(): { readonly see: (read: ReadEvent) => void; readonly evidence: () => Evidence } {
  let [all, log] = [unborn, unborn]
  let unconfirmed: Evidence['unconfirmed'] = []
  let isStartTold = false
  return {
    see: ({ event, room, ownTime }) => {
      if (!room) return
      const { state, state_sequence: stateSequence } = room
      all = grow(all, room)
      if (event.source === 'log') log = grow(log, room)
      if (stateSequence === null) return
      unconfirmed = event.source === 'log' ? [] : [...unconfirmed, { state, stateSequence }]
      if (room.started_at) isStartTold ||= ownTime !== null
    },
    evidence: () => ({ all, log, unconfirmed, isStartTold }),
  }
}

/** As the commit merges what a later event says into what is known of a room. */
function grow(life: Life, { state, state_sequence: stateSequence, started_at }: RoomRow): Life {
  const startedAt = least(life.startedAt, started_at)
  return stateSequence === null ? { ...life, startedAt } : { state, stateSequence, startedAt }
}

function least(known: number | null, told: Timestamp | null): number | null {
  if (told === null) return known
  return known === null ? Date.parse(told) : Math.min(known, Date.parse(told))
}

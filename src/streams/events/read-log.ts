import type { RowSet } from '../../tables/index.ts'
import type { Timestamp } from '../../tables/json.ts'
import { mostHoles, readsUntilAbsent, type Tally, tallyHoles, type Walk, walkOn } from '../holes.ts'
import { highest, type Sequence } from '../sequence.ts'
import type { Hint, Page } from '../stream.ts'
import type { ToRowsWith } from '../stream-state.ts'
import { latestBelieved, notAfter } from '../times.ts'
import { eventRows } from './event-rows.ts'
import { answerTime, lastOf, type PlacedEvent } from './event-time.ts'
import type { LogFold, LogState } from './log-state.ts'
import type { EventPage, EventPlace, RoomEvent } from './read-events.ts'
import { assignStops } from './recording-state.ts'
import { toldState } from './room-rows.ts'

/** Reads one page of a room's log, knowing what the pages before it said. */
export function readLog(
  page: Page,
  { events, places, rejects }: EventPage,
  streamState: LogState,
  fold: LogFold,
): ToRowsWith<LogState> {
  const { placed, lastTime } = place(events, page, streamState, fold)
  const { rows, recordId } = rowsOf(placed, page, fold.recordId)
  const walk = walkPage(places, page, streamState, fold)
  const seen = highest(streamState.seen, walk.last)
  const read = { ...streamState, seen, sparse: streamState.sparse || walk.holes.length > mostHoles }
  const common = {
    rows,
    rejects,
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: false },
    follow: 'next',
    hints: hintsOf(rows, placed, page, streamState.seen),
  } as const
  if (page.nextId !== undefined) {
    const onwards = { lastTime, lastSequence: walk.last, recordId, holes: read.sparse ? [] : walk.holes }
    return { ...common, streamState: { ...read, fold: onwards }, unfinished: false }
  }
  const tally = read.sparse
    ? []
    : tallyHoles(walk.holes, streamState.tally, streamState.rereading ? 'again' : 'same')
  return {
    ...common,
    streamState: {
      ...read,
      fold: page.cursor === null ? null : fold,
      caughtUp: true,
      rereading: false,
      tally,
    },
    holes: tally.map(([from, to, reads]) => ({
      from,
      to,
      state: reads < readsUntilAbsent ? 'open' : 'absent',
    })),
    unfinished: isDoubtful(tally),
  }
}

/** Whether too few readings have shown some hole to call it natural. */
export function isDoubtful(tally: readonly Tally[]): boolean {
  return tally.some(([, , reads]) => reads < readsUntilAbsent)
}

/**
 * When the events happened. Where one has no time of its own: on the live end of a log that had been read up
 * to there, when the answer came; before that, the latest time that the log has told so far. A time later than
 * the answer is not believed for others.
 */
function place(
  events: readonly RoomEvent[],
  page: Page,
  { caughtUp, seen }: LogState,
  fold: LogFold,
): { readonly placed: readonly PlacedEvent[]; readonly lastTime: Timestamp | null } {
  const answered = answerTime(page)
  const latest = latestBelieved(page)
  const isEnd = caughtUp && page.nextId === undefined
  let { lastTime } = fold
  const placed = events.map((event): PlacedEvent => {
    const ownTime = notAfter(latest, event.reading.ownTime)
    if (ownTime !== null) {
      if (ownTime <= answered.at && ownTime > (lastTime ?? '')) lastTime = ownTime
      return { event, at: ownTime, at_source: 'event', firm: true }
    }
    const firm = isAfter(event.sequence, seen)
    if (lastTime === null || (isEnd && firm)) return { event, ...answered, firm }
    return { event, at: lastTime, at_source: 'neighbour', firm }
  })
  return { placed, lastTime }
}

function rowsOf(
  placed: readonly PlacedEvent[],
  page: Page,
  before: string | null,
): { readonly rows: RowSet; readonly recordId: string | null } {
  const rows = eventRows(placed, page)
  const stops = rows['classroom.recording_state_change']
  if (!stops) return { rows, recordId: before }
  const { changes, last } = assignStops(stops, before)
  return { rows: { ...rows, 'classroom.recording_state_change': changes }, recordId: last }
}

/** Where one numbering runs over all rooms, or this log is known to be sparse, a hole means nothing. */
function walkPage(places: readonly EventPlace[], page: Page, streamState: LogState, fold: LogFold): Walk {
  const sequences = places.map(({ sequence }) => sequence)
  const walk = walkOn({ last: fold.lastSequence, holes: fold.holes }, sequences)
  const isDense = page.settings.sequenceScope === 'room' && !streamState.sparse
  return isDense ? walk : { ...walk, holes: [] }
}

/** Only what was not read before is news, so that a log that stands still keeps no one awake. */
function hintsOf(
  rows: RowSet,
  placed: readonly PlacedEvent[],
  page: Page,
  seen: Sequence | null,
): readonly Hint[] {
  const fresh = placed.filter(({ event }) => isAfter(event.sequence, seen))
  if (fresh.length === 0) return []
  const hint = { room: page.series, change: 'news', at: lastOf(fresh), streams: 'all' } as const
  const [room] = rows['classroom.room'] ?? []
  const state = toldState(room, rows['classroom.room_state_change'] ?? [], hint.at)
  return state && isAfter(state.sequence, seen) ? [{ ...hint, state }] : [hint]
}

function isAfter(sequence: Sequence, seen: Sequence | null): boolean {
  return seen === null || sequence > seen
}

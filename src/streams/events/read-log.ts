import { z } from 'zod'
import { EventRecord } from '../../provider/classroom/index.ts'
import type { RowSet } from '../../tables/index.ts'
import type { Timestamp } from '../../tables/json.ts'
import { type Hint, type Hole, isLast, type Page } from '../page.ts'
import {
  highest,
  mostHoles,
  readsApart,
  readsUntilAbsent,
  type Sequence,
  type Tally,
  tallyHoles,
  type Walk,
  walkOn,
} from '../parts/holes.ts'
import type { ToRowsWith } from '../parts/stream-state.ts'
import { latestBelieved, notAfter } from '../parts/values.ts'
import { announcedBy, answerTime, lastOf, type PlacedEvent, type RoomEvent } from './event.ts'
import { eventRows, toldState } from './event-rows.ts'
import type { EventPage, EventPlace } from './read-events.ts'
import { assignStops } from './states.ts'

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
  const [lowest, last] = [places[0]?.sequence, places.at(-1)?.sequence]
  const read = { ...streamState, seen, sparse: streamState.sparse || walk.holes.length > mostHoles }
  const common = {
    rows,
    rejects,
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: false },
    follow: 'next',
    hints: hintsOf(rows, placed, page, streamState.seen),
  } as const
  if (page.nextId !== undefined) {
    const first = page.cursor === null ? lowest : fold.first
    const onwards = { lastTime, lastSequence: walk.last, recordId, holes: read.sparse ? [] : walk.holes }
    const begun = first === undefined ? onwards : { first, ...onwards }
    return { ...common, streamState: { ...read, fold: begun }, unfinished: false }
  }
  const here = { ...read, fold: page.cursor === null ? null : fold }
  // Where in the log it leads is not known: nothing is concluded, and it goes on from this page, or from the beginning.
  if (page.looping) return { ...common, streamState: here, unfinished: false }
  if (page.cursor !== null && last !== undefined && fold.first !== undefined && last < fold.first)
    return { ...common, streamState: { ...here, isBackwards: true }, isBackwards: true, unfinished: false }
  const { isBackwards: _, ...forwards } = here
  const readAt = Date.parse(answerTime(page).at)
  const isAgain = streamState.rereading && readAt - streamState.countedAt >= readsApart
  const tally = read.sparse ? [] : tallyHoles(walk.holes, streamState.tally, isAgain ? 'again' : 'same')
  return {
    ...common,
    streamState: {
      ...forwards,
      caughtUp: true,
      rereading: false,
      tally,
      countedAt: isAgain && isDoubtful([...streamState.tally, ...tally]) ? readAt : streamState.countedAt,
    },
    holes: holesOf(tally),
    unfinished: isDoubtful(tally),
  }
}

/** The holes that a complete reading has shown. */
export function holesOf(tally: readonly Tally[]): readonly Hole[] {
  return tally.map(([from, to, reads]) => ({ from, to, state: reads < readsUntilAbsent ? 'open' : 'absent' }))
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
  const isEnd = caughtUp && isLast(page)
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
  const hint = { room: page.series, change: 'news', at: lastOf(fresh), streams: announcedBy(fresh) } as const
  const [room] = rows['classroom.room'] ?? []
  const state = toldState(room, rows['classroom.room_state_change'] ?? [], hint.at)
  // What a class came to is read by all when it is over.
  return state && isAfter(state.sequence, seen) ? [{ ...hint, streams: 'all', state }] : [hint]
}

function isAfter(sequence: Sequence, seen: Sequence | null): boolean {
  return seen === null || sequence > seen
}

const SequenceNumber = EventRecord.shape.sequence

/** What has been learned of a log up to the beginning of a page. */
const LogFold = z.object({
  /** Lowest sequence on the first page of the log. */
  first: SequenceNumber.exactOptional(),
  /** Latest of the provider's own times so far. */
  lastTime: z.string().nullable(),
  lastSequence: SequenceNumber.nullable(),
  /** The recording last started: a stop names none. */
  recordId: z.string().nullable(),
  holes: z.array(z.tuple([SequenceNumber, SequenceNumber]).readonly()).readonly(),
})
type LogFold = z.infer<typeof LogFold>

export const LogState = z.object({
  incarnation: z.int().min(1).default(1),
  /** By its first events a room is known again: a Fingerprint. */
  fingerprint: z.string().default(''),
  /** What the pages read since the beginning have shown of it; null: just that. */
  begun: z.string().nullable().default(null),
  /** They are not those of the room that is known: the log must be read from its beginning, which opens another. */
  isOther: z.boolean().default(false),
  /** State before the page at the stored cursor; null while that is the beginning. */
  fold: LogFold.nullable().default(null),
  /** Highest sequence that has been read. */
  seen: SequenceNumber.nullable().default(null),
  /** The log has been read to its end: what comes after `seen` on the last page is new. */
  caughtUp: z.boolean().default(false),
  /** It is told from its end to its beginning: its first page has other events each time. */
  isBackwards: z.literal(true).exactOptional(),
  /** What was known at the stored cursor is lost: the log must be read from its beginning. */
  lost: z.boolean().default(false),
  /** A reading from the beginning is under way. */
  rereading: z.boolean().default(false),
  /** Holes that complete readings have shown, as [from, to, readings]. */
  tally: z
    .array(z.tuple([SequenceNumber, SequenceNumber, z.int()]).readonly())
    .readonly()
    .default([]),
  /** When they were counted last, by the provider's clock, ms since the epoch. */
  countedAt: z.number().default(0),
  /** Too many holes: the numbering of this log is not dense, and holes in it mean nothing. */
  sparse: z.boolean().default(false),
})
export type LogState = z.infer<typeof LogState>

export const beginning: LogFold = { lastTime: null, lastSequence: null, recordId: null, holes: [] }

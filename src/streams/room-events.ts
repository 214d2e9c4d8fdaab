import { createHash } from 'node:crypto'
import { roomEvents as operation } from '../provider/classroom/index.ts'
import { eventTables } from '../tables/classroom.ts'
import type { RoomEvent } from './events/event.ts'
import { type EventPage, readEvents } from './events/read-events.ts'
import { beginning, holesOf, isDoubtful, LogState, readLog } from './events/read-log.ts'
import type { Page } from './page.ts'
import { roomCadence } from './parts/cadence.ts'
import { canonicalJson } from './parts/items.ts'
import { nothingNew, readState, restart, type ToRowsWith, withState } from './parts/stream-state.ts'
import type { LogStream } from './stream.ts'

/**
 * The log of one room (operation 9): in order and replayable, and so the truth about the room. The stored
 * cursor is the nextId of the last page and the fold is what was known before that page: the page is simply
 * read again and shows what was appended to it.
 */
export const roomEvents: LogStream = {
  kind: 'log',
  name: 'room-events',
  title: 'The log of each room',
  operation,
  writes: eventTables,
  read: operation.readBatch,
  source: 'log',
  scope: 'room',
  isParent: true,
  ...roomCadence('30s'),
  share: 3 / 4,
  request: cursor => (cursor === null ? {} : { nextId: cursor }),
  toRows: withState(LogState, toRows),
  rewind: stored => ({ ...readState(LogState, stored), fold: null, lost: false, rereading: false }),
  rereads: stored => {
    const { lost, tally } = readState(LogState, stored)
    return lost || isDoubtful(tally)
  },
  again: stored => {
    const streamState = readState(LogState, stored)
    const { tally } = streamState
    return { ...nothingNew(streamState), holes: holesOf(tally), unfinished: isDoubtful(tally) }
  },
}

function toRows(page: Page, streamState: LogState): ToRowsWith<LogState> {
  const read = readEvents(page.items, page.series)
  if (page.cursor === null) return rowsOfBeginning(page, read, streamState)
  if (!streamState.fold) return restart(streamState)
  // Whose beginning is not remembered learns it when it is read from there again.
  if (streamState.begun.length === 0) return readLog(page, read, streamState, streamState.fold)
  const begun = begin(streamState.begun, read.events)
  const verdict = recognise(streamState.fingerprint, begun)
  if (verdict === 'other') return { ...restart({ ...streamState, isOther: true }), isUndecided: true }
  const fingerprint = extendFingerprint(streamState.fingerprint, begun)
  const log = readLog(page, read, { ...streamState, begun, fingerprint }, streamState.fold)
  return isOpen(verdict, page) ? { ...log, isUndecided: true } : log
}

/** What comes after the page will tell whose log it is. */
function isOpen(verdict: ReturnType<typeof recognise>, { nextId }: Page): boolean {
  return verdict === 'alike' && nextId !== undefined
}

/** The first page of a log tells whether the room is still the one that is known, or what follows must tell. */
function rowsOfBeginning(page: Page, read: EventPage, streamState: LogState): ToRowsWith<LogState> {
  const begun = begin([], read.events)
  const verdict = recognise(streamState.fingerprint, begun)
  if (verdict === 'other' || (streamState.isOther && verdict !== 'undecided'))
    return openRoom(page, read, streamState)
  const fingerprint = extendFingerprint(streamState.fingerprint, begun)
  const started = { ...streamState, fingerprint, begun, lost: false, rereading: true }
  const log = readLog(page, read, started, beginning)
  // A reading that is under way will tell, and would never end if it began anew each time.
  const isUnderWay = page.isUnderWay === true && (streamState.rereading || !streamState.caughtUp)
  const isTold = verdict === 'same' || (verdict === 'alike' && isUnderWay)
  const isOnlyLook = isTold && page.purpose === 'probe' && page.nextId !== undefined
  if (verdict === 'undecided' && page.items.length === 0)
    return { ...look(log, streamState), isUndecided: true }
  if (verdict === 'undecided' || isOnlyLook) return look(log, streamState)
  return isOpen(verdict, page) ? { ...log, isUndecided: true } : log
}

/** Keeps what was read, and the place where reading stands. */
function look({ rows, rejects, room }: ToRowsWith<LogState>, streamState: LogState): ToRowsWith<LogState> {
  return { rows, rejects, room, streamState, follow: 'stay', hints: [], unfinished: false }
}

/** The roomUuid is in use again: another room, with a log of its own. */
function openRoom(page: Page, read: EventPage, { incarnation }: LogState): ToRowsWith<LogState> {
  const begun = begin([], read.events)
  const streamState = {
    ...LogState.parse({ incarnation: incarnation + 1, fingerprint: begun, begun }),
    rereading: true,
  }
  const log = readLog(page, read, streamState, beginning)
  return {
    ...log,
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: true },
  }
}

type Fingerprint = LogState['fingerprint']
type Mark = Fingerprint[number]

const fingerprintLength = 10

/** Enough to tell two events apart, and short enough to be kept ten times a room. */
const hashLength = 16

/**
 * Whether a log belongs to the room that is known, by the marks of its first events. Events that share a sequence must be
 * of the same type and time; a log that shares none has started over. Where no event has a time of its own, what they say
 * decides: one that says something else was told otherwise, most of them are those of another room, and fewer than ten
 * may be `alike` by chance, as a page of one event is. A log without events decides nothing about a known room.
 */
function recognise(known: Fingerprint, begun: Fingerprint): 'new' | 'same' | 'alike' | 'other' | 'undecided' {
  if (known.length === 0) return 'new'
  if (begun.length === 0) return 'undecided'
  const bySequence = new Map(begun.map(mark => [mark[0], mark]))
  const common = known.flatMap(mark => {
    const other = bySequence.get(mark[0])
    return other ? [compare(mark, other)] : []
  })
  if (common.length === 0 || common.includes('another')) return 'other'
  if (common.includes('same time')) return 'same'
  const changed = common.filter(likeness => likeness === 'other words').length
  if (changed > 1 && changed > common.length / 2) return 'other'
  return common.length < fingerprintLength ? 'alike' : 'same'
}

type Likeness = 'another' | 'same time' | 'same words' | 'other words'

function compare([, cmd, time, hash]: Mark, [, otherCmd, otherTime, otherHash]: Mark): Likeness {
  if (otherCmd !== cmd || otherTime !== time) return 'another'
  if (time !== null) return 'same time'
  return hash === null || hash === otherHash ? 'same words' : 'other words'
}

/** The marks of the first events of a log, up to ten, after those of the pages before. */
function begin(before: Fingerprint, events: readonly RoomEvent[]): Fingerprint {
  if (before.length >= fingerprintLength) return before
  const marked = new Set(before.map(([sequence]) => sequence))
  const fresh = events.filter(({ sequence }) => !marked.has(sequence))
  return [...before, ...fresh.slice(0, fingerprintLength - before.length).map(markOf)]
}

/** By the first events of a log it is known again; the longer the better. What is known stays. */
function extendFingerprint(known: Fingerprint, begun: Fingerprint): Fingerprint {
  if (begun.length < known.length) return known
  const bySequence = new Map(known.map(mark => [mark[0], mark]))
  return begun.map(mark => {
    const known = bySequence.get(mark[0])
    return known?.[3] ? known : mark
  })
}

function markOf(event: RoomEvent): Mark {
  const { ownTime } = event.reading
  return [event.sequence, event.cmd, ownTime, ownTime === null ? hashOf(event) : null]
}

function hashOf({ data }: RoomEvent): string {
  return createHash('sha256').update(canonicalJson(data)).digest('hex').slice(0, hashLength)
}

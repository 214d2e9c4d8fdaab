import { roomEvents as operation } from '../provider/classroom/index.ts'
import { eventTables } from '../tables/classroom.ts'
import { begin, extendFingerprint, recognise } from './events/fingerprint.ts'
import { type EventPage, readEvents } from './events/read-events.ts'
import { beginning, holesOf, isDoubtful, LogState, readLog } from './events/read-log.ts'
import type { Page } from './page.ts'
import { roomCadence } from './parts/cadence.ts'
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

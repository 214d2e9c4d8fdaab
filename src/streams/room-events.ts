import { hash } from 'node:crypto'
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
  rereads: (stored, room) => {
    const { lost, tally } = readState(LogState, stored)
    return lost || isDoubtful(tally) || (room === 'doubtful' && tally.length > 0)
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
  const before = begunOf(streamState)
  if (before === '') return readLog(page, read, streamState, streamState.fold)
  const begun = begin(before, read.events, streamState.fingerprint)
  const verdict = recognise(streamState.fingerprint, begun)
  if (verdict === 'other') return { ...restart({ ...streamState, isOther: true }), isUndecided: true }
  const log = readLog(page, read, { ...streamState, ...known(streamState, begun) }, streamState.fold)
  return isOpen(verdict, page) ? { ...log, isUndecided: true } : log
}

function begunOf({ begun, fingerprint }: LogState): Fingerprint {
  return begun ?? fingerprint
}

/** What is known of the beginning of a log when a reading has shown it. */
function known(streamState: LogState, begun: Fingerprint): Pick<LogState, 'fingerprint' | 'begun'> {
  const fingerprint = extendFingerprint(streamState.fingerprint, begun)
  return { fingerprint, begun: begun === fingerprint ? null : begun }
}

/** What comes after the page will tell whose log it is, or what will be there later. */
function isOpen(verdict: ReturnType<typeof recognise>, { nextId }: Page): boolean {
  return verdict === 'short' || (verdict === 'alike' && nextId !== undefined)
}

/** The first page of a log tells whether the room is still the one that is known, or what follows must tell. */
function rowsOfBeginning(page: Page, read: EventPage, stored: LogState): ToRowsWith<LogState> {
  const isEndFirst = stored.isBackwards === true && page.nextId !== undefined
  const streamState = isEndFirst ? { ...stored, fingerprint: '', isOther: false } : stored
  const begun = begin('', read.events, streamState.fingerprint)
  const verdict = recognise(streamState.fingerprint, begun)
  if (verdict === 'other' || (streamState.isOther && verdict !== 'undecided'))
    return openRoom(page, read, streamState)
  const started = { ...streamState, ...known(streamState, begun), lost: false, rereading: true }
  const log = readLog(page, read, started, beginning)
  // A reading that is under way will tell, and would never end if it began anew each time.
  const isUnderWay = page.isUnderWay === true && (streamState.rereading || !streamState.caughtUp)
  const isTold = verdict === 'same' || ((verdict === 'alike' || verdict === 'short') && isUnderWay)
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
  const streamState = {
    ...LogState.parse({ incarnation: incarnation + 1, fingerprint: begin('', read.events, '') }),
    rereading: true,
  }
  const log = readLog(page, read, streamState, beginning)
  return {
    ...log,
    room: { kind: 'incarnation', incarnation: streamState.incarnation, opens: true },
  }
}

/**
 * Marks of the first ten events of a log and, where none of them has a time of its own, of the first one after them that has,
 * with spaces between them: sequence, cmd, and the event's own time (ms in base 36) or, behind a tilde, a hash of its data. It is
 * one text because it is stored with every page: as lists it would be most of what is written of a log that stands still.
 */
type Fingerprint = string

interface Mark {
  readonly sequence: string
  readonly cmd: string
  /** Undefined of an event that has no time of its own. */
  readonly time: string | undefined
  /** Of the data of such an event; empty where nobody has kept it. */
  readonly hash: string
  readonly text: string
}

const fingerprintLength = 10

/** Enough to tell two events apart, and short enough to be kept ten times a room. */
const hashLength = 16

/**
 * Whether a log belongs to the room that is known, by the marks of its first events. Events that share a sequence must be
 * of the same type and time; a log that shares none has started over. Where no event has a time of its own, what they say
 * decides: one that says something else was told otherwise, most of them are those of another room, and fewer than ten
 * may be `alike` by chance, as a page of one event is. So may ten be where the same people come before each class: a log is
 * too `short` to tell while it does not reach the first event that is known to have a time. A log without events decides
 * nothing about a known room.
 */
function recognise(known: Fingerprint, begun: Fingerprint): Verdict {
  if (known === '') return 'new'
  if (begun === '') return 'undecided'
  const bySequence = marksBySequence(begun)
  const common = marksOf(known).flatMap(mark => {
    const other = bySequence.get(mark.sequence)
    return other ? [compare(mark, other)] : []
  })
  if (common.length === 0 || common.includes('another')) return 'other'
  if (common.includes('same time')) return 'same'
  const changed = common.filter(likeness => likeness === 'other words').length
  if (changed > 1 && changed > common.length / 2) return 'other'
  if (common.length < fingerprintLength) return 'alike'
  return hasTime(marksOf(known)) ? 'short' : 'same'
}

type Verdict = 'new' | 'same' | 'alike' | 'short' | 'other' | 'undecided'

type Likeness = 'another' | 'same time' | 'same words' | 'other words'

function compare(known: Mark, other: Mark): Likeness {
  if (other.cmd !== known.cmd || other.time !== known.time) return 'another'
  if (known.time !== undefined) return 'same time'
  return known.hash === '' || known.hash === other.hash ? 'same words' : 'other words'
}

/**
 * The marks of the first events of a log after those of the pages before, and of the one by whose time a known log is known.
 * `known`: the fingerprint that it is compared with.
 */
function begin(before: Fingerprint, events: readonly RoomEvent[], known: Fingerprint): Fingerprint {
  const marks = marksOf(before)
  const marked = new Set(marks.map(({ sequence }) => sequence))
  const fresh = events.filter(({ sequence }) => !marked.has(String(sequence)))
  const count = Math.max(0, fingerprintLength - marks.length)
  const [first, later] = [fresh.slice(0, count), fresh.slice(count)]
  const isTimed = ({ reading }: RoomEvent) => reading.ownTime !== null
  const isDated = hasTime(marks) || first.some(isTimed)
  const dated = isDated ? undefined : later.find(isTimed)
  const dates = new Set(
    marksOf(known)
      .filter(({ time }) => time !== undefined)
      .map(({ sequence }) => sequence),
  )
  const more = [...first, ...later.filter(event => event === dated || dates.has(String(event.sequence)))]
  return [...marks.map(({ text }) => text), ...more.map(markOf)].join(' ')
}

function hasTime(marks: readonly Mark[]): boolean {
  return marks.some(({ time }) => time !== undefined)
}

/** By the first events of a log it is known again; the longer the better. What is known stays. */
function extendFingerprint(known: Fingerprint, begun: Fingerprint): Fingerprint {
  if (known === '') return begun
  const [before, marks] = [marksBySequence(known), marksOf(begun)]
  const isWhole = before.size > fingerprintLength && hasTime([...before.values()])
  if (isWhole || marks.length < before.size) return known
  return marks
    .map(mark => {
      const known = before.get(mark.sequence)
      return known?.hash ? known.text : mark.text
    })
    .join(' ')
}

function marksOf(fingerprint: Fingerprint): readonly Mark[] {
  if (fingerprint === '') return []
  return fingerprint.split(' ').map(text => {
    const [sequence = '', cmd = '', told = ''] = text.split('.')
    const isTimed = !told.startsWith('~')
    return { sequence, cmd, time: isTimed ? told : undefined, hash: isTimed ? '' : told.slice(1), text }
  })
}

function marksBySequence(fingerprint: Fingerprint): ReadonlyMap<string, Mark> {
  return new Map(marksOf(fingerprint).map(mark => [mark.sequence, mark]))
}

function markOf(event: RoomEvent): string {
  const { ownTime } = event.reading
  const told = ownTime === null ? `~${hashOf(event)}` : Date.parse(ownTime).toString(36)
  return `${event.sequence}.${event.cmd}.${told}`
}

function hashOf({ data }: RoomEvent): string {
  return hash('sha256', canonicalJson(data), 'hex').slice(0, hashLength)
}

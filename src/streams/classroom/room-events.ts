import { eventBatch, roomEvents as operation } from '../../provider/classroom/index.ts'
import { type HarvestWith, readCarry, withCarry } from '../carry.ts'
import { begin, extendFingerprint, recognise } from '../events/fingerprint.ts'
import { beginning, LogCarry } from '../events/log-carry.ts'
import { type EventPage, readEvents } from '../events/read-events.ts'
import { isDoubtful, readLog } from '../events/read-log.ts'
import { restart } from '../restart.ts'
import type { Page, QueueStream } from '../stream.ts'

/**
 * The log of one room (operation 9): in order and replayable, and so the truth about the room. The stored
 * cursor is the nextId of the last page and the fold is what was known before that page: the page is simply
 * read again and shows what was appended to it.
 */
export const roomEvents: QueueStream = {
  kind: 'queue',
  name: 'room-events',
  title: 'The log of each room',
  operation,
  read: eventBatch.read,
  source: 'log',
  scope: 'room',
  request: cursor => (cursor === null ? {} : { nextId: cursor }),
  harvest: withCarry(LogCarry, harvest),
  rewind: stored => ({ ...readCarry(LogCarry, stored), fold: null, lost: false, rereading: false }),
  rereads: stored => {
    const { lost, tally } = readCarry(LogCarry, stored)
    return lost || isDoubtful(tally)
  },
}

function harvest(page: Page, carry: LogCarry): HarvestWith<LogCarry> {
  const read = readEvents(page.items, page.series)
  if (page.cursor === null) return harvestBeginning(page, read, carry)
  if (!carry.fold) return restart(carry)
  // Whose beginning is not remembered learns it when it is read from there again.
  if (carry.begun.length === 0) return readLog(page, read, carry, carry.fold)
  const begun = begin(carry.begun, read.events)
  if (recognise(carry.fingerprint, begun) === 'other') return restart({ ...carry, isOther: true })
  const fingerprint = extendFingerprint(carry.fingerprint, begun)
  return readLog(page, read, { ...carry, begun, fingerprint }, carry.fold)
}

/** The first page of a log tells whether the room is still the one that is known, or what follows must tell. */
function harvestBeginning(page: Page, read: EventPage, carry: LogCarry): HarvestWith<LogCarry> {
  const begun = begin([], read.events)
  const verdict = recognise(carry.fingerprint, begun)
  if (verdict === 'other' || (carry.isOther && verdict !== 'undecided')) return openRoom(page, read, carry)
  const fingerprint = extendFingerprint(carry.fingerprint, begun)
  const started = { ...carry, fingerprint, begun, lost: false, rereading: true }
  const log = readLog(page, read, started, beginning)
  // A reading that is under way will tell, and would never end if it began anew each time.
  const isTold = verdict === 'same' || (verdict === 'alike' && (carry.rereading || !carry.caughtUp))
  const isOnlyLook = isTold && page.purpose === 'probe' && page.nextId !== undefined
  if (verdict === 'undecided' && page.items.length === 0) return { ...look(log, carry), isUndecided: true }
  if (verdict === 'undecided' || isOnlyLook) return look(log, carry)
  return log
}

/** Keeps what was read, and the place where reading stands. */
function look({ rows, rejects, room }: HarvestWith<LogCarry>, carry: LogCarry): HarvestWith<LogCarry> {
  return { rows, rejects, room, carry, follow: 'stay', hints: [], unfinished: false }
}

/** The roomUuid is in use again: another room, with a log of its own. */
function openRoom(page: Page, read: EventPage, { incarnation }: LogCarry): HarvestWith<LogCarry> {
  const begun = begin([], read.events)
  const carry = {
    ...LogCarry.parse({ incarnation: incarnation + 1, fingerprint: begun, begun }),
    rereading: true,
  }
  const log = readLog(page, read, carry, beginning)
  return {
    ...log,
    room: { kind: 'incarnation', incarnation: carry.incarnation, opens: true },
    hints: log.hints.map(hint => ({ ...hint, streams: ['room-events', ...hint.streams] })),
  }
}

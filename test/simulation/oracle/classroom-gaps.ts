import type { TrueRoom } from './classroom-truth.ts'
import type { Finding } from './examination.ts'
import type { StoredGap, Waiting } from './gaps.ts'
import { isToldTooLate, mostReadAgain } from './margins.ts'
import type { StoredSchema } from './rows.ts'

export interface GapContext {
  readonly stored: StoredSchema
  readonly gaps: readonly StoredGap[]
  readonly waiting: readonly Waiting[]
  readonly isEnd: boolean
  /** Numbers run through a room, so that one that is skipped means something. */
  readonly areDense: boolean
  /** What happened by then has been read in the end. */
  readonly until: number
  /** The room had ended so long ago, in the end or at a moment, that the provider need not know it any more: nobody asks about it again. */
  readonly isOld: (room: TrueRoom, at?: number) => boolean
  /** Its log was not to be had for so long that it was given up meanwhile. */
  readonly wasCutOff: (room: TrueRoom) => boolean
}

/** A log with more holes is not numbered densely. */
const mostHoles = 200

/**
 * Ranges of sequences are as exact as the loss: a hole reaches from neighbour to neighbour and holds nothing that ever was,
 * what went with a room is what lies between the events that are stored, and each of its holes is told of.
 */
export function examineRoomGaps(rooms: readonly TrueRoom[], context: GapContext): readonly Finding[] {
  const { stored, gaps } = context
  const kept = Map.groupBy(
    stored.get('room_event')!.rows,
    row => `${row.app_id} ${row.room_uuid} ${row.incarnation}`,
  )
  const ofRooms = gaps.filter(({ unit }) => unit === 'sequence')
  const groups = Map.groupBy(ofRooms, gap => `${gap.app} ${gap.series} ${gap.incarnation}`)
  const findings: Finding[] = []
  const places = new Map(rooms.map(room => [`${room.app} ${room.roomUuid} ${room.stored}`, room]))
  for (const [place, own] of groups) {
    const room = places.get(place)
    const sequences = new Set((kept.get(place) ?? []).map(({ sequence }) => BigInt(String(sequence))))
    for (const gap of own) {
      const fault =
        gap.incarnation === null
          ? faultOfWaiting(gap, context)
          : room
            ? (faultOf(gap, room, sequences, context) ?? overlap(gap, own))
            : 'of no room'
      if (fault) findings.push({ kind: fault === owed ? 'owed' : 'gap', text: `${describe(gap)}: ${fault}` })
    }
  }
  for (const [place, room] of places) {
    findings.push(...missingHoles(place, room, groups.get(place) ?? [], context))
  }
  return findings
}

const owed = 'still open, and could be had'

function describe({ app, stream, series, incarnation, reason, state, from, to }: StoredGap): string {
  return `${app} ${stream} ${series} ${incarnation} ${reason} ${state} ${from} to ${to}`
}

function within(sequence: number | bigint, { from, to }: StoredGap): boolean {
  return from <= sequence && sequence <= to
}

function faultOf(
  gap: StoredGap,
  room: TrueRoom,
  kept: ReadonlySet<bigint>,
  { isEnd, isOld, wasCutOff }: GapContext,
): string | undefined {
  const { stream, reason, state, from, to } = gap
  if (stream !== 'room-events') return 'no stream of sequences'
  if (from > to) return 'ends before it begins'
  const held = room.events.filter(({ sequence }) => within(sequence, gap))
  const isThere = (sequence: bigint) => room.events.some(event => BigInt(event.sequence) === sequence)
  if (state === 'repaired') {
    if (held.length === 0) return 'repaired, and nothing was ever in it'
    const unread = held.filter(({ sequence, malformed }) => !malformed && !kept.has(BigInt(sequence)))
    return unread.length === 0 ? undefined : `repaired, and ${unread.length} of its events are not stored`
  }
  if (state === 'absent') {
    // What a log tells so late may be found when it is read for the last time.
    if (held.some(event => isOld(room) || !isToldTooLate(event)))
      return `absent, and ${held.length} events are in it`
    return isThere(from - 1n) && isThere(to + 1n) ? undefined : 'does not reach from neighbour to neighbour'
  }
  const isGone = room.destroyedAt !== undefined || room.muted
  if (state === 'open') return isEnd && !isGone && !isOld(room) ? owed : undefined
  // A hole that is seen for the first time so late is not looked at often enough before its room is given up.
  const isExcused = isOld(room) && (wasCutOff(room) || isOld(room, gap.seen + mostReadAgain))
  if (!isGone && !isExcused) return 'lost, and the provider serves the room'
  if ([...kept].some(sequence => within(sequence, gap))) return 'lost, and some of it is stored'
  const isBound = (from === 1n || kept.has(from - 1n)) && kept.has(to + 1n)
  if (isBound || held.some(({ malformed }) => malformed)) return undefined
  return reason === 'hole' || reason === 'room_forgotten' || reason === 'room_reused'
    ? 'does not reach from event to event'
    : `${reason} is no reason for it`
}

function overlap(gap: StoredGap, own: readonly StoredGap[]): string | undefined {
  const isOver = ({ state }: StoredGap) => state !== 'repaired'
  const other = own.find(one => one !== gap && isOver(one) && one.from <= gap.to && one.to >= gap.from)
  return isOver(gap) && other ? `overlaps ${other.from} to ${other.to}` : undefined
}

/** What the feed told of a room that nobody can be sure of: from the first to the last of it, or from what is known. */
function faultOfWaiting(gap: StoredGap, { waiting, stored }: GapContext): string | undefined {
  if (gap.state === 'repaired') return undefined
  if (!['room_forgotten', 'room_reused'].includes(gap.reason) || gap.state !== 'lost')
    return 'no loss of a room that is forgotten or used again'
  const own = waiting.filter(({ app, room }) => app === gap.app && room === gap.series)
  const sequences = own.map(({ sequence }) => sequence)
  if (!sequences.includes(gap.to)) return 'does not end with an event that waits'
  const before = stored
    .get('room_event')!
    .rows.filter(({ app_id, room_uuid }) => app_id === gap.app && room_uuid === gap.series)
    .map(({ sequence }) => BigInt(String(sequence)) + 1n)
  const isBegin = sequences.includes(gap.from) || before.includes(gap.from)
  return isBegin ? undefined : 'begins with nothing that is known'
}

/** Of a log that is served, and so has been read again and again, each hole is told of. */
function missingHoles(
  place: string,
  room: TrueRoom,
  gaps: readonly StoredGap[],
  { isEnd, areDense, until, isOld }: GapContext,
): readonly Finding[] {
  const { events, isServed } = room
  if (!isEnd || !isServed || !areDense || isOld(room)) return []
  const read = events.filter(({ at }) => at <= until)
  const sequences = read.map(({ sequence }) => BigInt(sequence)).sort((a, b) => (a < b ? -1 : 1))
  const holes = sequences.flatMap((to, n) => {
    const from = sequences[n - 1]
    return from !== undefined && to - from > 1n ? [{ from: from + 1n, to: to - 1n }] : []
  })
  if (holes.length > mostHoles) return []
  const known = new Set(
    gaps.filter(({ state }) => state === 'absent').map(({ from, to }) => `${from} to ${to}`),
  )
  return holes
    .filter(({ from, to }) => !known.has(`${from} to ${to}`))
    .map(({ from, to }) => ({ kind: 'gap', text: `${place} hole ${from} to ${to}: not told of` }))
}

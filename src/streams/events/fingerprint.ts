import { createHash } from 'node:crypto'
import { canonicalJson } from '../parts/items.ts'
import type { RoomEvent } from './event.ts'
import type { LogState } from './read-log.ts'

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
export function recognise(
  known: Fingerprint,
  begun: Fingerprint,
): 'new' | 'same' | 'alike' | 'other' | 'undecided' {
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
export function begin(before: Fingerprint, events: readonly RoomEvent[]): Fingerprint {
  if (before.length >= fingerprintLength) return before
  const marked = new Set(before.map(([sequence]) => sequence))
  const fresh = events.filter(({ sequence }) => !marked.has(sequence))
  return [...before, ...fresh.slice(0, fingerprintLength - before.length).map(markOf)]
}

/** By the first events of a log it is known again; the longer the better. What is known stays. */
export function extendFingerprint(known: Fingerprint, begun: Fingerprint): Fingerprint {
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

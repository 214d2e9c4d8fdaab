import { createHash } from 'node:crypto'
import { canonicalJson } from '../canonical-json.ts'
import type { LogCarry } from './log-carry.ts'
import type { RoomEvent } from './read-events.ts'

type Fingerprint = LogCarry['fingerprint']

const fingerprintLength = 10

/** Enough to tell two events apart, and short enough to be kept ten times a room. */
const hashLength = 16

/**
 * Whether the first page of a log belongs to the room that is known. Events that share a sequence must be of the same
 * type and time; a log that shares none has started over. Where no event has a time of its own, what they say decides:
 * one that says something else was told otherwise, most of them are those of another room. An empty page decides
 * nothing about a known room.
 */
export function recognise(
  known: Fingerprint,
  events: readonly RoomEvent[],
): 'new' | 'same' | 'other' | 'undecided' {
  if (known.length === 0) return 'new'
  if (events.length === 0) return 'undecided'
  const bySequence = new Map(events.map(event => [event.sequence, event]))
  const common = known.flatMap(mark => {
    const event = bySequence.get(mark[0])
    return event ? [compare(mark, event)] : []
  })
  if (common.length === 0 || common.includes('another')) return 'other'
  if (common.includes('same time')) return 'same'
  const changed = common.filter(likeness => likeness === 'other words').length
  return changed > 1 && changed > common.length / 2 ? 'other' : 'same'
}

type Likeness = 'another' | 'same time' | 'same words' | 'other words'

function compare([, cmd, time, hash]: Fingerprint[number], event: RoomEvent): Likeness {
  if (event.cmd !== cmd || event.reading.ownTime !== time) return 'another'
  if (time !== null) return 'same time'
  return hash === null || hash === hashOf(event) ? 'same words' : 'other words'
}

/** The first events of a log, by which it is known again; the longer the better, up to ten. What is known stays. */
export function extendFingerprint(known: Fingerprint, events: readonly RoomEvent[]): Fingerprint {
  if (events.length < known.length) return known
  const bySequence = new Map(known.map(mark => [mark[0], mark]))
  return events.slice(0, fingerprintLength).map(event => {
    const known = bySequence.get(event.sequence)
    return known?.[3] ? known : markOf(event)
  })
}

function markOf(event: RoomEvent): Fingerprint[number] {
  const { ownTime } = event.reading
  return [event.sequence, event.cmd, ownTime, ownTime === null ? hashOf(event) : null]
}

function hashOf({ data }: RoomEvent): string {
  return createHash('sha256').update(canonicalJson(data)).digest('hex').slice(0, hashLength)
}

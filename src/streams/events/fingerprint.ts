import type { LogCarry } from './log-carry.ts'
import type { RoomEvent } from './read-events.ts'

type Fingerprint = LogCarry['fingerprint']

const fingerprintLength = 10

/**
 * Whether the first page of a log belongs to the room that is known, by what both event operations render
 * alike: sequence, type, the provider's own time. Events that share a sequence must be the same; a log that
 * shares none has started over. An empty page decides nothing about a known room.
 */
export function recognise(
  known: Fingerprint,
  events: readonly RoomEvent[],
): 'new' | 'same' | 'other' | 'undecided' {
  if (known.length === 0) return 'new'
  if (events.length === 0) return 'undecided'
  const bySequence = new Map(events.map(event => [event.sequence, event]))
  const common = known.flatMap(([sequence, cmd, time]) => {
    const event = bySequence.get(sequence)
    return event ? [event.cmd === cmd && event.reading.ownTime === time] : []
  })
  return common.length > 0 && common.every(isEqual => isEqual) ? 'same' : 'other'
}

/** The first events of a log, by which it is known again; the longer the better, up to ten. */
export function extendFingerprint(known: Fingerprint, events: readonly RoomEvent[]): Fingerprint {
  if (events.length <= known.length) return known
  return events
    .slice(0, fingerprintLength)
    .map(({ sequence, cmd, reading }) => [sequence, cmd, reading.ownTime])
}

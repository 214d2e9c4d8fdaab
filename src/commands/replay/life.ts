import { roomStates } from '../../provider/classroom/index.ts'
import type { RoomRow } from '../../rows/classroom.ts'
import type { Timestamp } from '../../rows/json.ts'
import { isOver } from '../../streams/events/room-rows.ts'
import type { Sequence } from '../../streams/sequence.ts'
import type { ReadEvent } from './events.ts'

/** What events say of their room, taken together. Times are ms since the epoch. */
export interface Life {
  readonly state: number | null
  readonly stateSequence: Sequence | null
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly firstAt: number | null
}

/** What the events of one incarnation say of it, and what decides how far the stored row may be from it. */
export interface Evidence {
  /** By all events, and by those alone that the log has shown. */
  readonly all: Life
  readonly log: Life
  /** Events that the log has shown. */
  readonly logEvents: number
  /** Changes of state after the last one of the log that only the feed has shown. */
  readonly unconfirmed: readonly { readonly state: number | null; readonly sequence: Sequence | null }[]
  /** Whether the beginning of the class says when that was. */
  readonly isStartTold: boolean
  /** Some end was read after what follows it: then its time is no time of the room. */
  readonly isEndLate: boolean
  /** An event before the end happened when the room is said to have ended. */
  readonly endsLikeNeighbour: boolean
  /** Events from the last change that was no end up to the last end. */
  readonly eventsToEnd: number
  /** When the first event without a time of its own happened. */
  readonly firstEstimate: number | null
}

const unborn: Life = { state: null, stateSequence: null, startedAt: null, endedAt: null, firstAt: null }

/** Takes the events of one incarnation in the order of the log. `storedEnd` is the end that the stored row tells. */
export function watchLife(storedEnd: number | null): {
  readonly see: (read: ReadEvent) => void
  readonly evidence: () => Evidence
} {
  let [all, log] = [unborn, unborn]
  let [logEvents, eventsSinceClass, eventsToEnd] = [0, 0, 0]
  let unconfirmed: Evidence['unconfirmed'] = []
  let isStartTold = false
  let [isTimeKnown, endsLikeNeighbour, isEndLate] = [false, false, false]
  let lastEndCame = Number.NEGATIVE_INFINITY
  let firstEstimate: number | null = null

  function seeState({ event, room, ownTime }: ReadEvent, { state, state_sequence: sequence }: RoomRow): void {
    if (event.source === 'feed') unconfirmed = [...unconfirmed, { state, sequence }]
    else unconfirmed = []
    if (room?.started_at) isStartTold ||= ownTime !== null
    if (isOver(state)) {
      lastEndCame = Math.max(lastEndCame, event.receivedAt)
      endsLikeNeighbour ||= isTimeKnown
      eventsToEnd = eventsSinceClass
    } else if ((state ?? 0) < roomStates.ended) {
      eventsSinceClass = 1
      lastEndCame = Number.NEGATIVE_INFINITY
      endsLikeNeighbour = isEndLate = false
    }
  }

  return {
    see: read => {
      const { event, room, ownTime } = read
      eventsSinceClass += 1
      if (event.receivedAt < lastEndCame) isEndLate = true
      if (ownTime === null) firstEstimate = Math.min(firstEstimate ?? event.at, event.at)
      else isTimeKnown ||= ownTime === storedEnd
      if (room) all = grow(all, room)
      if (room && room.state_sequence !== null) seeState(read, room)
      if (event.source === 'feed') return
      logEvents += 1
      if (room) log = grow(log, room)
    },
    evidence: () => ({
      ...{ all, log, logEvents, unconfirmed, isStartTold, isEndLate, endsLikeNeighbour },
      ...{ eventsToEnd, firstEstimate },
    }),
  }
}

/** As the commit merges what a later event says into what is known of a room. */
function grow(life: Life, room: RoomRow): Life {
  const { state, state_sequence: stateSequence } = room
  const firstAt = least(life.firstAt, room.first_event_at)
  const startedAt = least(life.startedAt, room.started_at)
  if (stateSequence === null) return { ...life, startedAt, firstAt }
  const endedAt = (state ?? 0) < roomStates.ended ? null : least(life.endedAt, room.ended_at)
  return { state, stateSequence, startedAt, endedAt, firstAt }
}

function least(known: number | null, told: Timestamp | null): number | null {
  if (told === null) return known
  return known === null ? Date.parse(told) : Math.min(known, Date.parse(told))
}

import type { ToldState } from '../../streams/stream.ts'
import type { RoomLife } from '../ports.ts'

/**
 * What a room is after its changes of state were told: the one of the highest sequence decides, in whatever order and
 * how often they are told. A room that is ended again without a new start, or closed, ended when it was first ended.
 */
export function afterChanges(
  life: RoomLife | undefined,
  { sequence, started, endedAt }: ToldState,
): RoomLife {
  const { incarnation } = life ?? unknown
  if (life && sequence < life.sequence) return life
  if (endedAt === undefined || life?.endedAt === undefined) return { incarnation, sequence, endedAt }
  const tellsAll = started !== undefined && (sequence === life.sequence || started > life.sequence)
  return { incarnation, sequence, endedAt: tellsAll ? endedAt : Math.min(life.endedAt, endedAt) }
}

/** Only the database knows which one; what is told of a room may be of one or of the next. */
const unknown = { incarnation: 0 }

/** Of what this process knows and what the database knew, what was told later; where both know as much, the database. */
export function later(known: RoomLife | undefined, stored: RoomLife): RoomLife {
  if (!known || known.sequence < stored.sequence) return stored
  const isOther = known.incarnation !== unknown.incarnation && known.incarnation < stored.incarnation
  const isFresher = known.sequence > stored.sequence || stored.endedAt === undefined
  return isFresher && !isOther ? { ...known, incarnation: stored.incarnation } : stored
}

/** A class that had ended goes on. */
export function isStartedAgain(before: RoomLife | undefined, now: RoomLife | undefined): boolean {
  return before?.endedAt !== undefined && now !== undefined && now.endedAt === undefined
}

import type { ToldState } from '../streams/stream.ts'
import type { RoomLife } from './ports.ts'

/**
 * What a room is after its changes of state were told: the one of the highest sequence decides, in whatever order and
 * how often they are told. A room that is ended again without a new start, or closed, ended when it was first ended.
 */
export function afterChanges(
  life: RoomLife | undefined,
  { sequence, started, endedAt }: ToldState,
): RoomLife {
  if (!life) return { sequence, endedAt }
  if (sequence < life.sequence) return life
  if (endedAt === undefined || life.endedAt === undefined) return { sequence, endedAt }
  const tellsAll = started !== undefined && (sequence === life.sequence || started > life.sequence)
  return { sequence, endedAt: tellsAll ? endedAt : Math.min(life.endedAt, endedAt) }
}

/** Of what this process knows and what the database knew, what was told later; where both know as much, the database. */
export function later(known: RoomLife | undefined, stored: RoomLife): RoomLife {
  return known && known.sequence > stored.sequence ? known : stored
}

/** A class that had ended goes on. */
export function isStartedAgain(before: RoomLife | undefined, now: RoomLife | undefined): boolean {
  return before?.endedAt !== undefined && now !== undefined && now.endedAt === undefined
}

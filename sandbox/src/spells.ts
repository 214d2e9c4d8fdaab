import { classroomCodes } from '../../src/provider/classroom/index.ts'
import { befalls, hashOf, shareOf } from './hash.ts'
import { noResource, noRoom, Refusal } from './refusal.ts'
import type { Switches } from './switches.ts'
import type { Room } from './world.ts'

/** What befalls a room for so many ms in every so many, at a moment of its own. */
interface Spell {
  readonly every: number
  readonly lasts: number
}

const missing: Spell = { every: 600_000, lasts: 30_000 }
const muted: Spell = { every: 1_200_000, lasts: 300_000 }

const shareMuted = 1 / 3

/** Throws Refusal while a room that is there may not be asked about. */
export function checkMuted(room: Room, now: number, switches: Switches): void {
  const isMuted = isMutable(room) && switches.mutedRooms === 'for-a-while' && isTime(room, now, muted)
  if (isMuted || isMutedForGood(room, switches)) {
    throw new Refusal({ status: 403, code: classroomCodes.muted }, 'The classroom is muted')
  }
}

/** Throws Refusal while the log of a room is missing. */
export function checkLog(room: Room, now: number, { missingLogs }: Switches): void {
  if (missingLogs === 'none' || !isTime(room, now, missing)) return
  throw missingLogs === 'with-code' ? noRoom() : noResource()
}

/** Whether nobody is ever told of a room but by the feed. */
export function isMutedForGood(room: Room, { mutedRooms }: Switches): boolean {
  return mutedRooms === 'for-good' && isMutable(room)
}

function isMutable({ uuid, incarnation }: Room): boolean {
  return befalls(shareMuted, 'muted', uuid, incarnation)
}

function isTime({ uuid }: Room, now: number, { every, lasts }: Spell): boolean {
  const since = shareOf(hashOf(uuid, Math.floor(now / every))) * (every - lasts)
  const into = (now % every) - since
  return into >= 0 && into < lasts
}

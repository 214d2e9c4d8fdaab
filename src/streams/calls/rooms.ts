import { identifier } from '../../provider/classroom/index.ts'
import { hours } from '../../provider/limits.ts'
import type { Hint } from '../stream.ts'
import { type Call, isOngoing } from './call-work.ts'

/** The provider forgets a room about an hour after its class; what was alive within this time may still be there. */
const roomMemory = hours(2)

/** The rooms behind the channels of calls that go on or were going on lately: cname is the roomUuid. */
export function hintRooms(calls: readonly Call[], now: number): readonly Hint[] {
  const alive = new Map<string, number>()
  for (const call of calls) {
    const at = lastSign(call, now)
    const { data: room } = identifier.safeParse(call.cname)
    if (room !== undefined && at > now - roomMemory) alive.set(room, Math.max(at, alive.get(room) ?? at))
  }
  return [...alive].map(([room, at]) => ({ room, change: 'news', at: at * 1_000, streams: [] }))
}

/** When the call was last known to go on, Unix seconds. */
function lastSign(call: Call, now: number): number {
  return isOngoing(call) ? now : Math.max(call.created_ts, call.destroyed_ts ?? 0)
}

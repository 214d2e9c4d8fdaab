import type { AppWorld } from './world.ts'

const stateNames = ['notStarted', 'started', 'ended', 'closed'] as const

export interface AppStatus {
  readonly id: string
  /** Rooms that exist, by state, and those that are gone. */
  readonly rooms: Readonly<Record<(typeof stateNames)[number] | 'destroyed', number>>
  /** Events made, and event records served by the feed of the app. */
  readonly events: { readonly made: number; readonly fed: number }
  /** Calls that have begun. */
  readonly calls: number
}

/** How much there is by `now`, Unix milliseconds of the world. */
export function appStatus({ id, rooms, eventsMade, eventsFed, calls }: AppWorld, now: number): AppStatus {
  const count = { notStarted: 0, started: 0, ended: 0, closed: 0, destroyed: 0 }
  for (const { destroyedAt, state } of rooms) {
    count[destroyedAt === undefined ? stateNames[state]! : 'destroyed']++
  }
  const events = { made: eventsMade, fed: eventsFed }
  return { id, rooms: count, events, calls: calls.countUntil(now) }
}

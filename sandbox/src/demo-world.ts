import type { Clock } from '../../src/clock/clock.ts'
import { createSandbox } from './create.ts'
import { demoApp, type SchoolProfile } from './options.ts'
import { livelySchool } from './profiles.ts'
import type { Sandbox } from './sandbox.ts'

/**
 * A school that runs faster: small enough for a laptop, and busy enough that every table has rows within seconds.
 * The first bells rang so late that no class is over yet: nothing would tell the daemon of a room that has fallen
 * silent.
 */
const fastSchool: SchoolProfile = {
  kind: 'school',
  classes: 12,
  students: 10,
  lessonMinutes: 10,
  breakMinutes: 2,
  eventsPerMinute: 12,
  historyMinutes: 8.5,
}

/**
 * Real seconds of the feed's sliding window: about a full answer. In real time that is many polls, so that nothing is
 * missed when the machine is busy; in a fast world it is two.
 */
const feedWindowSeconds = { lively: 5, fast: 1.2 } as const

/** Real seconds for which an ended room is remembered: an hour in real time, in a fast world short enough to see it forgotten. */
const roomMemorySeconds = { lively: 3_600, fast: 50 } as const

/** The same in seconds of the world, at least: a slow world must not forget a room before its end is known. */
const leastRoomMemory = { lively: 0, fast: 1_500 } as const

const schools = { lively: livelySchool, fast: fastSchool } as const

/** Seconds between two values of a metric of a session: few enough that a demo shows calls and not only values. */
const metricSeconds = 30

export interface DemoWorld {
  readonly sandbox: Sandbox
  readonly app: typeof demoApp
  readonly speed: number
  /** Unix ms at which the world's clock and ours agreed; the world's has run ahead since. */
  readonly origin: number
}

/** A school that runs at `speed` times the speed of the clock. All that the sandbox counts in is its own time. */
export function openDemoWorld(clock: Clock, { speed, seed }: { speed: number; seed: number }): DemoWorld {
  const origin = clock.now()
  const pace = speed === 1 ? 'lively' : 'fast'
  const switches = {
    metricSeconds,
    feedWindowSeconds: feedWindowSeconds[pace] * speed,
    roomMemorySeconds: Math.max(roomMemorySeconds[pace] * speed, leastRoomMemory[pace]),
  }
  const sandbox = createSandbox({ clock, speed, seed, profile: schools[pace], apps: [demoApp], switches })
  return { sandbox, app: demoApp, speed, origin }
}

import type { Clock } from '../../clock/clock.ts'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/load.ts'
import { createSandbox, demoApp, type Sandbox, type SchoolProfile } from '../../sandbox/index.ts'

/**
 * A school in real time, as the limits of call analytics want it. Its first classes are over, yet their rooms are
 * still remembered: the calls tell of them, so that the quality of a class stands beside it within a minute.
 */
export const livelySchool: SchoolProfile = {
  kind: 'school',
  classes: 12,
  students: 10,
  lessonMinutes: 4,
  breakMinutes: 2,
  eventsPerMinute: 60,
  historyMinutes: 14,
}

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

export const services = ['classroom', 'analytics', 'players'] as const
export type Service = (typeof services)[number]

export interface World {
  readonly sandbox: Sandbox
  readonly speed: number
  /** What is drained of it. */
  readonly services: ReadonlySet<Service>
  /** Unix ms at which the world's clock and ours agreed; the world's has run ahead since. */
  readonly origin: number
}

/** A school that runs at `speed` times the speed of the clock. All that the sandbox counts in is its own time. */
export function openWorld(
  clock: Clock,
  { speed, seed, services }: { speed: number; seed: number; services: World['services'] },
): World {
  const origin = clock.now()
  const pace = speed === 1 ? 'lively' : 'fast'
  const switches = {
    metricSeconds,
    feedWindowSeconds: feedWindowSeconds[pace] * speed,
    roomMemorySeconds: Math.max(roomMemorySeconds[pace] * speed, leastRoomMemory[pace]),
  }
  const sandbox = createSandbox({ clock, speed, seed, profile: schools[pace], switches })
  return { sandbox, speed, services, origin }
}

/**
 * The configuration of a daemon that keeps up with such a world. Rooms are never used twice in it, and it forgets
 * a room by its own fast clock, so the daemon may trust a room as long as it likes.
 */
export function demoConfig(options: {
  readonly providerUrl: string
  readonly services: World['services']
  readonly dataDir: string
  readonly listenPort: number
}): Promise<Config> {
  const drained = options.services
  const settings = {
    database: { url: 'embedded', dataDir: options.dataDir },
    http: { listen: `127.0.0.1:${options.listenPort}` },
    schedule: { housekeeping: '* * * * *' },
    provider: Object.fromEntries([...drained].map(name => [name, { url: options.providerUrl }])),
    streams: {
      ...(drained.has('classroom') && classroomStreams),
      ...(drained.has('players') && { 'cloud-players': { every: '5s' } }),
      ...(drained.has('analytics') && analyticsStreams),
    },
    limits: { classroom: { perSecond: 100 } },
    apps: [
      {
        id: demoApp.id,
        region: 'ap',
        plan: demoApp.plan,
        rest: demoApp.rest,
        ...(drained.has('classroom') && { classroom: { uid: demoApp.uid, token: demoApp.token } }),
      },
    ],
  }
  return readConfig(JSON.stringify(settings), { name: 'demo', env: {}, folder: '.' })
}

const classroomStreams = {
  'app-events': { every: '500ms' },
  'room-events': { activeEvery: '4s', idleEvery: '8s' },
  'popup-quiz': { activeEvery: '2s', idleEvery: '8s' },
  poll: { activeEvery: '2s', idleEvery: '8s' },
  recordings: { activeEvery: '3s', idleEvery: '8s' },
  resources: { activeEvery: '3s', idleEvery: '8s' },
} as const

/** A plan allows three real-time requests a minute, so few metrics are asked for and something of each is seen soon. */
const analyticsStreams = {
  calls: { every: '15s', revisitEvery: '1m' },
  'usage-insight': { metrics: ['userCount', 'totalDuration'] },
  'quality-insight': { metrics: ['audioFreezeRate', 'networkDelay'] },
  'realtime-usage': { every: '2m', metrics: ['userCount'] },
  'realtime-quality': { every: '2m', metrics: ['audioFreezeRate', 'networkDelay'] },
} as const

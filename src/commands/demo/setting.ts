import type { Clock } from '../../clock/clock.ts'
import type { Config } from '../../config/config.ts'
import { readConfig } from '../../config/load.ts'
import { createSandbox, demoApp, type Sandbox, type SchoolProfile } from '../../sandbox/index.ts'

/**
 * Small enough for a laptop, and busy enough that every table has rows within seconds. The first bells rang so
 * late that no class is over yet: nothing would tell the daemon of a room that has fallen silent.
 */
const school: SchoolProfile = {
  kind: 'school',
  classes: 12,
  students: 10,
  lessonMinutes: 10,
  breakMinutes: 2,
  eventsPerMinute: 12,
  historyMinutes: 8.5,
}

/** Real seconds of the feed's sliding window: two polls of it, and less than a full answer. */
const feedWindowSeconds = 1.2

/** Real seconds for which an ended room is remembered: many visits long, and yet short enough to see it forgotten. */
const roomMemorySeconds = 50

export interface World {
  readonly sandbox: Sandbox
  readonly speed: number
  /** Unix ms at which the world's clock and ours agreed; the world's has run ahead since. */
  readonly origin: number
}

/** A school that runs at `speed` times the speed of the clock. All that the sandbox counts in is its own time. */
export function openWorld(clock: Clock, { speed, seed }: { speed: number; seed: number }): World {
  const origin = clock.now()
  const switches = {
    feedWindowSeconds: feedWindowSeconds * speed,
    roomMemorySeconds: Math.max(roomMemorySeconds * speed, 1_500),
  }
  return { sandbox: createSandbox({ clock, speed, seed, profile: school, switches }), speed, origin }
}

/**
 * The configuration of a daemon that keeps up with such a world. Rooms are never used twice in it, and it forgets
 * a room by its own fast clock, so the daemon may trust a room as long as it likes.
 */
export function demoConfig(options: {
  readonly providerUrl: string
  readonly dataDir: string
  readonly listenPort: number
}): Promise<Config> {
  const settings = {
    database: { url: 'embedded', dataDir: options.dataDir },
    http: { listen: `127.0.0.1:${options.listenPort}` },
    schedule: { housekeeping: '* * * * *' },
    provider: { classroom: { url: options.providerUrl } },
    streams: {
      'app-events': { every: '500ms' },
      'room-events': { activeEvery: '4s', idleEvery: '8s' },
      'popup-quiz': { activeEvery: '2s', idleEvery: '8s' },
      poll: { activeEvery: '2s', idleEvery: '8s' },
      recordings: { activeEvery: '3s', idleEvery: '8s' },
      resources: { activeEvery: '3s', idleEvery: '8s' },
    },
    limits: { classroom: { perSecond: 100 }, 'classroom-feed': { perSecond: 4 } },
    apps: [
      {
        id: demoApp.id,
        region: 'ap',
        plan: 'premium',
        classroom: { uid: demoApp.uid, token: demoApp.token },
      },
    ],
  }
  return readConfig(JSON.stringify(settings), { name: 'demo', env: {}, folder: '.' })
}

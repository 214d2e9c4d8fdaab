import { Hono } from 'hono'
import { addAnalyticsControl } from './analytics/control.ts'
import { analyticsTruth } from './analytics/truth.ts'
import { Arrivals } from './arrivals.ts'
import { addControl } from './control.ts'
import { Faults } from './faults.ts'
import { type SandboxOptions, settle } from './options.ts'
import { addPlayersControl } from './players/control.ts'
import { trueNotices, truePlayers } from './players/truth.ts'
import { addProvider } from './provider.ts'
import { viewRoom } from './room-view.ts'
import type { Sandbox } from './sandbox.ts'
import { seededRandom } from './seeded.ts'
import type { Bindings } from './stage.ts'
import { appStatus } from './status.ts'
import { truth } from './truth.ts'
import { Universe } from './universe.ts'
import { Violations } from './violations.ts'

/** Equal options and an equal clock make equal worlds. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const settings = settle(options)
  const universe = new Universe(settings)
  const arrivals = new Arrivals()
  const faults = new Faults(seededRandom(`${settings.seed}/faults`), settings.faults)
  const app = new Hono<Bindings>()
  const violations = new Violations()
  addProvider(app, { settings, universe, arrivals, faults, violations })
  const sandbox: Sandbox = {
    settings,
    arrivals,
    faults,
    universe,
    fetch: async (request, hangUp) => app.fetch(request, { hangUp }),
    truth: (filter = {}) => {
      return truth({ apps: universe.apps, settings, now: universe.happened() }, filter)
    },
    room: (app, roomUuid) => viewRoom(universe, app, roomUuid),
    analytics: app => analyticsTruth({ settings, universe }, app),
    players: app => truePlayers(universe, app),
    notices: app => trueNotices(universe, app),
    status: () => ({
      now: universe.advance(),
      speed: settings.speed,
      paused: universe.isPaused,
      requests: arrivals.count,
      violations: violations.requests,
      violationsByKind: violations.byKind,
      apps: [...universe.apps].map(world => appStatus(world, universe.happened())),
    }),
  }
  addControl(app, sandbox)
  addAnalyticsControl(app, sandbox)
  addPlayersControl(app, sandbox)
  return sandbox
}

import { Hono } from 'hono'
import { seededRandom } from '../clock/seeded.ts'
import { Arrivals } from './arrivals.ts'
import { addControl } from './control.ts'
import { Faults } from './faults.ts'
import { type SandboxOptions, settle } from './options.ts'
import { addProvider, type Bindings } from './provider.ts'
import type { Sandbox } from './sandbox.ts'
import { appStatus } from './status.ts'
import { truth } from './truth.ts'
import { Universe } from './universe.ts'

/** Equal options and an equal clock make equal worlds. */
export function createSandbox(options: SandboxOptions): Sandbox {
  const settings = settle(options)
  const universe = new Universe(settings)
  const arrivals = new Arrivals()
  const faults = new Faults(seededRandom(`${settings.seed}/faults`), settings.faults)
  const app = new Hono<Bindings>()
  const violations = addProvider(app, { settings, universe, arrivals, faults })
  const sandbox: Sandbox = {
    settings,
    arrivals,
    faults,
    universe,
    fetch: async (request, hangUp) => app.fetch(request, { hangUp }),
    truth: (filter = {}) => {
      universe.advance()
      return truth(universe.apps, settings.switches, filter)
    },
    status: () => ({
      now: universe.advance(),
      speed: settings.speed,
      paused: universe.isPaused,
      requests: arrivals.count,
      violations: violations(),
      apps: [...universe.apps].map(appStatus),
    }),
  }
  addControl(app, sandbox)
  return sandbox
}

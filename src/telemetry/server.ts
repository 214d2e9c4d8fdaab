import { within } from '../clock/clock.ts'
import type { Access } from './access.ts'
import {
  type Answer,
  type ListenerOptions,
  type Route,
  type Routes,
  type RunningServer,
  say,
  startListener,
} from './listener.ts'
import { toJson } from './status.ts'

interface Health {
  /** Whether the process works at all: a false here is a reason to kill it. */
  readonly alive: () => boolean
  /** Why no work is done now (database, migrations, ownership, draining); empty when all is well. */
  readonly notReady: () => Promise<readonly string[]>
}

export interface ServerOptions extends ListenerOptions {
  readonly meter: { readonly scrape: () => Promise<string>; readonly contentType: string }
  readonly health: Health
  /** What /status tells as JSON. */
  readonly status: () => Promise<object>
  /** The same as a page for people, as the query chooses. */
  readonly page: (query: URLSearchParams) => Promise<Answer>
  /** Who may see page, status and metrics; everyone where it is left out. Probes may ask anyway. */
  readonly access?: Access | undefined
}

const json = 'application/json; charset=utf-8'

const readinessPatience = 2_000

/**
 * Serves what people, Prometheus and orchestrators ask: / /status /metrics /healthz /readyz, by GET and HEAD alone.
 * Rejects when the address cannot be used.
 */
export function startServer(options: ServerOptions): Promise<RunningServer> {
  return startListener(createRoutes(options), options)
}

const unknown: Answer = {
  ...say(401, 'a user and a password are asked for'),
  headers: { 'www-authenticate': 'Basic realm="penstock", charset="UTF-8"' },
}

function createRoutes({ meter, health, status, page, clock, access }: ServerOptions): Routes {
  const shown = (answer: Route['answer']): Route => ({ methods: 'GET, HEAD', answer })
  const guarded = (answer: Route['answer']): Route =>
    shown(async request => {
      const isAllowed = !access || (await access(request.headers.authorization))
      return isAllowed ? await answer(request) : unknown
    })
  const ready = async () => {
    const reasons = await within(clock, readinessPatience, health.notReady(), [
      'the database gives no answer in time',
    ]).catch(() => ['readiness cannot be told'])
    const body = { ready: reasons.length === 0, reasons }
    return { status: body.ready ? 200 : 503, type: json, body: `${toJson(body)}\n` }
  }
  return new Map<string, Route>([
    ['/', guarded(({ url = '' }) => page(new URL(url, 'http://here').searchParams))],
    ['/status', guarded(async () => ({ status: 200, type: json, body: `${toJson(await status())}\n` }))],
    ['/metrics', guarded(async () => ({ status: 200, type: meter.contentType, body: await meter.scrape() }))],
    [
      '/healthz',
      shown(async () => (health.alive() ? say(200, 'alive') : say(503, 'the event loop stands still'))),
    ],
    ['/readyz', shown(ready)],
  ])
}

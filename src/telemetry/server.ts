import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Clock } from '../clock/clock.ts'
import type { Log } from '../engine/ports.ts'
import { createNotificationRoute, type Notifications } from './notifications.ts'
import { statusPage } from './page.ts'
import { toJson } from './to-json.ts'

export interface Health {
  /** Whether the process works at all: a false here is a reason to kill it. */
  readonly alive: () => boolean
  /** Why no work is done now (database, migrations, ownership, draining); empty when all is well. */
  readonly notReady: () => Promise<readonly string[]>
}

export interface ServerOptions {
  /** `host:port`, an IPv6 host in brackets; port 0 takes any free one. */
  readonly listen: string
  readonly meter: { readonly scrape: () => Promise<string>; readonly contentType: string }
  readonly health: Health
  /** What /status tells as JSON and the first page as a page. */
  readonly status: () => Promise<object>
  /** Where the provider may tell what happened to players; without it there is no such address. */
  readonly notifications?: Notifications | undefined
  readonly clock: Clock
  readonly log: Log
}

export interface RunningServer {
  readonly url: string
  readonly close: () => Promise<void>
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

interface Route {
  /** As a 405 tells them. */
  readonly methods: 'GET, HEAD' | 'POST'
  readonly answer: (request: IncomingMessage) => Promise<Answer>
}

type Routes = ReadonlyMap<string, Route>

const text = 'text/plain; charset=utf-8'
const json = 'application/json; charset=utf-8'
const html = 'text/html; charset=utf-8'

const timeouts = { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 }
const mostConnections = 64
const readinessPatience = 2_000
const closePatience = 1_000

const safetyHeaders = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/**
 * Serves what people, Prometheus and orchestrators ask: / /status /metrics /healthz /readyz, by GET and HEAD
 * alone; queries mean nothing there. What may be posted is a signed notification, where they are configured.
 * Rejects when the address cannot be used.
 */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { host, port } = parseListen(options.listen)
  const routes = createRoutes(options)
  const server = createServer({ ...timeouts, connectionsCheckingInterval: 1_000 }, (request, response) => {
    void respond(routes, options.log, request, response)
  })
  server.maxConnections = mostConnections
  server.listen(port, host)
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { url: `http://${name}:${address.port}`, close: () => close(server, options.clock) }
}

/** Splits `host:port`. Throws an Error that says what is allowed. */
export function parseListen(listen: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(listen) ?? []
  const host = bracketed ?? plain
  if (host === undefined || Number(port) > 65_535) {
    throw new Error(`"${listen}" is no address to listen on: write host:port, for example 127.0.0.1:9464`)
  }
  return { host, port: Number(port) }
}

function createRoutes({ meter, health, status, notifications, clock }: ServerOptions): Routes {
  const shown = (answer: () => Promise<Answer>): Route => ({ methods: 'GET, HEAD', answer })
  const ready = async () => {
    const reasons = await withinPatience(health.notReady(), clock)
    const body = { ready: reasons.length === 0, reasons }
    return { status: body.ready ? 200 : 503, type: json, body: `${toJson(body)}\n` }
  }
  const routes = new Map<string, Route>([
    ['/', shown(async () => ({ status: 200, type: html, body: statusPage(await status()) }))],
    ['/status', shown(async () => ({ status: 200, type: json, body: `${toJson(await status())}\n` }))],
    ['/metrics', shown(async () => ({ status: 200, type: meter.contentType, body: await meter.scrape() }))],
    [
      '/healthz',
      shown(async () => (health.alive() ? say(200, 'alive') : say(503, 'the event loop stands still'))),
    ],
    ['/readyz', shown(ready)],
  ])
  if (!notifications) return routes
  const receive = createNotificationRoute(notifications, clock)
  return routes.set('/notifications', {
    methods: 'POST',
    answer: async request => {
      const { status: code, text: word } = await receive(request)
      return say(code, word)
    },
  })
}

function say(status: number, sentence: string): Answer {
  return { status, type: text, body: `${sentence}\n` }
}

async function respond(
  routes: Routes,
  log: Log,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0]!
  const route = routes.get(path)
  const { status, type, body } = await answer(route, { log, path, request })
  response.writeHead(status, {
    ...safetyHeaders,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...(status === 405 && route ? { allow: route.methods } : {}),
    /* Whoever sends a body would have it read to its end before the next request. */
    ...(request.method === 'GET' || request.method === 'HEAD' ? {} : { connection: 'close' }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function answer(
  route: Route | undefined,
  { log, path, request }: { readonly log: Log; readonly path: string; readonly request: IncomingMessage },
): Promise<Answer> {
  if (!route) return say(404, 'not found')
  const { method = '' } = request
  if (!route.methods.split(', ').includes(method))
    return say(405, `only ${route.methods.replace(', ', ' and ')}`)
  try {
    return await route.answer(request)
  } catch (error) {
    log.warn('endpoint failed', { path, error })
    return say(503, 'not available now')
  }
}

async function withinPatience(reasons: Promise<readonly string[]>, clock: Clock): Promise<readonly string[]> {
  const enough = new AbortController()
  const tooLong = clock.sleep(readinessPatience, enough.signal).then(() => ['no answer in time'])
  try {
    return await Promise.race([reasons, tooLong])
  } catch {
    return ['readiness cannot be told']
  } finally {
    enough.abort()
  }
}

async function close(server: Server, clock: Clock): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const enough = new AbortController()
  await Promise.race([closed, clock.sleep(closePatience, enough.signal)])
  enough.abort()
  server.closeAllConnections()
  await closed
}

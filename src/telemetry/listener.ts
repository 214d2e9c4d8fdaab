import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type Clock, within } from '../clock/clock.ts'
import type { Log } from '../engine/ports.ts'

export interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
  /** Beside those that every answer has, or instead of them. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface Route {
  /** As a 405 tells them. */
  readonly methods: 'GET, HEAD' | 'POST'
  readonly answer: (request: IncomingMessage) => Promise<Answer>
}

/** What is served, by path. */
export type Routes = ReadonlyMap<string, Route>

export interface ListenerOptions {
  /** Port 0 takes any free one. */
  readonly listen: { readonly host: string; readonly port: number }
  /** Counts a connection that was closed because there were too many. */
  readonly refused: () => void
  readonly clock: Clock
  readonly log: Log
}

export interface RunningServer {
  readonly url: string
  readonly close: () => Promise<void>
}

const timeouts = { headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 }
const mostConnections = 64
const closePatience = 1_000

const safetyHeaders = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** Serves some routes at an address. Queries mean nothing to a path. Rejects when the address cannot be used. */
export async function startListener(
  routes: Routes,
  { listen, refused, clock, log }: ListenerOptions,
): Promise<RunningServer> {
  const server = createServer({ ...timeouts, connectionsCheckingInterval: 1_000 }, (request, response) => {
    void respond(routes, log, request, response)
  })
  keepRoom(server, refused)
  server.listen(listen.port, listen.host)
  await once(server, 'listening')
  // From here on it is about one connection that the system would not give; without a listener it would end the process.
  server.on('error', ({ code }: NodeJS.ErrnoException) =>
    log.warn('a connection could not be taken', { code }),
  )
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return { url: `http://${name}:${address.port}`, close: () => close(server, clock) }
}

export function say(status: number, sentence: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', body: `${sentence}\n` }
}

/**
 * Lets everybody in. Where there are too many connections, the one goes that has kept its request waiting the longest:
 * whoever asks at once is answered, however many others only hold their connections open.
 */
function keepRoom(server: Server, refused: () => void): void {
  /** Without a whole request, the slowest first. */
  const waiting = new Set<Socket>()
  let open = 0
  server.on('connection', (socket: Socket) => {
    open += 1
    waiting.add(socket)
    socket.once('close', () => {
      open -= 1
      waiting.delete(socket)
    })
    if (open <= mostConnections) return
    const [slowest = socket] = waiting
    waiting.delete(slowest)
    slowest.destroy()
    refused()
  })
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket, headers } = request
    const isWhole = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
    if (isWhole) waiting.delete(socket)
    else request.once('end', () => waiting.delete(socket))
    response.once('close', () => {
      waiting.delete(socket)
      if (!socket.destroyed) waiting.add(socket)
    })
  })
}

async function respond(
  routes: Routes,
  log: Log,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0]!
  const route = routes.get(path)
  const { status, type, body, headers } = await answer(route, { log, path, request })
  response.writeHead(status, {
    ...safetyHeaders,
    ...headers,
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

async function close(server: Server, clock: Clock): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  await within(clock, closePatience, closed, undefined)
  server.closeAllConnections()
  await closed
}

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type App, type AppPlan, type Inner, newApp, Refusal } from './app.ts'
import { type Meters, makeMeters } from './meters.ts'
import { type Family, routes } from './routes.ts'
import type { Told } from './tell-classroom.ts'

/** The provider as the contract words it, in the reading that each app is given. It shares nothing with the program. */

export interface Provider {
  readonly url: string
  readonly apps: ReadonlyMap<string, App>
  readonly meters: Meters
  /** Requests that the contract does not know, or that it words otherwise. */
  readonly breaches: readonly string[]
  readonly requests: () => number
  close(): Promise<void>
}

export const secrets = { token: 'svc-token', uid: 'svc-uid', password: 'rest-secret' }

export async function startProvider(plans: readonly AppPlan[]): Promise<Provider> {
  const meters = makeMeters()
  const breaches: string[] = []
  let requests = 0
  const apps = new Map(plans.map(plan => [plan.id, newApp(plan)]))
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    requests++
    const text = await readText(request)
    const { app, status, body } = answer(apps, meters, breaches, request, text)
    const type = app?.plan.reading.contentType ?? 'application/json'
    if (type !== 'none') response.setHeader('content-type', type)
    if (request.headers['x-request-id']) response.setHeader('x-request-id', request.headers['x-request-id'])
    response.statusCode = status
    response.end(body === undefined ? '' : toJson(body))
  }
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    ...{ apps, meters, breaches },
    requests: () => requests,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

interface Answer {
  readonly app: Inner | undefined
  readonly status: number
  readonly body: unknown
}

function answer(
  apps: ReadonlyMap<string, Inner>,
  meters: Meters,
  breaches: string[],
  request: IncomingMessage,
  text: string,
): Answer {
  const url = new URL(request.url ?? '/', 'http://provider')
  const route = routes.find(
    ({ path, method = 'GET' }) => method === request.method && path.test(url.pathname),
  )
  const match = route?.path.exec(url.pathname)
  const name = match?.groups?.app ?? url.searchParams.get('appid') ?? ''
  const app = apps.get(name)
  const breach = (what: string) => void breaches.push(`${request.method} ${request.url}: ${what}`)
  if (!route || !app) {
    breach('no such operation')
    return { app, status: 404, body: { code: 404, msg: 'none', message: 'none', ts: Date.now() } }
  }
  const at = Date.now()
  try {
    checkCredentials(route.family, name, request, breach)
    const operation = route.operation
    const told = route.tell(
      { app, url, at, body: (text ? JSON.parse(text) : {}) as Told },
      match?.groups ?? {},
      { meters, breach },
    )
    const body = app.plan.distort?.(operation, told) ?? told
    app.answered.set(operation, (app.answered.get(operation) ?? 0) + 1)
    const status = operation === 'players' ? Number(app.plan.reading.playersStatus) : 200
    return { app, status, body }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { app, status: error.status, body: error.body }
  }
}

function checkCredentials(
  family: Family,
  app: string,
  request: IncomingMessage,
  breach: (what: string) => void,
): void {
  const { headers } = request
  if (family === 'classroom') {
    if (headers['content-type'] !== 'application/json') breach('not of type application/json')
    if (headers['x-svc-token'] === secrets.token && headers['x-svc-uid'] === secrets.uid) return
    throw new Refusal(401, { msg: 'Authentication failed' })
  }
  const [scheme, value = ''] = (headers.authorization ?? '').split(' ')
  if (scheme === 'Basic' && Buffer.from(value, 'base64').toString() === `key-${app}:${secrets.password}`)
    return
  throw new Refusal(401, { code: 401, message: 'Invalid authentication credentials.' })
}

/** A character of it may come in two pieces. */
async function readText(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** JSON in which a bigint is a number of as many digits. */
function toJson(body: unknown): string {
  const text = JSON.stringify(body, (_, value: unknown) =>
    typeof value === 'bigint' ? `\u0001${value}` : value,
  )
  return text.replaceAll(/"\\u0001(\d+)"/g, '$1')
}

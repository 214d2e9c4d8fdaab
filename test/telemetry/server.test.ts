import { once } from 'node:events'
import { connect, Server } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { accessLine, readAccess } from '../../src/telemetry/access.ts'
import { type ServerOptions, startServer } from '../../src/telemetry/server.ts'
import { handClock } from './hand-clock.ts'

async function setUp(options: Partial<ServerOptions> = {}) {
  const clock = handClock()
  const warnings: object[] = []
  const quiet = () => {}
  const refused = { count: 0 }
  const server = await startServer({
    refused: () => {
      refused.count += 1
    },
    listen: { host: '127.0.0.1', port: 0 },
    meter: { scrape: async () => 'up 1\n', contentType: 'text/plain; version=0.0.4; charset=utf-8' },
    health: { alive: () => true, notReady: async () => [] },
    status: async () => ({ state: 'running', sequence: 2n ** 60n }),
    page: async query => ({ status: 200, type: 'text/html; charset=utf-8', body: `app ${query.get('app')}` }),
    clock,
    log: { debug: quiet, info: quiet, error: quiet, warn: (_, fields = {}) => void warnings.push(fields) },
    ...options,
  })
  onTestFinished(() => server.close())
  const get = async (path: string, method = 'GET') => {
    const response = await fetch(`${server.url}${path}`, { method })
    return { status: response.status, headers: response.headers, body: await response.text() }
  }
  return { server, clock, get, warnings, refused }
}

describe('a password', () => {
  const as = (user: string, password: string) => ({
    authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
  })

  it('is asked for by page, status and metrics, and not by probes', async () => {
    const { server } = await setUp({ access: readAccess(await accessLine('ops', 'correct: horse')) })
    const statusOf = async (path: string, headers = {}) =>
      (await fetch(`${server.url}${path}`, { headers })).status
    for (const path of ['/', '/status', '/metrics']) {
      expect(await statusOf(path), path).toBe(401)
      expect(await statusOf(path, as('ops', 'wrong')), path).toBe(401)
      expect(await statusOf(path, as('root', 'correct: horse')), path).toBe(401)
      expect(await statusOf(path, { authorization: 'Basic ???' }), path).toBe(401)
      expect(await statusOf(path, as('ops', 'correct: horse')), path).toBe(200)
    }
    for (const path of ['/healthz', '/readyz']) expect(await statusOf(path), path).toBe(200)
    const refused = await fetch(`${server.url}/`)
    expect(refused.headers.get('www-authenticate')).toBe('Basic realm="penstock", charset="UTF-8"')
  })

  it.each(['', 'ops', 'ops:plain', 'ops:scrypt:00:11', 'a b:scrypt:00:11'])('is not read from %j', line => {
    expect(readAccess(line)).toBeUndefined()
  })
})

describe('an endpoint', () => {
  it.each([
    ['/', 200, 'text/html; charset=utf-8'],
    ['/status', 200, 'application/json; charset=utf-8'],
    ['/metrics', 200, 'text/plain; version=0.0.4; charset=utf-8'],
    ['/healthz', 200, 'text/plain; charset=utf-8'],
    ['/readyz', 200, 'application/json; charset=utf-8'],
    ['/nothing', 404, 'text/plain; charset=utf-8'],
    ['/metrics/', 404, 'text/plain; charset=utf-8'],
    ['/%2e%2e/etc/passwd', 404, 'text/plain; charset=utf-8'],
  ])('%s answers %i as %s', async (path, status, type) => {
    const { get } = await setUp()
    const response = await get(path)
    expect([response.status, response.headers.get('content-type')]).toEqual([status, type])
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  it('gives no query a meaning', async () => {
    const { get } = await setUp()
    expect((await get('/metrics?target=http://169.254.169.254/')).body).toBe('up 1\n')
  })

  it('hands the query to the page alone', async () => {
    const { get } = await setUp()
    expect((await get('/?app=a%201')).body).toBe('app a 1')
  })

  it('answers HEAD without a body', async () => {
    const { get } = await setUp()
    const response = await get('/metrics', 'HEAD')
    expect([response.status, response.body, response.headers.get('content-length')]).toEqual([200, '', '5'])
  })

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('refuses %s', async method => {
    const { get } = await setUp()
    const response = await get('/status', method)
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })

  it('that fails says so in the log, not to whoever asked', async () => {
    const error = new Error('canary')
    const { get, warnings } = await setUp({ status: () => Promise.reject(error) })
    const response = await get('/status')
    expect([response.status, response.body]).toEqual([503, 'not available now\n'])
    expect(warnings).toEqual([{ path: '/status', error }])
    expect((await get('/healthz')).status).toBe(200)
  })

  it('tells the status as JSON with every digit', async () => {
    const { get } = await setUp()
    expect(JSON.parse((await get('/status')).body)).toEqual({
      state: 'running',
      sequence: '1152921504606846976',
    })
  })
})

describe('health', () => {
  it('is bad when the event loop stands still', async () => {
    const { get } = await setUp({ health: { alive: () => false, notReady: async () => [] } })
    expect((await get('/healthz')).status).toBe(503)
  })

  it('is not readiness: reasons for doing no work are told with 503', async () => {
    const notReady = async () => ['the database is not reachable', 'draining']
    const { get } = await setUp({ health: { alive: () => true, notReady } })
    const response = await get('/readyz')
    expect(response.status).toBe(503)
    expect(JSON.parse(response.body)).toEqual({
      ready: false,
      reasons: ['the database is not reachable', 'draining'],
    })
    expect((await get('/healthz')).status).toBe(200)
  })

  it('that cannot be told is bad', async () => {
    const notReady = () => Promise.reject(new Error('canary'))
    const { get } = await setUp({ health: { alive: () => true, notReady } })
    const response = await get('/readyz')
    expect(response.status).toBe(503)
    expect(JSON.parse(response.body)).toEqual({ ready: false, reasons: ['readiness cannot be told'] })
  })

  it('is not waited for longer than two seconds', async () => {
    const asked = Promise.withResolvers<void>()
    const notReady = () => {
      asked.resolve()
      return new Promise<readonly string[]>(() => {})
    }
    const { get, clock } = await setUp({ health: { alive: () => true, notReady } })
    const response = get('/readyz')
    await asked.promise
    await clock.advance(2_000)
    expect(JSON.parse((await response).body)).toEqual({
      ready: false,
      reasons: ['the database gives no answer in time'],
    })
  })
})

describe('the server', () => {
  /** Connections that begin a request and never end it. */
  async function hold(url: string, count: number, begin = 'GET /metrics HTTP/1.1\r\n') {
    const sockets = Array.from({ length: count }, () => connect(Number(new URL(url).port), '127.0.0.1'))
    onTestFinished(() => sockets.forEach(socket => void socket.destroy()))
    for (const socket of sockets) socket.on('error', () => {})
    await Promise.all(sockets.map(socket => once(socket, 'connect')))
    for (const socket of sockets) socket.write(begin)
    return sockets
  }

  it('answers every probe while 64 others hold connections open and say nothing', async () => {
    const { server, get, refused } = await setUp()
    await hold(server.url, 64)
    const probes = []
    for (let n = 0; n < 10; n++) probes.push((await get('/healthz')).status)
    expect(probes).toEqual(Array(10).fill(200))
    expect(refused.count).toBeGreaterThan(0)
  })

  it('closes the slowest of them, counts it, and lets an answer in the making end', async () => {
    const asked = Promise.withResolvers<void>()
    const enough = Promise.withResolvers<readonly string[]>()
    const notReady = () => {
      asked.resolve()
      return enough.promise
    }
    const { server, get, refused } = await setUp({ health: { alive: () => true, notReady } })
    const ready = get('/readyz')
    await asked.promise
    const [slowest, ...others] = await hold(server.url, 63)
    expect(refused.count).toBe(0)
    const closed = once(slowest!, 'close')
    await hold(server.url, 1)
    await closed
    expect(refused.count).toBe(1)
    enough.resolve([])
    expect((await ready).status).toBe(200)
    expect(others.filter(socket => socket.destroyed)).toEqual([])
  })

  it('closes although someone holds a connection open and says nothing', async () => {
    const { server, clock } = await setUp()
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => {})
    await once(socket, 'connect')
    socket.write('GET /metrics HTTP/1.1\r\n')
    const closed = server.close()
    await clock.advance(1_000)
    await closed
    socket.destroy()
  })

  it('says which address it cannot use', async () => {
    const { server } = await setUp()
    await expect(
      setUp({ listen: { host: '127.0.0.1', port: Number(new URL(server.url).port) } }),
    ).rejects.toThrow('EADDRINUSE')
  })
})

describe('a connection that cannot be taken', () => {
  it('is told, and others are served: the machine has no room for one more', async () => {
    const listen = vi.spyOn(Server.prototype, 'listen')
    const { get, warnings } = await setUp()
    const [server] = listen.mock.contexts as Server[]
    for (const code of ['ENFILE', 'ENOBUFS']) {
      const error = Object.assign(new Error(`accept ${code}`), { code, syscall: 'accept' })
      expect(() => server!.emit('error', error)).not.toThrow()
    }
    expect(warnings).toEqual([{ code: 'ENFILE' }, { code: 'ENOBUFS' }])
    expect((await get('/healthz')).status).toBe(200)
  })
})

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Notifications, startNotifications } from '../../src/telemetry/notifications.ts'
import { handClock } from './hand-clock.ts'

type Delivery = Parameters<Notifications['take']>[0]

async function setUp(parts: Partial<Notifications> = {}) {
  const clock = handClock()
  const taken: Delivery[] = []
  const turned: string[] = []
  const quiet = () => {}
  const notifications: Notifications = {
    take: async delivery => {
      taken.push(delivery)
      return { status: 200, text: 'stored' }
    },
    turnAway: why => void turned.push(why),
    ...parts,
  }
  const server = await startNotifications(notifications, {
    listen: { host: '127.0.0.1', port: 0 },
    refused: () => {},
    clock,
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  })
  onTestFinished(() => server.close())
  const ask = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(`${server.url}${path}`, { method: 'POST', ...init })
    return { status: response.status, allow: response.headers.get('allow'), text: await response.text() }
  }
  /** A connection on which a POST begins and whose body waits. */
  const begin = async (head = 'Content-Length: 10\r\n\r\n12345') => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    socket.write(`POST /notifications HTTP/1.1\r\nHost: x\r\n${head}`)
    return socket
  }
  return { ask, begin, clock, taken, turned, server }
}

async function answerOn(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', chunk => chunks.push(chunk))
  await new Promise(resolve => socket.once('close', resolve))
  return Buffer.concat(chunks).toString()
}

describe('/notifications', () => {
  it('is the only address there', async () => {
    const { ask } = await setUp()
    for (const path of ['/', '/status', '/metrics', '/healthz', '/readyz'])
      expect((await ask(path, { method: 'GET' })).status).toBe(404)
  })

  it('hands the body on as it came, with its headers and the app of the address', async () => {
    const { ask, taken } = await setUp()
    const body = new Uint8Array([0, 0xff, 0x7b, 0x0a])
    const headers = { 'X-Svc-Signature': 'abc' }
    expect(await ask('/notifications?x=1&app=%6fne', { body, headers })).toMatchObject({
      status: 200,
      text: 'stored\n',
    })
    expect(taken).toMatchObject([{ app: 'one' }])
    expect([...taken[0]!.body]).toEqual([...body])
    expect(taken[0]!.header('x-svc-signature')).toBe('abc')
    expect(taken[0]!.header('X-SVC-SIGNATURE')).toBe('abc')
    expect(taken[0]!.header('x-other')).toBeUndefined()
  })

  it('hands on an empty body too, and no app where the address names none', async () => {
    const { ask, taken } = await setUp()
    expect((await ask('/notifications')).status).toBe(200)
    expect(taken).toMatchObject([{ app: undefined }])
    expect(taken[0]!.body).toHaveLength(0)
  })

  it.each([200, 400, 401, 503])('answers %i as it is told', async status => {
    const { ask } = await setUp({ take: async () => ({ status, text: 'word' }) })
    expect(await ask('/notifications', { body: '{}' })).toMatchObject({ status, text: 'word\n' })
  })

  it.each(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])('does not know %s', async method => {
    const { ask, taken } = await setUp()
    expect(await ask('/notifications', { method })).toMatchObject({ status: 405, allow: 'POST' })
    expect(taken).toEqual([])
  })

  it('takes a body of 64 KiB and no byte more', async () => {
    const { ask, taken, turned } = await setUp()
    expect((await ask('/notifications', { body: new Uint8Array(65_536) })).status).toBe(200)
    expect((await ask('/notifications', { body: new Uint8Array(65_537) })).status).toBe(413)
    expect([taken.length, turned]).toEqual([1, ['too_large']])
  })

  it('ends the connection of a body that has no end', async () => {
    const { begin, taken, turned } = await setUp()
    const socket = await begin('Transfer-Encoding: chunked\r\n\r\n')
    const ended = answerOn(socket)
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`
    const flood = () => {
      while (!socket.destroyed && socket.write(chunk)) {
        // As fast as the other side takes it.
      }
    }
    socket.on('drain', flood)
    flood()
    await ended
    expect([taken, turned]).toEqual([[], ['too_large']])
  })

  it('gives a body five seconds to arrive whole, however steadily it drips', async () => {
    const { begin, clock, taken, turned } = await setUp()
    const socket = await begin()
    const answer = answerOn(socket)
    await settled()
    await clock.advance(4_999)
    socket.write('6')
    await settled()
    expect(turned).toEqual([])
    await clock.advance(1)
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /)
    expect([taken, turned]).toEqual([[], ['incomplete']])
  })

  it('counts a sender that goes away in the middle, and serves the next', async () => {
    const { ask, begin, turned } = await setUp()
    const socket = await begin()
    await settled()
    socket.destroy()
    await expect.poll(() => turned).toEqual(['incomplete'])
    expect((await ask('/notifications', { body: '{}' })).status).toBe(200)
  })

  it('has sixteen in hand at most, and says so to others', async () => {
    const asked = Promise.withResolvers<void>()
    const { ask, turned } = await setUp({
      take: async () => {
        await asked.promise
        return { status: 200, text: 'stored' }
      },
    })
    const inHand = Array.from({ length: 20 }, () => ask('/notifications', { body: '{}' }))
    await expect.poll(() => turned).toEqual(['busy', 'busy', 'busy', 'busy'])
    asked.resolve()
    const statuses = (await Promise.all(inHand)).map(({ status }) => status)
    expect(statuses.filter(status => status === 200)).toHaveLength(16)
    expect(statuses.filter(status => status === 503)).toHaveLength(4)
    expect((await ask('/notifications', { body: '{}' })).status).toBe(200)
  })

  it('takes one although 64 others send their bodies slowly', async () => {
    const { ask, begin, taken } = await setUp()
    await Promise.all(Array.from({ length: 64 }, () => begin('Content-Length: 10\r\n')))
    expect((await ask('/notifications', { body: '{}' })).status).toBe(200)
    expect(taken).toHaveLength(1)
  })

  it('that fails says nothing of why', async () => {
    const { ask } = await setUp({ take: () => Promise.reject(new Error('canary')) })
    expect(await ask('/notifications', { body: '{}' })).toMatchObject({
      status: 503,
      text: 'not available now\n',
    })
  })
})

/** Lets what was written on a socket of this machine arrive. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => setImmediate(resolve))
}

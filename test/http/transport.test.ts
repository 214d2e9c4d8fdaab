import type { Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it, onTestFinished } from 'vitest'
import { seededRandom } from '../../sandbox/src/seeded.ts'
import { systemClock } from '../../src/clock/system.ts'
import { openTransport } from '../../src/commands/wiring/services.ts'
import { readConfig } from '../../src/config/load.ts'
import { LARGE_ANSWER } from '../../src/engine/ports.ts'
import { createCredentials } from '../../src/http/authentication.ts'
import { HttpTransport } from '../../src/http/transport.ts'
import { callSearch } from '../../src/provider/analytics/index.ts'
import { roomEvents, setRecordingState } from '../../src/provider/classroom/index.ts'
import { requestLine } from '../../src/provider/operation.ts'
import { canaryToken, emptyPage, fixed, readRoom, setUp, staticCredentials } from './harness.ts'
import { framed, startRawServer } from './raw-server.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (what: { readonly type: 'minor' }) => void

/** No time goes by, so that nothing ends but by being given up. */
function standStill(_: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => signal?.addEventListener('abort', () => resolve(), { once: true }))
}

describe('a request', () => {
  it('goes out once with authentication, identity encoding and an id of its own', async () => {
    const { server, transport } = await setUp(socket => socket.write(framed(emptyPage)))
    const first = await transport.send('app1', readRoom)
    await transport.send('app1', readRoom)
    expect(first).toMatchObject({ ok: true, answer: { answeredAt: 1767225600000 } })
    expect(server.requests).toHaveLength(2)
    const [head, second] = server.requests as [string, string]
    expect(head).toMatch(/^GET \/ap\/edu\/apps\/app1\/v2\/rooms\/room%201\/sequences HTTP\/1\.1\r\n/)
    for (const line of [
      `x-svc-token: ${canaryToken}`,
      'x-svc-uid: penstock',
      'accept-encoding: identity',
      'content-type: application/json',
    ]) {
      expect(head).toContain(`\r\n${line}\r\n`)
    }
    const id = (text: string) => /x-request-id: ([0-9a-f-]{36})\r\n/.exec(text)?.[1]
    expect(id(head)).toBeDefined()
    expect(id(second)).not.toBe(id(head))
  })

  it.each(['', '/', '/base', '/base/'])(
    'follows what the address of its family ends with: "%s"',
    async end => {
      const { server, transport } = await setUp(
        socket => socket.write(framed(emptyPage)),
        {},
        url => ({ classroom: { url: `${url}${end}` } }),
      )
      await transport.send('app1', readRoom)
      expect(server.requests[0]).toMatch(
        end.includes('base') ? /^GET \/base\/ap\/edu\/apps\/app1\// : /^GET \/ap\/edu\/apps\/app1\//,
      )
    },
  )

  it('whose time was over while it waited for a connection is not written when that comes', async () => {
    let stopped = 0
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + stopped, sleep: standStill }
    const { server, transport } = await setUp(socket => socket.write(framed(emptyPage)), { clock })
    const sent = transport.send('app1', readRoom)
    stopped = 31_000
    expect(await sent).toMatchObject({ ok: false, failure: { kind: 'timeout' } })
    expect(await transport.send('app1', readRoom)).toMatchObject({ ok: true })
    expect(server.requests).toHaveLength(1)
  })

  it('tells how many bytes the answer had', async () => {
    const { transport } = await setUp(socket => socket.write(framed(emptyPage)))
    const reply = await transport.send('app1', readRoom)
    if (!reply.ok) throw new Error(reply.failure.text)
    expect(reply.answer.size).toBe(Buffer.byteLength(emptyPage))
    expect(reply.timing.elapsed).toBeGreaterThan(0)
  })

  it('has a large answer parsed from its bytes once more when it is asked to', async () => {
    const largePage = `${emptyPage}${' '.repeat(LARGE_ANSWER)}`
    const { transport } = await setUp(socket => socket.write(framed(largePage)))
    const reply = await transport.send('app1', readRoom)
    if (!reply.ok) throw new Error(reply.failure.text)
    const again = await reply.answer.again!()
    expect(again).toEqual(reply.answer.body)
    expect(again).not.toBe(reply.answer.body)
  })

  it('leaves no bytes of other answers behind for V8 to find when it marks', async () => {
    const answers = 8
    const page = framed(`${emptyPage}${' '.repeat(LARGE_ANSWER / 4)}`)
    const asked = Promise.withResolvers<void>()
    const sockets: Socket[] = []
    const { transport } = await setUp(socket => {
      if (sockets.push(socket) === answers) asked.resolve()
    })
    const replies = Array.from({ length: answers }, () => transport.send('app1', readRoom))
    await asked.promise
    // Whatever waits for the answers is old from now on, and collected later than what is young.
    for (let i = 0; i < 3; i++) collect({ type: 'minor' })
    const before = process.memoryUsage().arrayBuffers
    for (const socket of sockets) socket.write(page)
    expect(await Promise.all(replies)).toMatchObject(replies.map(() => ({ ok: true })))
    for (let i = 0; i < 3; i++) collect({ type: 'minor' })
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(page.length)
  })

  it('reuses its connection', async () => {
    const { server, transport } = await setUp(socket => socket.write(framed(emptyPage)))
    for (let i = 0; i < 5; i++) await transport.send('app1', readRoom)
    expect(server.requests).toHaveLength(5)
    expect(server.connections()).toBeLessThan(5)
  })

  it('carries its body as JSON, below the path of the base URL', async () => {
    const { server } = await setUp(socket => socket.write(framed('{"code":0}')))
    const below = new HttpTransport({
      clock: { now: () => 0, monotonic: () => 0, sleep: standStill },
      random: { next: () => 0, uuid: () => '00000000-0000-4000-8000-000000000000' },
      providers: { classroom: { url: `${server.url}/gate/` } },
      credentials: staticCredentials,
    })
    const path = { region: 'ap', appId: 'app1', roomUuid: 'r', state: 1 }
    const reply = await below.send('app1', requestLine(setRecordingState, path, { mode: 'web' }))
    await below.close()
    expect(reply.ok).toBe(true)
    expect(server.requests[0]).toMatch(/^PUT \/gate\/ap\/edu\/apps\/app1\/v2\/rooms\/r\/records\/states\/1 /)
    expect(server.requests[0]).toMatch(/\r\n\r\n\{"mode":"web"\}$/)
  })

  it('teaches the transport how far the provider clock is ahead', async () => {
    const { transport } = await setUp(socket => socket.write(framed('{"code":0,"ts":1767225660250}')), {
      clock: { now: () => 1767225600000, monotonic: () => 0, sleep: standStill },
    })
    expect(transport.clockOffset('classroom')).toBeUndefined()
    await transport.send('app1', readRoom)
    expect(transport.clockOffset('classroom')).toEqual({ ahead: 60_250.5, doubt: 0.5 })
    expect(transport.clockOffset('players')).toBeUndefined()
  })
})

describe('credentials on the way', () => {
  it('are read again after a 401, and nothing is sent again', async () => {
    const tokens = ['old', 'new']
    let refreshed = 0
    const token = {
      current: async () => tokens[0]!,
      refresh: async () => {
        refreshed++
        tokens.shift()
        return true
      },
    }
    const { server, transport } = await setUp(socket => socket.write(framed('', '401 Unauthorized')), {
      credentials: createCredentials({ apps: { app1: { classroom: { uid: fixed('u'), token } } } }),
    })
    const reply = await transport.send('app1', readRoom)
    expect(reply).toMatchObject({
      ok: false,
      failure: {
        kind: 'unauthorized',
        status: 401,
        text: 'the provider answered HTTP 401; new credentials were read',
      },
    })
    expect([server.requests.length, refreshed]).toEqual([1, 1])
    await transport.send('app1', readRoom)
    expect(server.requests[1]).toContain('x-svc-token: new\r\n')
  })

  it('are read again after code 401 in a body, whatever HTTP status stands beside it', async () => {
    const { server } = await setUp(socket => socket.write(framed('{"code":401,"message":"Unauthorized"}')))
    const refreshed: string[] = []
    const transport = new HttpTransport({
      clock: { now: () => 0, monotonic: () => 0, sleep: standStill },
      random: { next: () => 0, uuid: () => '00000000-0000-4000-8000-000000000000' },
      providers: { analytics: { url: server.url } },
      credentials: {
        ...staticCredentials,
        refresh: async (app, family) => refreshed.push(`${app} ${family}`) > 0,
      },
    })
    const search = requestLine(callSearch, { start_ts: 1, end_ts: 2, appid: 'app1' })
    const reply = await transport.send('app1', search)
    await transport.close()
    expect(reply).toMatchObject({ ok: false, failure: { kind: 'unauthorized', status: 200, code: 401 } })
    expect(refreshed).toEqual(['app1 analytics'])
  })

  it('that cannot be sent stop the request before it leaves', async () => {
    const token = fixed('canary\r\nx-evil: 1')
    const { server, transport } = await setUp(socket => socket.write(framed(emptyPage)), {
      credentials: createCredentials({ apps: { app1: { classroom: { uid: fixed('u'), token } } } }),
    })
    const reply = await transport.send('app1', readRoom)
    expect(reply).toMatchObject({ ok: false, failure: { kind: 'unauthorized' } })
    expect(JSON.stringify(reply)).not.toContain('canary')
    expect(server.connections()).toBe(0)
  })

  it('that cannot be read are told without what the reader said', async () => {
    const token = {
      current: async () => {
        throw new Error('canary in /run/secrets')
      },
      refresh: async () => false,
    }
    const { transport } = await setUp(socket => socket.write(framed(emptyPage)), {
      credentials: createCredentials({ apps: { app1: { classroom: { uid: fixed('u'), token } } } }),
    })
    const reply = await transport.send('app1', readRoom)
    expect(reply).toMatchObject({
      ok: false,
      failure: { kind: 'unauthorized', text: 'nothing was sent: the credentials cannot be read' },
    })
  })

  it('that never come end with the total deadline', async () => {
    const token = { current: () => new Promise<string>(() => {}), refresh: async () => false }
    const { transport } = await setUp(socket => socket.write(framed(emptyPage)), {
      credentials: createCredentials({ apps: { app1: { classroom: { uid: fixed('u'), token } } } }),
      limits: { total: 200 },
    })
    expect(await transport.send('app1', readRoom)).toMatchObject({ ok: false, failure: { kind: 'timeout' } })
  })
})

describe('the providers', () => {
  it('are given up each after the deadline of its own', async () => {
    const server = await startRawServer(() => {})
    onTestFinished(() => server.close())
    const text = `
provider:
  classroom: { url: "${server.url}", deadline: 1s }
  analytics: { url: "${server.url}", deadline: 5m }
apps: [{ id: app1, region: ap, plan: premium, classroom: { uid: u, token: t }, rest: { key: k, secret: s } }]`
    const config = await readConfig(text, { name: 'text', env: {}, folder: '.' })
    const ports = { clock: systemClock, random: seededRandom(1), credentials: staticCredentials }
    const transport = await openTransport(config, ports)
    onTestFinished(() => transport.close())
    const range = { start_ts: 1, end_ts: 2, appid: 'app1' }
    const search = transport.send('app1', requestLine(callSearch, range))
    const begun = systemClock.monotonic()
    expect(await transport.send('app1', readRoom)).toMatchObject({ ok: false, failure: { kind: 'timeout' } })
    expect(systemClock.monotonic() - begun).toBeLessThan(5_000)
    const still = await Promise.race([search, 'asks on'])
    transport.giveUp()
    expect([still, await search]).toMatchObject([
      'asks on',
      { failure: { text: 'the request was cancelled' } },
    ])
  })

  it('say so when a family has no base URL', async () => {
    const { transport } = await setUp(() => {})
    const request = { ...readRoom, operation: { ...roomEvents, family: 'players' as const } }
    await expect(transport.send('app1', request)).rejects.toThrow('no base URL is configured for players')
  })
})

it('a request that is given up is waited for no longer, nor by who closes the transport', async () => {
  const asked = Promise.withResolvers<void>()
  const server = await startRawServer(socket => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{')
    asked.resolve()
  })
  const transport = new HttpTransport({
    ...{ clock: systemClock, random: seededRandom(1), credentials: staticCredentials },
    providers: { classroom: { url: server.url } },
  })
  onTestFinished(() => server.close())
  const sent = transport.send('app1', readRoom)
  await asked.promise
  transport.giveUp()
  const [reply] = await Promise.all([sent, transport.close()])
  expect(reply).toMatchObject({ ok: false, failure: { kind: 'timeout', text: 'the request was cancelled' } })
  expect(reply.timing.elapsed).toBeLessThan(5_000)
})

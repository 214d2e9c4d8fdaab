import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { emptyPage, readRoom, setUp } from './harness.ts'

/** Debian's package tinyproxy-bin; where it must be there, its absence is a failure. */
const canRun = spawnSync('tinyproxy', ['-v']).status === 0 || process.env.REQUIRE_TINYPROXY !== undefined

const page = `HTTP/1.1 200 OK\r\ncontent-length: ${emptyPage.length}\r\n\r\n${emptyPage}`

/** This machine by an address that is not a loopback one, so that it is asked through the proxy. */
const elsewhere = (url: string) => ({
  classroom: { url: url.replace('127.0.0.1', '0.0.0.0') },
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const is = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return is
}

describe('a proxy that is away', () => {
  it('is named where the connection fails, without its credentials', async () => {
    const { transport } = await setUp(() => {}, { proxy: 'http://penstock:canary@127.0.0.1:9' }, elsewhere)
    const reply = await transport.send('app1', readRoom)
    expect(JSON.stringify(reply)).toMatch(
      /the connection to \S+ through the proxy 127\.0\.0\.1:9 failed \(ECONNREFUSED\)/,
    )
    expect(JSON.stringify(reply)).not.toContain('canary')
  })
})

describe('a proxy that takes a connection and says nothing', () => {
  it('is waited for no longer than a connection may take, and left then', async () => {
    const proxy = createServer().listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const ended = once(proxy, 'connection').then(([socket]) => once(socket.resume(), 'close'))
    const { port } = proxy.address() as AddressInfo
    const { transport } = await setUp(
      () => {},
      { proxy: `http://127.0.0.1:${port}`, limits: { connect: 100, total: 10_000 } },
      elsewhere,
    )
    expect(await transport.send('app1', readRoom)).toMatchObject({
      failure: { kind: 'timeout', text: expect.stringContaining(`through the proxy 127.0.0.1:${port}`) },
    })
    await ended
    proxy.close()
  })
})

describe.skipIf(!canRun)('a proxy on the way out', () => {
  const state = {} as { port: number; folder: string; stop: () => Promise<unknown> | undefined }
  const proxy = (password = 'canary') => `http://penstock:${password}@127.0.0.1:${state.port}`
  const tunnels = async () =>
    (await readFile(join(state.folder, 'log'), 'utf8')).match(/Established connection to host/g)?.length ?? 0

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'penstock-proxy-'))
    const port = await freePort()
    const lines = [
      ...[`Port ${port}`, 'Listen 127.0.0.1', `LogFile "${join(folder, 'log')}"`, 'LogLevel Info'],
      ...['BasicAuth penstock canary', 'MaxClients 10', 'Timeout 20'],
    ]
    await writeFile(join(folder, 'conf'), `${lines.join('\n')}\n`)
    const child = spawn('tinyproxy', ['-d', '-c', join(folder, 'conf')], { stdio: 'ignore' })
    const ended = once(child, 'exit')
    Object.assign(state, { port, folder, stop: () => (child.kill() ? ended : undefined) })
    await vi.waitFor(async () => expect(await answers(port)).toBe(true), { timeout: 60_000, interval: 50 })
  })
  afterAll(async () => {
    await state.stop()
    await rm(state.folder, { recursive: true, force: true })
  })

  it('carries requests in a tunnel, with the credentials of its address', async () => {
    const before = await tunnels()
    const { server, transport } = await setUp(socket => socket.end(page), { proxy: proxy() }, elsewhere)
    expect(await transport.send('app1', readRoom)).toMatchObject({ ok: true })
    expect(server.requests).toHaveLength(1)
    expect(server.requests[0]).not.toMatch(/proxy-authorization/i)
    expect(await tunnels()).toBe(before + 1)
  })

  it('that refuses the credentials is a failure of the network, and shows none of them', async () => {
    const { server, transport } = await setUp(() => {}, { proxy: proxy('canary-wrong') }, elsewhere)
    const reply = await transport.send('app1', readRoom)
    expect(reply).toMatchObject({ ok: false, failure: { kind: 'network' } })
    expect(JSON.stringify(reply)).toContain('the proxy refused to connect')
    expect(JSON.stringify(reply)).not.toContain('canary')
    expect(server.requests).toEqual([])
  })

  it('is not asked for this machine', async () => {
    const before = await tunnels()
    const { transport } = await setUp(socket => socket.end(page), { proxy: proxy() })
    expect(await transport.send('app1', readRoom)).toMatchObject({ ok: true })
    expect(await tunnels()).toBe(before)
  })
})

import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { createSandbox, type FaultRule, type Listening, listen } from '../src/index.ts'
import { at, credentials, feedPath, lively } from './play.ts'

const open: Listening[] = []

afterEach(async () => {
  await Promise.all(open.splice(0).map(server => server.close()))
})

async function serve(...faults: FaultRule[]) {
  const sandbox = createSandbox({ clock: systemClock, profile: lively, faults })
  const server = await listen(sandbox)
  open.push(server)
  return {
    sandbox,
    get: (path: string) => fetch(server.url + path, { headers: credentials, redirect: 'manual' }),
  }
}

describe('over a socket', () => {
  it('the sandbox answers as it does in-process', async () => {
    const { get, sandbox } = await serve()
    sandbox.universe.pause()
    const room = [...sandbox.truth()].find(line => line.kind === 'room')!
    const path = at(room.roomUuid).events
    const direct = await sandbox.fetch(new Request(`http://sandbox${path}`, { headers: credentials }))
    const { ts: _, ...expected } = (await direct.json()) as Record<string, unknown>
    const response = await get(path)
    expect(response.headers.get('date')).toMatch(/GMT$/)
    expect(await response.json()).toMatchObject(expected)
  })

  it.each(['reset', 'lost-response'] as const)('%s ends the connection without an answer', async kind => {
    const { get } = await serve({ kind, at: [1] })
    await expect(get(feedPath)).rejects.toThrow('fetch failed')
    expect((await get(feedPath)).status).toBe(200)
  })

  it('truncated ends the connection in the middle of the body', async () => {
    const { get } = await serve({ kind: 'truncated', at: [1] })
    const response = await get(feedPath)
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow('terminated')
  })

  it('drip arrives byte after byte', async () => {
    const { get } = await serve({ kind: 'drip', ms: 1, at: [1] })
    const reader = (await get(at('nowhere').events)).body!.getReader()
    const first = await reader.read()
    expect(first.value!.length).toBeLessThan(10)
    await reader.cancel()
  })

  it('endless is sent no faster than it is read', async () => {
    const { get } = await serve({ kind: 'endless', at: [1] })
    const reader = (await get(feedPath)).body!.getReader()
    let bytes = 0
    while (bytes < 5_000_000) bytes += (await reader.read()).value!.length
    await reader.cancel()
    expect((await get(feedPath)).status).toBe(200)
  })
})

describe('the address', () => {
  it('is loopback unless something else is allowed', async () => {
    const sandbox = createSandbox({ clock: systemClock, profile: { kind: 'idle', rooms: 1 } })
    await expect(listen(sandbox, { host: '0.0.0.0' })).rejects.toThrow(/loopback only, not on 0\.0\.0\.0/)
    const allowed = await listen(sandbox, { host: '0.0.0.0', allowPublic: true })
    open.push(allowed)
    expect(allowed.url).toMatch(/^http:\/\/0\.0\.0\.0:\d+$/)
  })

  it('is refused when its port is taken', async () => {
    const { sandbox } = await serve()
    const port = Number(new URL(open[0]!.url).port)
    await expect(listen(sandbox, { port })).rejects.toThrow('EADDRINUSE')
  })
})

import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createSandbox, demoApp, type SandboxOptions } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { databaseUrl, execute } from '../support/databases.ts'
import { ask } from '../support/embedded.ts'
import { openSetting } from './setting.ts'

const patience = { timeout: 120_000 }

async function openSmall(
  faults: SandboxOptions['faults'] = [],
  way = (url: string): Promise<string> | string => url,
) {
  const setting = await openSetting({
    makeSandbox: () => createSandbox({ clock: systemClock, profile: { kind: 'idle', rooms: 2 }, faults }),
    configOf: async ({ databaseUrl: url, providerUrl }) => ({
      database: { url: await way(url) },
      http: { listen: '127.0.0.1:0' },
      provider: { classroom: { url: providerUrl } },
      streams: { 'app-events': { every: '500ms', idleEvery: '2s' } },
      apps: [
        {
          id: demoApp.id,
          region: 'ap',
          plan: 'premium',
          classroom: { uid: demoApp.uid, token: demoApp.token },
        },
      ],
    }),
  })
  onTestFinished(() => setting.close())
  const name = new URL(setting.databaseUrl).pathname.slice(1)
  const elsewhere = databaseUrl(setting.databaseUrl, 'postgres')
  const allow = (isAllowed: boolean) =>
    execute(elsewhere, `alter database ${name} with allow_connections ${isAllowed}`)
  onTestFinished(() => allow(true))
  return { ...setting, allow }
}

async function readiness(
  url: string,
): Promise<{ readonly status: number; readonly reasons: readonly string[] }> {
  const response = await fetch(`${url}/readyz`)
  const { reasons } = (await response.json()) as { reasons: string[] }
  return { status: response.status, reasons }
}

it('a daemon that starts while the database is away waits for it, says so, and drains once it is back', async () => {
  const setting = await openSmall()
  await setting.allow(false)
  const daemon = setting.start()
  const url = await daemon.ready
  expect(await readiness(url)).toEqual({
    status: 503,
    reasons: [expect.stringMatching(/^the database of database.url, .*, cannot be reached \(55000\)$/)],
  })
  expect(daemon.lines.map(({ msg }) => msg)).toContain('waiting for the database')
  await setting.allow(true)
  await vi.waitUntil(async () => (await readiness(url)).status === 200, patience)
  await vi.waitUntil(() => setting.sandbox.status().requests > 0, patience)
  expect(await daemon.terminate()).toBe(0)
})

it('a database that turns out to lack migrations is left alone, and is told', async () => {
  const setting = await openSmall()
  await execute(setting.databaseUrl, `delete from ingest.migration where name like '0006-%'`)
  await setting.allow(false)
  const daemon = setting.start()
  const url = await daemon.ready
  await setting.allow(true)
  await vi.waitUntil(
    async () => (await readiness(url)).reasons[0]?.startsWith('migrations are missing: 0006-'),
    patience,
  )
  await vi.waitUntil(() => daemon.lines.some(line => line.code === '42P01'), patience)
  expect(await ask(setting.databaseUrl, 'select count(*)::int as owned from ingest.ownership')).toEqual([
    { owned: 0 },
  ])
  expect(setting.sandbox.status().requests).toBe(0)
})

it('a database that does not exist ends it at once', async () => {
  const setting = await openSetting({
    makeSandbox: () => createSandbox({ clock: systemClock, profile: { kind: 'idle', rooms: 1 } }),
    configOf: ({ databaseUrl: url, providerUrl }) => ({
      database: { url: databaseUrl(url, 'there_is_none') },
      provider: { classroom: { url: providerUrl } },
      apps: [{ id: 'a', region: 'ap', plan: 'premium', classroom: { uid: 'u', token: 't' } }],
    }),
  })
  onTestFinished(() => setting.close())
  await expect(setting.start().ready).rejects.toThrow('the database named in database.url does not exist')
})

it('one that starts beside another is ready too, takes its share, and all of it when the other dies', async () => {
  const setting = await openSmall()
  const owner = setting.start()
  const first = await owner.ready
  await vi.waitUntil(async () => (await readiness(first)).status === 200, patience)
  const standby = setting.start()
  const second = await standby.ready
  expect(await readiness(second)).toEqual({ status: 200, reasons: [] })
  const owned = async () => ((await (await fetch(`${second}/status`)).json()) as { shards: number }).shards
  await vi.waitUntil(async () => (await owned()) === 32, patience)
  await owner.kill()
  await vi.waitUntil(async () => (await owned()) === 64, patience)
})

it('a daemon that is told to stop over an answer which drips ends within the time that it is given', async () => {
  const setting = await openSmall([{ kind: 'drip', rate: 1, ms: 5_000 }])
  const daemon = setting.start()
  await daemon.ready
  await vi.waitUntil(() => setting.sandbox.status().requests > 0, patience)
  const began = systemClock.monotonic()
  expect(await daemon.terminate()).toBe(0)
  expect(systemClock.monotonic() - began).toBeLessThan(20_000)
})

it('a daemon that is told to stop while the database answers nothing ends within ten seconds', async () => {
  const relay = await relayTo()
  const setting = await openSmall([], relay.through)
  const daemon = setting.start()
  await daemon.ready
  await vi.waitUntil(() => setting.sandbox.status().requests > 0, patience)
  relay.stall()
  await vi.waitUntil(
    () => daemon.lines.some(({ msg }) => msg === 'ownership could not be renewed; trying again'),
    patience,
  )
  const began = systemClock.monotonic()
  expect(await daemon.terminate()).toBe(0)
  expect(systemClock.monotonic() - began).toBeLessThan(20_000)
})

/** A way to a database that can fall silent, as that to a machine which is gone. */
async function relayTo() {
  const sockets = new Set<Socket>()
  let isStalled = false
  return {
    through: async (url: string) => {
      const to = new URL(url)
      const { hostname, port } = to
      const server = createServer({ allowHalfOpen: true }, near => {
        const far = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
        for (const [one, other] of [
          [near, far],
          [far, near],
        ] as const) {
          sockets.add(one)
          one.on('data', bytes => void (isStalled || other.write(bytes)))
          one.on('close', () => isStalled || other.destroy())
          one.on('error', () => {})
        }
      })
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      onTestFinished(() => {
        server.close()
        for (const socket of sockets) socket.destroy()
      })
      to.host = `127.0.0.1:${(server.address() as AddressInfo).port}`
      return String(to)
    },
    stall: () => {
      isStalled = true
    },
  }
}

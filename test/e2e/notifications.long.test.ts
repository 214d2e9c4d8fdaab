import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AppOptions, createSandbox } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { ask } from '../support/embedded.ts'
import type { DaemonProcess } from './daemon.ts'
import { sumOf, tablesWith } from './probes.ts'
import { openSetting, type Setting } from './setting.ts'

const secret = 'canary-notifications'
const app = {
  ...{ id: 'school', uid: 'penstock', token: 'canary-classroom' },
  rest: { key: 'key', secret: 'canary-rest' },
  notifications: { secret },
} as const satisfies AppOptions
const patience = { timeout: 120_000, interval: 100 }

/** A daemon that lists players once an hour, so that whatever it lists besides was asked for by a notification. */
describe('a notification over the wire', () => {
  const state = {} as { setting: Setting; daemon: DaemonProcess; url: string; notices: string }
  const lists = () => {
    const { arrivals } = state.setting.sandbox
    return arrivals.list(0, arrivals.count).filter(({ operation }) => operation === 'listPlayers').length
  }
  const post = async (body: string, key = secret, query = '') => {
    const response = await fetch(`${state.notices}${query}`, {
      ...{ method: 'POST', body },
      headers: { 'x-svc-signature': createHmac('sha1', key).update(body).digest('hex') },
    })
    return [response.status, await response.text()]
  }

  beforeAll(async () => {
    state.setting = await openSetting({
      makeSandbox: () =>
        createSandbox({
          ...{ clock: systemClock, seed: 1, apps: [app], profile: { kind: 'idle', rooms: 0 } },
          switches: { listBlindSeconds: 0 },
          deliver: async (_, { headers, body }) => {
            const response = await fetch(state.notices, { method: 'POST', headers, body })
            return response.status
          },
        }),
      configOf: ({ databaseUrl, providerUrl }) => ({
        database: { url: databaseUrl, poolSize: 2 },
        http: { listen: '127.0.0.1:0' },
        notifications: { listen: '127.0.0.1:0' },
        provider: { classroom: { url: providerUrl }, players: { url: providerUrl } },
        streams: { 'app-events': 'off', 'cloud-players': { every: '1h' } },
        apps: [
          {
            ...{ id: app.id, region: 'eu', plan: 'starter', rest: app.rest },
            classroom: { uid: app.uid, token: app.token },
            notifications: app.notifications,
          },
        ],
      }),
    })
    state.daemon = state.setting.start()
    state.url = await state.daemon.ready
    state.notices = String(state.daemon.lines.find(({ msg }) => msg === 'draining')?.notifications)
  })
  afterAll(() => state.setting?.close())

  it('is kept, and the player that it told of is listed long before its time', async () => {
    const { sandbox, databaseUrl } = state.setting
    await expect.poll(lists, patience).toBe(1)
    const path = `eu/v1/projects/${app.id}/cloud-player/players`
    const created = await sandbox.fetch(
      new Request(`http://provider.test/${path}`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('key:canary-rest')}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          ...{ streamUrl: 'rtmp://live.example/1', channelName: 'room', uid: 7, token: 'canary-token' },
        }),
      }),
    )
    expect(created.status).toBe(200)
    const found = () => {
      sandbox.status()
      return ask(
        databaseUrl,
        `select p.channel_name, p.uid, min(n.event_type) as told from players.cloud_player p
         join players.notification n using (app_id, player_id) group by 1, 2`,
      )
    }
    await expect.poll(found, patience).toEqual([{ channel_name: 'room', uid: '7', told: 1 }])
    expect(lists()).toBeGreaterThan(1)
  })

  it('is kept once, and only with the right signature and content', async () => {
    const notice = '{"noticeId":"by-hand","eventType":4,"payload":{"player":{"id":"p","token":"canary-2"}}}'
    expect(await post(notice, 'guess')).toEqual([401, 'the signature is missing or wrong\n'])
    expect(await post(notice, secret, '?app=other')).toEqual([401, 'the signature is missing or wrong\n'])
    expect(await post(notice, secret, '?app=school')).toEqual([200, 'stored\n'])
    expect(await post(notice)).toEqual([200, 'repeated\n'])
    expect(await post('{"token":"canary-3"}')).toEqual([200, 'set aside\n'])
    const metrics = await (await fetch(`${state.url}/metrics`)).text()
    const count = (labels: Readonly<Record<string, string>>) =>
      sumOf(metrics, 'penstock_notifications_total', labels)
    expect(count({ outcome: 'unsigned' })).toBe(2)
    expect(count({ app: 'school', outcome: 'repeated' })).toBe(1)
    expect(count({ app: 'school', outcome: 'malformed' })).toBe(1)
    expect(count({ app: 'school', outcome: 'stored' })).toBeGreaterThanOrEqual(2)
  })

  it('has nothing to say where the endpoints are', async () => {
    expect((await fetch(`${state.url}/notifications`, { method: 'POST', body: '{}' })).status).toBe(404)
  })

  it('leaves no secret in the database, the log and the metrics', async () => {
    expect(await tablesWith(state.setting.databaseUrl, 'canary')).toEqual([])
    expect(JSON.stringify(state.daemon.lines) + state.daemon.errors()).not.toContain('canary')
    expect(await (await fetch(`${state.url}/metrics`)).text()).not.toContain('canary')
  })

  it('does not keep the daemon from ending in order', async () => {
    expect(await state.daemon.terminate()).toBe(0)
  })
})

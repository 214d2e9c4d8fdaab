import { afterAll, beforeAll, expect, it } from 'vitest'
import { createSandbox, demoApp } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { penstock } from '../commands/penstock.ts'
import { ask } from '../support/embedded.ts'
import { openSetting, type Setting } from './setting.ts'

const patience = { timeout: 120_000, interval: 100 }
const state = {} as { setting: Setting }

beforeAll(async () => {
  state.setting = await openSetting({
    makeSandbox: () =>
      createSandbox({
        ...{ clock: systemClock, seed: 3 },
        profile: { kind: 'backlog', rooms: 1, eventsPerRoom: 250 },
      }),
    configOf: ({ databaseUrl, providerUrl }) => ({
      database: { url: databaseUrl, poolSize: 2 },
      http: { listen: '127.0.0.1:0' },
      provider: { classroom: { url: providerUrl } },
      streams: { 'room-events': { activeEvery: '1h', idleEvery: '1h' } },
      apps: [
        {
          ...{ id: demoApp.id, region: 'ap', plan: demoApp.plan },
          classroom: { uid: demoApp.uid, token: demoApp.token },
        },
      ],
    }),
  })
})
afterAll(() => state.setting?.close())

it('a room is read again from its beginning by the daemon that runs, and once', async () => {
  const { setting } = state
  const sql = (text: string) => ask(setting.databaseUrl, text)
  const count = 'select count(*)::int as events, min(room_uuid) as room from classroom.room_event'
  const daemon = setting.start()
  await daemon.ready
  await expect.poll(() => sql(count), patience).toMatchObject([{ events: 250 }])
  const { arrivals } = setting.sandbox
  const asked = () => arrivals.list(0, arrivals.count).filter(({ operation }) => operation === 'roomEvents')
  const [{ room }] = (await sql(count)) as [{ room: string }]
  await sql(`delete from classroom.room_event where sequence % 3 = 0`)

  const command = ['backfill', '--config', setting.config, '--app', demoApp.id, '--room']
  const { code, stdout, stderr } = await penstock([...command, room])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(new RegExp(`^marked: room ${room} of app demo, \\d streams\n`))
  await expect.poll(() => sql(count), patience).toMatchObject([{ events: 250 }])
  const marks = `select stream from ingest.progress where wanted <> '{}' and closed_at is null`
  await expect.poll(() => sql(marks), patience).toEqual([])

  expect((await penstock([...command, 'never-heard-of'])).code).toBe(0)
  // That it ends after a few more answers, minutes later, is the engine's own test.
  const refused = () =>
    asked().filter(({ target, status }) => target.includes('never-heard-of') && status === 404)
  await expect.poll(refused, patience).toHaveLength(1)
  expect(await daemon.terminate()).toBe(0)
  // Three pages and a last one at most, twice, and one for the room that there is not.
  expect(asked().length).toBeLessThan(16)
})

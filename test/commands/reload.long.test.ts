import { readFile, rename, writeFile } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createSandbox, demoApp } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
import { debitsOfFormerOwners } from '../e2e/processes-stage.ts'
import { openSetting } from '../e2e/setting.ts'
import { ask } from '../support/embedded.ts'
import { job } from './job.ts'

const patience = { timeout: 60_000 }
const ids = ['first', 'second', 'third'] as const
type App = (typeof ids)[number]

/** A school for each app, and a daemon that drains those of its file; its file can be exchanged. */
async function open(apps: readonly App[]) {
  const setting = await openSetting({
    makeSandbox: () =>
      createSandbox({
        clock: systemClock,
        apps: ids.map(id => ({ ...demoApp, id })),
        profile: { kind: 'idle', rooms: 2 },
      }),
    configOf: ({ databaseUrl: url, providerUrl }) => ({
      database: { url },
      http: { listen: '127.0.0.1:0' },
      notifications: { listen: '127.0.0.1:0' },
      provider: { classroom: { url: providerUrl }, players: { url: providerUrl } },
      streams: { 'app-events': { every: '500ms' } },
      apps: apps.map(configured),
    }),
  })
  onTestFinished(() => setting.close())
  const { sandbox, databaseUrl, config } = setting
  return {
    ...{ ...(await start(config)), sandbox, databaseUrl },
    /** Another daemon beside it, with a file of its own that says the same. */
    another: async () => {
      const copy = `${config}.another`
      await writeFile(copy, await readFile(config), { mode: 0o600 })
      return await start(copy)
    },
    /** Numbers of the requests of an app. */
    asked: (app: App) =>
      sandbox.arrivals
        .list(0, sandbox.arrivals.count)
        .filter(each => each.app === app)
        .map(({ n }) => n),
    stored: (app: App) =>
      ask(databaseUrl, `select stream from ingest.progress where app_id = '${app}' and version > 0`),
  }
}

/** A daemon, and how its file is exchanged. */
async function start(config: string) {
  const daemon = job('run', '--config', config)
  onTestFinished(async () => {
    daemon.child.kill('SIGKILL')
    await daemon.ended
  })
  const url = (JSON.parse(await daemon.line(/"msg":"draining"/)) as { readonly url: string }).url
  const file = JSON.parse(await readFile(config, 'utf8')) as { readonly database: object }
  const say = async (text: string) => {
    await writeFile(`${config}.new`, text, { mode: 0o600 })
    await rename(`${config}.new`, config)
  }
  return {
    ...{ daemon, file, say },
    sayApps: async (...apps: readonly App[]) => say(JSON.stringify({ ...file, apps: apps.map(configured) })),
    drained: async () =>
      ((await (await fetch(`${url}/status`)).json()) as { readonly apps: App[] }).apps.toSorted(),
    outcomes: async () => {
      const text = await (await fetch(`${url}/metrics`)).text()
      return text.split('\n').filter(line => /^penstock_config_.* [1-9]/.test(line))
    },
  }
}

function configured(id: App) {
  return { id, region: 'ap', plan: 'premium', classroom: { uid: demoApp.uid, token: demoApp.token } }
}

test('an app that a changed file adds is drained, and one that it takes away goes at SIGHUP alone', async () => {
  const stage = await open(['first', 'second'])
  const { daemon, sayApps, asked, drained } = stage
  await vi.waitUntil(() => asked('second').length > 0, patience)

  await sayApps('first', 'second', 'third')
  expect(await daemon.line(/"msg":"the configuration was read again"/)).toContain('"added":["third"]')
  await vi.waitUntil(async () => (await stage.stored('third')).length > 0, patience)

  await sayApps('first', 'third')
  expect(await daemon.line(/waits for SIGHUP/)).toContain('"removed":["second"]')
  expect(await drained()).toEqual(['first', 'second', 'third'])
  expect(await stage.outcomes()).toContain('penstock_config_reloads_total{outcome="waiting"} 1')

  daemon.hangUp()
  expect(await daemon.line(/"removed":\["second"\],"changed"/)).toContain('"on":"SIGHUP"')
  await vi.waitUntil(async () => (await drained()).join() === 'first,third', patience)
  const last = asked('second').at(-1)
  const others = asked('first').at(-1)!
  await vi.waitUntil(() => asked('first').filter(n => n > others).length > 3, patience)
  expect(asked('second').at(-1)).toBe(last)
  expect(stage.sandbox.status().violations).toBe(0)
  expect(daemon.lines.filter(line => /could not|given up|"level":"error"/.test(line))).toEqual([])
  expect(await stage.outcomes()).toEqual([
    'penstock_config_reloads_total{outcome="applied"} 2',
    'penstock_config_reloads_total{outcome="waiting"} 1',
    'penstock_config_in_force 1',
  ])
})

test('a file that is wrong changes nothing, and what needs a restart is told by its keys', async () => {
  const { daemon, file, say, sayApps, drained, asked, outcomes } = await open(['first'])
  await vi.waitUntil(() => asked('first').length > 0, patience)

  await say('apps: none')
  const refused = await daemon.line(/cannot be taken over: nothing changes/)
  expect(refused).toMatch(/provider: is missing/)
  expect(refused).toMatch(/apps: must be a list/)
  const since = asked('first').at(-1)!
  await vi.waitUntil(() => asked('first').some(n => n > since), patience)
  expect(await drained()).toEqual(['first'])
  expect(await outcomes()).toEqual(['penstock_config_reloads_total{outcome="refused"} 1'])

  await sayApps('first')
  await daemon.line(/says what it said/)
  await say(JSON.stringify({ ...file, database: { ...file.database, poolSize: 3 }, log: { level: 'warn' } }))
  expect(await daemon.line(/take effect with a restart/)).toContain('"keys":["database.poolSize"]')
  expect(await drained()).toEqual(['first'])
  daemon.child.kill('SIGTERM')
  expect(await daemon.ended).toBe(0)
})

test('the first app with notifications has them taken from then on', async () => {
  const { daemon, file, say } = await open(['first'])
  const signing = { rest: { key: 'k', secret: 's' }, notifications: { secret: 'canary' } }
  await say(JSON.stringify({ ...file, apps: [{ ...configured('first'), ...signing }] }))
  const said = JSON.parse(await daemon.line(/"msg":"notifications are taken"/)) as { readonly url: string }
  expect((await fetch(said.url, { method: 'POST', body: '{}' })).status).toBe(401)
})

test('of two daemons the one that reads of another app drains it, and no app is drained by both', async () => {
  const one = await open(['first', 'second'])
  const other = await one.another()
  const both = async () => [await one.drained(), await other.drained()] as const
  await vi.waitUntil(async () => (await both()).flat().toSorted().join() === 'first,second', patience)

  await other.sayApps('first', 'second', 'third')
  await other.daemon.line(/"added":\["third"\]/)
  await vi.waitUntil(async () => (await one.stored('third')).length > 0, patience)
  await vi.waitUntil(async () => (await both()).flat().toSorted().join() === 'first,second,third', patience)
  expect(await one.drained()).not.toContain('third')
  expect(await debitsOfFormerOwners(one.databaseUrl)).toBe(0)
  expect(one.sandbox.status().violations).toBe(0)
  for (const { daemon } of [one, other])
    expect(daemon.lines.filter(line => /could not|given up|"level":"error"/.test(line))).toEqual([])
})

import { readFile, rename, writeFile } from 'node:fs/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createSandbox, demoApp } from '../../sandbox/src/index.ts'
import { systemClock } from '../../src/clock/system.ts'
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
      provider: { classroom: { url: providerUrl } },
      streams: { 'app-events': { every: '500ms' } },
      apps: apps.map(configured),
    }),
  })
  onTestFinished(() => setting.close())
  const { sandbox, databaseUrl, config } = setting
  const daemon = job('run', '--config', config)
  onTestFinished(async () => {
    daemon.child.kill('SIGKILL')
    await daemon.ended
  })
  const url = (JSON.parse(await daemon.line(/"msg":"draining"/)) as { readonly url: string }).url
  const say = async (text: string) => {
    await writeFile(`${config}.new`, text, { mode: 0o600 })
    await rename(`${config}.new`, config)
  }
  const file = JSON.parse(await readFile(config, 'utf8')) as { readonly database: object }
  return {
    ...{ daemon, say, file, sandbox },
    sayApps: async (...apps: readonly App[]) => say(JSON.stringify({ ...file, apps: apps.map(configured) })),
    /** Numbers of the requests of an app. */
    asked: (app: App) =>
      sandbox.arrivals
        .list(0, sandbox.arrivals.count)
        .filter(each => each.app === app)
        .map(({ n }) => n),
    drained: async () =>
      ((await (await fetch(`${url}/status`)).json()) as { readonly apps: App[] }).apps.toSorted(),
    outcomes: async () => {
      const text = await (await fetch(`${url}/metrics`)).text()
      return text.split('\n').filter(line => /^penstock_config_.* [1-9]/.test(line))
    },
    stored: (app: App) =>
      ask(databaseUrl, `select stream from ingest.progress where app_id = '${app}' and version > 0`),
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
